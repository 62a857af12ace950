// Package memory is the storage driver that keeps everything in the process.
//
// The content of a partition is one immutable value, a set of copy-on-write
// trees. A commit builds the next value beside the current one and puts it in
// its place with a single store, or drops it: readers take no lock, see one
// instant, and a refused commit leaves nothing. Exclusive sections stand beside
// the content under a mutex of their own; comparing the fences of a commit and
// publishing what it wrote are one step under that mutex.
//
// Stores that are to see each other are opened over one Backend. Nothing
// survives the process: a new Backend names its content with new incarnations,
// and its fences start at the clock's milliseconds, above those of earlier lives.
//
// The package imports sdk/authz and sdk/storage, sdk/plugin to be served, and what
// drivers share; it does no I/O.
package memory
