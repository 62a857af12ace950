// Package configs holds runnable configurations, embedded for the commands that
// write one down for their users. It reads nothing and imports nothing.
package configs

import _ "embed"

// Quickstart is the configuration that a quickstart begins with.
//
//go:embed quickstart.yaml
var Quickstart string
