// Command authz-plugin-mongo serves the storage driver for MongoDB.
package main

import (
	"github.com/authzhost/authz/plugins/mongo/mongo"
	"github.com/authzhost/authz/sdk/plugin"
)

var version string // set by the build

func main() { plugin.Serve(mongo.Plugin(version)) }
