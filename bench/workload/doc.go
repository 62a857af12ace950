// Package workload generates the one set of rows and questions that every engine
// of the comparison is given: users in nested groups, roles of patterns, a tree of
// folders with documents, grants, personal revokes, and questions with the answers
// that the plain definition gives.
//
// The same Params give the same world on every machine. The package knows no
// engine: it speaks of users, groups, roles, keys and scopes, and each engine
// translates them into its own terms. It does no I/O.
package workload
