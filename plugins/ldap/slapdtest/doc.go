// Package slapdtest gives tests a directory server of their own: OpenLDAP's slapd,
// started from the binaries of the machine over a throw-away database, with TLS by
// an authority made for it.
//
// Active Directory cannot be had here. Its attributes and object classes are emulated
// in the same server by a schema of their own, and Ranges stands before it and cuts
// long lists of values as Active Directory does.
//
// It serves tests; nothing that is shipped imports it. It starts only processes that
// it ends again, by their own id, listens on loopback only, and writes only below a
// temporary folder of its own.
package slapdtest
