// Package catalog turns an application's declaration of its permission
// vocabulary into a Catalog: built once, immutable, safe for any number of
// goroutines. It reads declarations (JSON, YAML or the Go value Input), reports
// everything wrong with one at once as *authz.CatalogError, answers the queries
// that evaluation and writes need, explains unknown names, and writes and checks
// the published catalog document and the manifest of what it imports.
//
// Only Load touches the file system; nothing else here does I/O, and nothing
// has a clock or decides access.
package catalog
