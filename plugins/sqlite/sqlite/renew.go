package sqlite

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
	err := s.write(ctx, func(w *work) error {
		_, err := w.exec(`UPDATE "AuthzSchema" SET "incarnation" = ? WHERE "app" = ?`, incarnation, s.app)
		return err
	})
	if err != nil {
		return "", err
	}
	return incarnation, nil
}
