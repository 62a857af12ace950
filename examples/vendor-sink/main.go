// Command authz-plugin-lines serves the metrics sink of package linesink.
package main

import (
	"context"

	"github.com/authzhost/authz/examples/vendor-sink/linesink"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/plugin"
)

var version string // set by the build

func main() {
	plugin.Serve(plugin.Plugin{
		Name:    linesink.Name,
		Version: version,
		Sink:    plugin.SinkKind{Capabilities: linesink.Capabilities(), Configure: configure},
		ConfigSchema: []plugin.Setting{
			{Name: "path", Type: plugin.TypeString, Required: true, Description: "The file, made when absent. One process at a time appends to it."},
			{Name: "max_megabytes", Type: plugin.TypeInteger, Default: int64(64), Description: "How large the file may grow before it takes the place of <path>.1."},
		},
	})
}

// configure gets the settings checked against the schema, under their Go types.
func configure(ctx context.Context, config map[string]any) (metrics.Sink, error) {
	megabytes := config["max_megabytes"].(int64)
	if megabytes < 1 || megabytes > 1<<20 {
		return nil, &plugin.ConfigError{Field: "max_megabytes", Message: "must be between 1 and 1048576"}
	}
	sink, err := linesink.Open(ctx, config["path"].(string), megabytes<<20)
	if err != nil {
		return nil, &plugin.ConfigError{Field: "path", Message: err.Error()}
	}
	return sink, nil
}
