// Package kv is a storage driver over any ordered key-value store that has one
// writer's transactions and snapshots for readers. A vendor of such a store
// satisfies DB and Tx, seven short methods, and serves what New returns; every
// duty of the seam but those two interfaces' own is kept here.
//
// It provides Capabilities. Other optional operations it answers with CodeUnsupported. Exclusive sections live in
// memory, their fences in the database: a commit under an old fence is refused
// whoever sends it, but sections exclude each other within one process only, and
// DriverInfo.CrossProcess is false. So let one process at a time have the
// database open, as an embedded store does by itself.
//
// Rows are JSON, beside them index entries, all under keys that begin with the
// partition (table.go, entities.go). A commit is one Update (commit.go,
// changes.go), ReadAccess one View (access.go), a list one View for each chunk
// (list.go). Data of older layouts gets the entries that it lacks when its partition is
// opened (migrate.go). A commit is built in memory before it is written, at most
// storage.MaxCommitBytes and its index entries.
//
// The package imports sdk/authz, sdk/storage, internal/spell and the standard library. It knows no
// database, keeps no files, and starts no goroutines but timers of sections.
package kv
