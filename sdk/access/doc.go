// Package access says what a check is: may a principal with these rows use a key at a
// scope.
//
// Read decision.go first. Decide is the definition of a check, some lines over the rows
// and the catalog; Explain shows the rows by which it decides. A program that asks often
// asks a sdk/client, which answers the same from rows that are compiled once.
//
//   - chain.go, decision.go: scopes with their ancestors, and the definition
//   - explain*.go: the working of a check, also as text
//   - listing*.go: which rows of a table a principal may see, as a plan and as SQL
//   - violations.go, entitlements.go, drift.go: what reports of an application say
//
// The package is pure. It does no I/O, has no clock (instants come in as values) and logs
// nothing.
package access
