// Package testcert makes certificates for the servers of tests. It writes into folders
// of the test alone, and tests alone import it.
package testcert
