package postgres

import (
	"context"
	"crypto/rand"

	"github.com/authzhost/authz/sdk/storage"
)

var _ storage.Renewer = (*store)(nil)

// Renew changes what the partition's row of the schema table names it by.
func (s *store) Renew(ctx context.Context) (string, error) {
	if err := s.usable(ctx); err != nil {
		return "", err
	}
	incarnation := rand.Text()
	err := s.driver.transact(ctx, &transaction{steps: []step{
		{sql: `update "AuthzSchema" set "incarnation" = $2 where "app" = $1`, args: []any{s.partition, incarnation}},
	}})
	if err != nil {
		return "", err
	}
	return incarnation, nil
}
