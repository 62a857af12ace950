// Package sink proves that a metrics sink keeps its contract: the cases as tables,
// run by `go test` (Run) for sinks written in Go, and by a command over plugin
// binaries in any language.
//
// It knows metrics.Sink and nothing of any sink, host or process: what a case needs
// beyond, such as killing a process or reading what the target system counted, its
// backend offers by an optional interface. It never passes a case that it could not
// run: such a case is skipped, with the reason.
package sink
