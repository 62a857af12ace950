// Package testprocess builds and runs the servers that tests start and that live in
// modules of their own, so that what only they need stays out of the product's
// go.mod. Tests alone import it.
package testprocess
