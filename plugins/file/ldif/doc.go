// Package ldif reads the content records of LDIF version 1 (RFC 2849): folded lines,
// base64, comments. It says where a mistake is by line and column.
//
// It reads what a directory holds and not how to change it: a changetype, a control
// and the lone "-" of a modification are refused. It fetches nothing: a value that is
// a URL is refused too. In one thing it is laxer than the RFC: a plain value may be
// any UTF-8, as people write it.
package ldif
