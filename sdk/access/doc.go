// Package access is the algebra: scope chains, access compiled from the rows of
// one principal, the decision and its explanation; the scopes of a listing and
// their SQL; separation of duties, entitlements and wildcard drift.
//
// It is pure. It does no I/O, has no clock (instants come in as values) and logs
// nothing. A Vocabulary is made once for a catalog; Compile turns the rows that a
// provider supplied into Access, which is immutable and shared by goroutines, and
// answers in time that depends on the depth of the chain at most, without
// allocating. Which rows decided a declared key is found by an index that the first
// such question makes; Explain, other attribution and the reports walk the rows.
package access
