// Package testprocess builds the programs that tests run and that other tests, or
// scripts/conformance, run too, and runs those that are servers. Some live in modules
// of their own, so that what only they need stays out of the product's go.mod. Tests
// alone import it.
package testprocess
