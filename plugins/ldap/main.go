// Command authz-plugin-ldap serves the importer of LDAP directories and Active Directory.
package main

import (
	"github.com/authzhost/authz/internal/notices"
	"github.com/authzhost/authz/plugins/ldap/ldap"
	"github.com/authzhost/authz/sdk/plugin"
)

var version string // set by the build

func main() {
	notices.Asked()
	plugin.Serve(ldap.Plugin(version))
}
