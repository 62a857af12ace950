// Package carried is the plugins that the command authz carries in its own binary, to be
// started as processes of their own like any other. go compiles what a program imports in
// the order of the paths. In a package by themselves, of an early path, they begin early:
// SQLite and its C library are an eighth of a first build, and came last while one core waited.
package carried

import (
	"github.com/authzhost/authz/plugins/file/file"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/plugins/sqlite/sqlite"
	"github.com/authzhost/authz/sdk/plugin"
)

// Plugins are those that there are, by name.
var Plugins = map[string]func(version string) plugin.Plugin{
	"file":   file.Plugin,
	"memory": memory.Plugin,
	"sqlite": sqlite.Plugin,
}
