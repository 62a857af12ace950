// Command authz-plugin-bolt serves the storage driver of package boltstore.
package main

import (
	"context"
	"time"

	"github.com/authzhost/authz/examples/vendor-driver/boltstore"
	"github.com/authzhost/authz/sdk/plugin"
	"github.com/authzhost/authz/sdk/storage"
)

var version string // set by the build

// minLease leaves a host the time to renew, which it does every third of it.
const minLease = 50 * time.Millisecond

func main() {
	plugin.Serve(plugin.Plugin{
		Name:    boltstore.Name,
		Version: version,
		Storage: plugin.StorageKind{Capabilities: boltstore.Capabilities, Configure: configure},
		ConfigSchema: []plugin.Setting{
			{Name: "path", Type: plugin.TypeString, Required: true, Description: "The database file, made when absent. One process at a time has it open."},
			{Name: "lease", Type: plugin.TypeDuration, Default: storage.DefaultLease, Description: "How long an exclusive section outlives a host that went silent."},
		},
	})
}

// configure gets the settings checked against the schema, under their Go types.
func configure(_ context.Context, config map[string]any) (storage.Driver, error) {
	lease := config["lease"].(time.Duration)
	if lease < minLease {
		return nil, &plugin.ConfigError{Field: "lease", Message: "must be at least " + minLease.String()}
	}
	driver, err := boltstore.Open(config["path"].(string), lease)
	if err != nil && storage.CodeOf(err) == "" {
		err = &plugin.ConfigError{Field: "path", Message: err.Error()}
	}
	return driver, err
}
