// Package config reads the host's configuration: a YAML file, then environment
// variables, then overrides from the command line, into one Config that is
// either whole and valid or not returned at all.
//
// It is strict. A key that this version does not know, a value of another type,
// a value out of its range and a reference that leads nowhere are problems, and
// all of them are reported at once, each with its path and, for what stands in
// the file, its line. Keys is the one table of what may be configured; defaults,
// checks, suggestions and the printed reference come from it.
//
// Secrets are given as env: or file: references, are resolved while loading, and
// are never printed: neither by Config, nor in an error.
//
// The package reads the configuration file, the files that references and tls
// name, and nothing else. It never reads a catalog, starts a plugin or opens a
// listener.
package config
