// Package corpus holds an HTTP API to the answers that were recorded of it, byte
// for byte: it makes the wrong requests out of good ones, and compares a file of
// cases (-corpus writes it anew) with what is answered now. Tests alone import it.
package corpus
