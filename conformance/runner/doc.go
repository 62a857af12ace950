// Package runner runs the cases of a contract over a target, whatever the contract
// is about: it chooses them, bounds each in time, records what a case did, and says
// what became of it, to `go test` and to a command alike.
//
// It knows no contract and no plugin. Nothing passes here that did not run to its
// end; a case that hangs is a failure, and one whose run was ended is skipped.
package runner
