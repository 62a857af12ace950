// Package explain shows the working of checks of an application: the rows that decided,
// those that came near, and in a word why. Nothing of it is on the path of a check.
package explain
