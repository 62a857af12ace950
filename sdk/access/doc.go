// Package access is the algebra: scope chains, access compiled from the rows of
// one principal, the decision, and its explanation.
//
// It is pure. It does no I/O, has no clock (instants come in as values) and logs
// nothing. A Vocabulary is made once for a catalog; Compile turns the rows that a
// provider supplied into Access, which is immutable and shared by goroutines, and
// answers in time that depends on the depth of the chain at most, without
// allocating. Explain walks the rows instead and says which of them decided.
package access
