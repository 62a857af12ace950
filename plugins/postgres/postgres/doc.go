// Package postgres is the storage driver over PostgreSQL.
//
// Every row carries its partition, and so does every statement. A commit is one
// transaction whose first statement claims the commit's id, so that a resend waits
// for a first attempt that is still running, and whose last one takes the event
// numbers, so that they appear in order and without holes. Statements are
// pipelined: a commit whose answer needs nothing from the rows it changes is one
// round trip, any other two. Exclusive sections are rows with a fence, taken by
// compare-and-set under the server's clock.
//
// Neither session locks nor notifications carry correctness; LISTEN/NOTIFY only
// wakes watchers sooner than their next look.
//
// The package imports the sdk, what drivers share, and pgx.
// It never interprets a row, and no text of the server leaves it except as the
// cause of an error.
package postgres
