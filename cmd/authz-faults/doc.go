// Command authz-faults kills and stops hosts, plugins and the database at random,
// fails the database over, brings the old primary back and overloads the hosts,
// while random writers write through two of them, and then proves from outside that
// nothing was lost, doubled or left behind, and that nothing that was taken away was
// honoured for longer than the stated bounds.
//
// Everything is real: `authz serve`, plugin binaries, a PostgreSQL cluster or an
// SQLite file, the provider API over HTTP. Writers (writers.go) keep a ledger of
// what they asked and what they were answered; chaos.go and rare.go inflict a plan
// that the seed decides; staleness.go measures how old answers are meanwhile; verify.go replays the audit log over a model (model.go) and
// compares it with the ledger, the rows and the event log; questions.go asks the
// hosts that lived through it what a fresh evaluation of the rows answers.
//
// The command reads and writes only through the public interfaces. It signals
// only processes that it started or whose parent it started, by their ids.
package main
