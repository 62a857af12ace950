// Package vectors holds the golden vectors that the project replays, cases
// produced by an independent implementation of the same specification, and Replay,
// which runs a test once for each case.
//
// The replays themselves live beside the packages that they test.
package vectors
