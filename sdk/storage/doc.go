// Package storage is the seam that a database satisfies to hold applications:
// Driver and Store, the rows of a commit, filters, capabilities and errors.
//
// Drivers store and retrieve; they never interpret. Ids, instants, versions and
// hashes are given to them; a driver itself assigns only event numbers, fences
// and the recognition of commits. Everything that has meaning lies above the
// seam and is the same over every driver.
//
// Strings are opaque UTF-8, compared byte for byte; instants and versions lie
// within ±(2^53−1). An absent row is reported by found == false, never as an
// error or an empty record; an absent optional member comes back absent.
//
// Drivers must call the shared functions for what they judge alike: CheckCommit,
// CheckValue, CheckPartition, Closure, authz.AuditEntry.Subjects. They embed Unimplemented for the optional
// operations that they do not have (optional.go).
//
// The package imports sdk/authz and internal/spell, and does no I/O.
package storage
