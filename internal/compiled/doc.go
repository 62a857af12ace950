// Package compiled decides what sdk/access defines, over rows that were walked once
// instead of at every check. It has no users but our own packages.
//
// access.Decide is the definition of a check, some lines over the rows and the catalog.
// Everything here is an optimisation, held to it by property tests; the first comment of
// each file says of what, and what it gains:
//
//   - chain.go, vocabulary.go: scopes with their ancestors, and the catalog as numbers
//   - access.go, slots.go, sets.go, compile*.go: the rows of a principal, compiled once
//   - decide.go, view.go: the decision over them, for a client and for a snapshot
//   - held.go, visible.go: questions without a scope; undeclared.go: keys without a number
//   - attribute*.go: which rows decided a check that was observed
//   - conferred.go, sod.go, entitlements.go: reports of what users hold
//
// The package is pure, as sdk/access is. A Vocabulary is made once for a catalog; Compile
// turns the rows that a provider supplied into Access, which is immutable and shared by
// goroutines, and answers without allocating, in time that depends on the depth of the
// chain at most.
package compiled
