// Command authz-plugin-memory serves the in-memory storage driver, whose rows end
// with the process.
package main

import (
	"github.com/authzhost/authz/internal/notices"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/plugin"
)

var version string // set by the build

func main() {
	notices.Asked()
	plugin.Serve(memory.Plugin(version))
}
