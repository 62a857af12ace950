// Package configured proves what every kind of plugin owes about its
// configuration: that it refuses what it does not know and names it, and that no
// secret of it ever comes out again, in an error or in anything that is printed.
//
// It knows settings and nothing of what a plugin does with them: the suites of a
// kind hand it a plugin and a way to use it.
package configured
