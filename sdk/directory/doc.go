// Package directory holds what an outside directory knows of people and groups:
// the Snapshot that an import applies, its Options and its Result.
//
// It holds values, the Importer that a plugin serves, and Collect, which makes a
// snapshot of what one reads. Applying a snapshot is the application's work.
package directory
