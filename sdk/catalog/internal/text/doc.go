// Package text reads JSON and YAML into one tree, in which every value knows its
// place, and reads the members of its objects strictly: what is unknown, repeated
// or of the wrong type is kept as a Fault that tells field, problem and place.
// It knows nothing of catalogs.
package text
