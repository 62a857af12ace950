// Package input reads the files that commands are given, JSON or YAML, and holds them
// to the Go type that they are read into: what is misspelt would be left out in
// silence. Every fault is told with file, line and column.
package input
