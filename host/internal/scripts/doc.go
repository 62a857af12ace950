// Package scripts replays the scripts of the golden vectors: operations in their
// order, what each answers, tells and leaves. It drives a Surface, so that one
// script judges the application in its own process and the same application
// behind a host, a plugin process and the wire alike.
//
// It serves tests only; reading the files is theirs.
package scripts
