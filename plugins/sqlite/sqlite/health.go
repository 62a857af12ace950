package sqlite

import (
	"context"

	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/sdk/storage"
)

// Health looks at the files.
func (s *store) Health(ctx context.Context) (storage.Health, error) {
	if s.handle.Closed() {
		return storage.Health{}, seam.Closed()
	}
	return storage.Health{}, s.db.file.look()
}
