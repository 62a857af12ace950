package mongo

import (
	"context"
	"crypto/rand"

	"github.com/authzhost/authz/sdk/storage"
)

// Renew changes what the partition's marker names its content by.
func (s *store) Renew(ctx context.Context, expect string) (string, error) {
	if err := s.usable(ctx, expect); err != nil {
		return "", err
	}
	turn, err := s.partition.takeTurn(ctx) // commits compare it under theirs
	if err != nil {
		return "", err
	}
	defer turn.give(ctx)
	if err := s.partition.step("rename"); err != nil {
		return "", err
	}
	incarnation := rand.Text()
	changed, err := s.partition.tables.Renew(ctx, expect, incarnation)
	switch {
	case err != nil:
		return "", unknown(err) // the answer to a change that was made may be lost
	case !changed:
		return "", storage.Errorf(storage.CodeConflict, "the content has another incarnation already")
	}
	return incarnation, nil
}
