package postgres_test

import (
	"testing"

	"github.com/authzhost/authz/plugins/internal/relational/relationaltest"
	"github.com/authzhost/authz/plugins/postgres/postgres"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
)

func TestLongDetailsStayInTheDatabase(t *testing.T) {
	dsn := postgrestest.Database(t)
	relationaltest.LeavesOutDetails(t, open(t, connect(t, postgres.Options{DSN: dsn}), "docs"), func() {
		sql(t, dsn, `update "AuthzAudit" set "detailBytes" = null`)
	})
}
