// Package sqlite is the storage driver that keeps applications in one SQLite file.
//
// The tables are those of the relational layout (plugins/internal/relational),
// every key and index led by the partition. The file is in WAL mode and every
// commit is synced before it is answered. A driver has one connection that writes,
// and writes are whole transactions that begin with the write lock (BEGIN
// IMMEDIATE): what a transaction reads is still so when it ends, so no row needs a
// lock of its own. Readers have connections of their own and see one instant per
// statement or per transaction. No transaction stays open between two chunks of a
// list.
//
// Several processes of one machine may share a file: exclusive sections are rows
// with a lease, and fences are compared inside the commit's transaction. A network
// file system must not hold the file.
//
// The package never interprets rows, never changes the layout of a database that
// it did not make unless its configuration says so, and never puts the database's
// own words into the message of an error.
package sqlite
