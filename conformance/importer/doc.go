// Package importer proves that a directory importer keeps its contract: the cases as
// tables, run by `go test` (Run) for importers written in Go, and by a command over
// plugin binaries in any language.
//
// It knows directory.Importer and nothing of any importer, host or process: what a
// case needs beyond, such as killing a process or cutting the line to the directory,
// its backend offers by an optional interface. It never passes a case that it could
// not run: such a case is skipped, with the reason. Whether what an importer tells is
// what its directory holds it cannot know: that is for the importer's own tests.
package importer
