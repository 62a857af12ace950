// Package access decides: may a principal with these rows use a key at a scope.
//
// Read decision.go first. Decide is the definition of a check, some lines over the rows
// and the catalog. Everything else that answers such a question is an optimisation of it,
// held to it by property tests; its first comment says of what, and what it gains:
//
//   - chain.go, vocabulary.go: scopes with their ancestors, and the catalog as numbers
//   - access.go, slots.go, sets.go, compile*.go: the rows of a principal, compiled once
//   - decide.go, view.go: the decision over them, for a client and for a snapshot
//   - held.go, visible.go: questions without a scope; undeclared.go: keys without a number
//   - explain*.go, attribute*.go: which rows decided
//   - listing*.go, sod.go, entitlements.go, drift.go: lists and reports
//
// The package is pure. It does no I/O, has no clock (instants come in as values) and logs
// nothing. A Vocabulary is made once for a catalog; Compile turns the rows that a provider
// supplied into Access, which is immutable and shared by goroutines, and answers without
// allocating, in time that depends on the depth of the chain at most.
package access
