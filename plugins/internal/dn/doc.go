// Package dn compares distinguished names (RFC 4514) for the importers whose entries
// name each other by them, as directories do: by what is meant and not by how it is
// spelt. Equal names have equal keys, in every importer.
//
// It knows no server, no file and no attribute of the configuration; it does no I/O.
package dn
