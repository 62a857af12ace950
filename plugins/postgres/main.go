// Command authz-plugin-postgres serves the storage driver over PostgreSQL.
package main

import (
	"github.com/authzhost/authz/internal/notices"
	"github.com/authzhost/authz/plugins/postgres/postgres"
	"github.com/authzhost/authz/sdk/plugin"
)

var version string // set by the build

func main() {
	notices.Asked()
	plugin.Serve(postgres.Plugin(version))
}
