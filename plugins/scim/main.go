// Command authz-plugin-scim serves the importer that reads a SCIM service.
package main

import (
	"github.com/authzhost/authz/internal/notices"
	"github.com/authzhost/authz/plugins/scim/scim"
	"github.com/authzhost/authz/sdk/plugin"
)

var version string // set by the build

func main() {
	notices.Asked()
	plugin.Serve(scim.Plugin(version))
}
