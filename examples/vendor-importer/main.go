// Command authz-plugin-unix serves the directory importer of package unixdir.
package main

import (
	"context"

	"github.com/authzhost/authz/examples/vendor-importer/unixdir"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/plugin"
)

var version string // set by the build

func main() {
	plugin.Serve(plugin.Plugin{
		Name:     unixdir.Name,
		Version:  version,
		Importer: plugin.ImporterKind{Capabilities: unixdir.Capabilities(), Configure: configure},
		ConfigSchema: []plugin.Setting{
			{Name: "passwd", Type: plugin.TypeString, Default: "/etc/passwd", Description: "The file of people."},
			{Name: "group", Type: plugin.TypeString, Default: "/etc/group", Description: "The file of groups."},
			{Name: "min_uid", Type: plugin.TypeInteger, Default: int64(1000), Description: "Accounts below it belong to the system."},
			{Name: "max_uid", Type: plugin.TypeInteger, Default: int64(60000), Description: "Accounts above it belong to the system."},
		},
	})
}

// configure gets the settings checked against the schema, under their Go types. It
// opens nothing: a directory that is away now may be there when a run asks.
func configure(_ context.Context, config map[string]any) (directory.Importer, error) {
	o := unixdir.Options{
		Passwd: config["passwd"].(string), Group: config["group"].(string),
		MinUID: config["min_uid"].(int64), MaxUID: config["max_uid"].(int64),
	}
	if o.MinUID < 0 || o.MaxUID < o.MinUID {
		return nil, &plugin.ConfigError{Field: "min_uid", Message: "must be from 0 to max_uid"}
	}
	return unixdir.New(o), nil
}
