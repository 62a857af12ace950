package sqlite_test

import (
	"testing"

	"github.com/authzhost/authz/plugins/internal/relational/relationaltest"
	"github.com/authzhost/authz/plugins/sqlite/sqlite"
)

func TestLongDetailsStayInTheFile(t *testing.T) {
	path := t.TempDir() + "/authz.db"
	relationaltest.LeavesOutDetails(t, mustStore(t, mustOpen(t, sqlite.Options{Path: path}), "docs"), func() {
		execute(t, path, `UPDATE "AuthzAudit" SET "detailBytes" = NULL`)
	})
}
