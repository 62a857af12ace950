// Command authz-plugin-mongo serves the storage driver for MongoDB.
package main

import (
	"github.com/authzhost/authz/internal/notices"
	"github.com/authzhost/authz/plugins/mongo/mongo"
	"github.com/authzhost/authz/sdk/plugin"
)

var version string // set by the build

func main() {
	notices.Asked()
	plugin.Serve(mongo.Plugin(version))
}
