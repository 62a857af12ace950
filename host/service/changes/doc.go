// Package changes tells who waits for it that something of an org was written, on
// whichever host (spec: hosted-api §8.1). It says where, never what: who waits asks again
// with their own rights. Each place that somebody waits for is looked at by one goroutine
// of this host, however many wait.
package changes
