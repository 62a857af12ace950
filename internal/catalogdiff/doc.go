// Package catalogdiff says how two catalog documents differ: by permission, group and
// scope type, and by section otherwise.
package catalogdiff
