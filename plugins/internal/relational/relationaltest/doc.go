// Package relationaltest is for tests of the drivers over relational databases: what
// every one of them owes when it migrates a database. Tests alone import it.
package relationaltest
