package memory

import (
	"context"

	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

// Plugin serves the driver. It has no settings, and its rows end with the
// process.
func Plugin(version string) plugin.Plugin {
	return plugin.Plugin{
		Name:    "memory",
		Version: version,
		Storage: plugin.StorageKind{
			Capabilities: storage.AllCapabilities,
			Configure: func(context.Context, map[string]any) (storage.Driver, error) {
				return New(Options{}), nil
			},
		},
	}
}
