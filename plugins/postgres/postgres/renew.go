package postgres

import (
	"context"
	"crypto/rand"
	"strings"

	"github.com/authzhost/authz/sdk/storage"
)

// Renew changes what the partition's row of the schema table names it by.
func (s *store) Renew(ctx context.Context, expect string) (string, error) {
	if err := s.usable(ctx, expect); err != nil {
		return "", err
	}
	incarnation, changed := rand.Text(), int64(0)
	server := s.driver.primary.now.Load()
	if expect != "" {
		var ours bool
		if expect, ours = strings.CutSuffix(expect, server.named("")); !ours || expect == "" {
			return "", storage.Errorf(storage.CodeConflict, "the content has another incarnation already")
		}
	}
	err := s.driver.transact(ctx, &transaction{steps: []step{
		{sql: `select 1 from "AuthzSchema" where "app" = $1 for update`, args: []any{s.partition}}, // commits compare it under for key share
		{
			sql:      `update "AuthzSchema" set "incarnation" = $2 where "app" = $1 and ($3 = '' or "incarnation" = $3)`,
			args:     []any{s.partition, incarnation, expect},
			affected: func(rows int64) error { changed = rows; return nil },
		},
	}})
	if err == nil && changed == 0 {
		err = storage.Errorf(storage.CodeConflict, "the content has another incarnation already")
	}
	if err != nil {
		return "", err
	}
	return server.named(incarnation), nil
}
