// Package mongo is the storage driver for MongoDB and databases that speak its
// wire protocol. It needs no multi-document transactions.
//
// A commit is made atomic by a journal. One document of each partition, the turn
// (collection locks, key commit), is a lease whose holder alone may judge a commit
// and change rows. The holder writes the whole batch to the journal, decides it
// by one conditional update of the turn, and only then touches rows. Until the
// decision the commit never happened; after it the commit will happen, whoever
// carries it out: every document written carries the turn's number t and is
// written only over a smaller one, deletions leave stones, so that a writer that
// was paused meets its successors' work and does nothing. A process that finds a
// decided commit finishes it.
//
// Reads of one instant (ReadAccess, GetCommit, and every read of a handle that
// holds a section) look at the turn before and after: no commit may be half way
// at either time, nor one have been finished between. The call's context says
// nothing about sections once it has crossed a process, so a handle that holds
// any section reads that way whatever the read is for.
//
// Where partitions lie in collections is the business of internal/layout; without
// it this package can reach no document. History and metrics are not provided.
//
// Tests run against AUTHZ_TEST_MONGODB_URI, or against FerretDB (see testserver).
package mongo
