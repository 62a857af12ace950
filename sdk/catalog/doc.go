// Package catalog turns an application's declaration of its permission
// vocabulary into a Catalog: built once, immutable, safe for any number of
// goroutines. A declaration is the Go value Input, for Define, or a JSON or YAML
// file. Everything wrong with one comes back at once as *authz.CatalogError; what
// merely breaks conventions, Lint reports.
//
// A Catalog answers the queries that evaluation and writes need, explains unknown
// names, lays itself out as the Tree of a permission picker, and writes the two
// artifacts that leave the process: the catalog document, what the application
// owns, and the import manifest, what it references. FromDocument makes the
// catalog again from these, trusting neither.
//
// Only Load touches the file system; nothing else here does I/O, and nothing
// has a clock or decides access.
package catalog
