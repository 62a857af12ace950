// Package file is the directory importer that reads files: CSV, the JSON of a
// directory snapshot, LDIF.
//
// The files are read into memory, at most max_bytes of them, and told only when
// every byte of them was read from files that stood still (source.go) and made sense
// to the end. csv.go, json.go and ldif.go read one format each; fault.go says where
// in which file a mistake is.
//
// The package reads the files that its configuration names and no others: it follows
// no URL in them, writes nothing, and takes no file that cannot be known whole.
package file
