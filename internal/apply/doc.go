// Package apply makes roles, groups and grants as a file declares them: it compares
// the file with what an application has, plans the operations that make the
// difference, and carries them out one after another.
package apply
