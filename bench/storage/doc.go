// Command storage measures a host over a storage driver, and beside it the database
// asked directly for the same rows in the same run: cold checks, writes, long lists,
// lookups, and how soon another host's write is seen.
//
// Everything runs as in production: plugins are processes of their own, databases
// are real. It builds the host and the plugins of this tree, starts a PostgreSQL of
// its own unless --dsn names one, and removes all that it made, except the rows in a
// database that --dsn names: it must be one to throw away. What it prints goes into
// docs/performance.md with the machine beside it.
package main
