package provider

import (
	"context"
	"encoding/json"

	"github.com/authzhost/authz/sdk/authz"
)

// Cleanup removes what names a subject or a resource that is gone, so that a
// reused id never inherits its access.
type Cleanup interface {
	// DeleteSubject removes the subject's rows; of a user also the record and the
	// pending requests.
	DeleteSubject(ctx context.Context, subject string, prov authz.Provenance) (CleanupResult, error)

	// DeleteScope removes the rows at exactly this scope and cancels the pending
	// requests for it.
	DeleteScope(ctx context.Context, scope string, prov authz.Provenance) (CleanupResult, error)
}

// CleanupResult counts the rows that were removed.
type CleanupResult struct {
	DeletedGrants  int `json:"deletedGrants"`
	DeletedRevokes int `json:"deletedRevokes"`
}

// Imports publishes the import manifest of the application; without CapImports
// of the driver both refuse with CodeUnsupported.
type Imports interface {
	PublishImports(ctx context.Context, manifest json.RawMessage, prov authz.Provenance) (version int64, err error)

	// GetPublishedImports returns nil when nothing was published.
	GetPublishedImports(ctx context.Context) (*PublishedImports, error)
}

// PublishedImports is the stored head.
type PublishedImports struct {
	Version  int64           `json:"version"`
	Manifest json.RawMessage `json:"manifest"`
}
