// Package conformance proves that a storage driver keeps the storage contract:
// the cases of the contract as tables, run by `go test` (Run) for drivers written
// in Go, and by a command (Check) for plugin binaries in any language.
//
// The packages below it prove other kinds of plugins in the same way; what runs
// their cases is package runner.
//
// It knows the storage seam and nothing of any driver, host or process: what a
// case needs beyond the seam, killing or stopping a process, its backend offers
// by an optional interface. It never passes a case that it could not run: such a
// case is skipped, with the reason. It never looks at a driver's tables; what a
// driver must prove about those is in the driver's own tests.
package conformance
