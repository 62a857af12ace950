// Package directory holds what an outside directory knows of people and groups:
// the Snapshot that an import applies, its Options and its Result.
//
// It holds values only; applying a snapshot is the application's work.
package directory
