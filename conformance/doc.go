// Package conformance proves that a storage driver keeps the storage contract.
//
// The contract (spec: storage §12) is a table of cases (cases_….go), each with the sentence
// that it proves. Run runs them in `go test`, for drivers written in Go. Check runs them
// for a command, over plugin binaries in any language. The packages below prove other
// kinds of plugins in the same way; package runner runs the cases of all of them.
//
// The package knows the storage seam and nothing of any driver, host or process. Some
// cases need more than the seam, such as a process to kill or to stop. A backend offers
// that by an optional interface (target.go). A case that cannot run is skipped, with the
// reason, and never passed. The package never looks at a driver's tables: the driver's
// own tests prove what it owes there.
package conformance
