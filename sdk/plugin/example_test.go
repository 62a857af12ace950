package plugin_test

import (
	"context"

	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

// All that the main function of a plugin does: say what it is and what it takes, and
// serve until its host is gone.
func ExampleServe() {
	plugin.Serve(plugin.Plugin{
		Name:    "example",
		Version: "1.0.0",
		Storage: plugin.StorageKind{
			Capabilities: []storage.Capability{storage.CapEvents},
			Configure: func(_ context.Context, config map[string]any) (storage.Driver, error) {
				return memory.New(memory.Options{}), nil // config was checked against the schema
			},
		},
		ConfigSchema: []plugin.Setting{
			{Name: "path", Type: plugin.TypeString, Required: true, Description: "The database file."},
		},
	})
}
