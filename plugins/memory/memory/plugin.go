package memory

import (
	"context"
	"time"

	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

// minLease leaves a holder the time to renew, which it does every third of it.
const minLease = 50 * time.Millisecond

// Plugin serves the driver; its rows end with the process.
func Plugin(version string) plugin.Plugin {
	return plugin.Plugin{
		Name:    "memory",
		Version: version,
		Storage: plugin.StorageKind{
			Capabilities: storage.AllCapabilities,
			Configure: func(_ context.Context, config map[string]any) (storage.Driver, error) {
				if err := check(config); err != nil {
					return nil, err
				}
				lease, _ := config["lease"].(time.Duration)
				return New(Options{Lease: lease}), nil
			},
		},
		Check: check,
		ConfigSchema: []plugin.Setting{
			{Name: "lease", Type: plugin.TypeDuration, Default: storage.DefaultLease,
				Description: "How long a section outlives a holder that no longer renews it."},
		},
	}
}

func check(config map[string]any) error {
	if lease, _ := config["lease"].(time.Duration); lease < minLease {
		return &plugin.ConfigError{Field: "lease", Message: "must be at least " + minLease.String()}
	}
	return nil
}
