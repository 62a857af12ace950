// Package catalogdoc makes a reference of a catalog for people: its scope types, its
// permissions by group, its imports and constraints, and the roles of a file for authz
// apply with the permissions that each confers.
package catalogdoc
