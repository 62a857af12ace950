package directory

import "iter"

// Collected is a reading as an import takes it.
type Collected struct {
	Snapshot Snapshot
	Begin    Begin
	End      End
	Warnings []string // of the importer, and of what was told twice
	Entries  int
}

// Collect reads a whole reading and holds it to the rules of Importer and to the
// limits of this package; read, which may be nil, is told now and then how many
// entries have come. Its refusals are *authz.WriteRejectedError; errors of the
// sequence are returned as they are.
// TODO(importers)
func Collect(entries iter.Seq2[Entry, error], read func(entries int)) (Collected, error) {
	panic("to be written")
}
