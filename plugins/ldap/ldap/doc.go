// Package ldap is the importer that reads people and groups from an LDAP directory
// or from Active Directory.
//
// A reading is a bind, a look at the server's schema, one search for people and one
// for groups, in pages. All of it is held before anything is told: who is a member
// of what is known only then, and a server that fails in the middle has told
// nothing. Entries name each other by distinguished names, compared as parsed,
// without case; the ids that leave the package are those of the attributes that the
// configuration names, stable ones unless it says otherwise.
//
// The package connects to the addresses of its configuration and to no other: a
// referral is never followed. It never writes to the directory, never sends a
// password over a connection in plaintext that leaves the machine, and never puts
// one into an error. Nothing that a search may have left out counts as read.
package ldap
