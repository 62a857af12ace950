// Package remedies writes the commands that would change a denial, those that take least
// first.
package remedies
