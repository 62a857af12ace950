// Command authz-plugin-postgres serves the storage driver over PostgreSQL.
package main

import (
	"github.com/authzhost/authz/plugins/postgres/postgres"
	"github.com/authzhost/authz/sdk/plugin"
)

var version string // set by the build

func main() { plugin.Serve(postgres.Plugin(version)) }
