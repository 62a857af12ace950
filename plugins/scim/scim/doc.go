// Package scim is the directory importer that reads a SCIM 2.0 service (RFC 7643,
// RFC 7644): people, groups and their members, managers and orgs of the enterprise
// extension.
//
// A list is read whole before anything is told, and only if its pages prove it whole:
// no total that changes, no resource told twice, no page that does not continue the
// one before. What cannot be proved is read again a few times and then is an error.
// options.go says what is asked for, client.go and retry.go ask, list.go proves, page.go
// and resource.go read what is answered, reading.go relates it.
//
// The package only ever sends GET (and POST for a token of OAuth), follows no
// redirect to another origin, keeps nothing on disk, and repeats neither a
// credential nor a whole answer in an error or a warning.
package scim
