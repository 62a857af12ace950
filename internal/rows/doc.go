// Package rows reads rows that somebody writes in one line, as "grant user:ann role editor
// docs.folder:1": for questions about what would be, and for the worlds of tests. What it
// refuses says what a row of its kind looks like.
package rows
