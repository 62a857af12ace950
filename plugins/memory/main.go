// Command authz-plugin-memory serves the in-memory storage driver. It has no
// settings, and its rows end with the process.
package main

import (
	"context"

	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

var version string // set by the build

func main() {
	plugin.Serve(plugin.Plugin{
		Name:    "memory",
		Version: version,
		Storage: plugin.StorageKind{
			Capabilities: storage.AllCapabilities,
			Configure: func(context.Context, map[string]any) (storage.Driver, error) {
				return memory.New(memory.Options{}), nil
			},
		},
	})
}
