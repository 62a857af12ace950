package sqlite

import (
	"context"
	"crypto/rand"

	"github.com/authzhost/authz/sdk/storage"
)

// compareLife refuses a commit that was judged against another life of the content.
func compareLife(w *work, app, incarnation string) error {
	if incarnation == "" {
		return nil
	}
	var now string
	if _, err := w.one(`SELECT "incarnation" FROM "AuthzSchema" WHERE "app" = ?`, []any{app}, &now); err != nil {
		return err
	}
	if now != incarnation {
		return storage.ErrOtherLife()
	}
	return nil
}

// Renew changes what the partition's row of the schema table names it by.
func (s *store) Renew(ctx context.Context, expect string) (string, error) {
	if err := s.usable(ctx, expect); err != nil {
		return "", err
	}
	incarnation := rand.Text()
	err := s.write(ctx, func(w *work) error {
		changed, err := w.exec(`UPDATE "AuthzSchema" SET "incarnation" = ?1 WHERE "app" = ?2 AND (?3 = '' OR "incarnation" = ?3)`, incarnation, s.app, expect)
		if err == nil && changed == 0 {
			err = storage.Errorf(storage.CodeConflict, "the content has another incarnation already")
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return incarnation, nil
}
