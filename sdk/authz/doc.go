// Package authz is the vocabulary of the service as plain values: permission
// keys and patterns, scopes, subjects, principals, the rows that storage keeps,
// provenance, audit entries, invalidation events, and the typed errors that are
// the same in process, over gRPC and over HTTP.
//
// JSON tags are the wire form. Instants are integer epoch milliseconds. Ids are
// opaque: compared byte for byte, never trimmed, folded or normalised.
//
// The package imports the standard library and internal/spell, does no I/O and has no clock.
package authz
