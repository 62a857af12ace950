// Package words reads and writes what somebody types of rows: subjects, scopes, bare ids
// and instants. What it refuses says what was probably meant.
package words
