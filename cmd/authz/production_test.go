package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/authzhost/authz/internal/testprocess"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
)

// An operator follows the guide from an empty folder to two hosts over PostgreSQL, loses a
// row, restores it, and turns a secret over.
func TestTheGuideToProductionLeadsThroughARestore(t *testing.T) {
	dsn := postgrestest.Database(t)
	tools, err := postgrestest.Tools()
	if err != nil {
		t.Skip(err)
	}
	r := newReader(t, "openssl", "curl", "promtool")
	r.folder = "/srv/authz"
	r.env = append(r.env, "DATABASE_URL="+dsn)
	r.env[0] += ":" + tools
	plugins := filepath.Join(r.dir, "plugins")
	if err := os.Mkdir(plugins, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := testprocess.BuildAs(filepath.Join(plugins, "authz-plugin-postgres"), "plugins/postgres"); err != nil {
		t.Fatal(err)
	}
	r.read("../../docs/production.md")
	if strings.Contains(r.last("authz role list"), "editor") {
		t.Error("the restored database has what was written after the backup")
	}
}
