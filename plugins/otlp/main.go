// Command authz-plugin-otlp serves the metrics sink that speaks OTLP.
package main

import (
	"github.com/authzhost/authz/internal/notices"
	"github.com/authzhost/authz/plugins/otlp/otlp"
	"github.com/authzhost/authz/sdk/plugin"
)

var version string // set by the build

func main() {
	notices.Asked()
	plugin.Serve(otlp.Plugin(version))
}
