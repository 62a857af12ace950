package mongo

import (
	"context"
	"crypto/rand"

	"github.com/authzhost/authz/sdk/storage"
)

var _ storage.Renewer = (*store)(nil)

// Renew changes what the partition's marker names its content by.
func (s *store) Renew(ctx context.Context) (string, error) {
	if err := s.usable(ctx); err != nil {
		return "", err
	}
	incarnation := rand.Text()
	if err := s.partition.tables.Renew(ctx, incarnation); err != nil {
		return "", unknown(err) // the answer to a change that was made may be lost
	}
	return incarnation, nil
}
