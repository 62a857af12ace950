package mesh

import (
	"context"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// Elsewhere says whether a member has published what a pattern of the organization
// names, where the own partition holds the organization's data. The heads are read as
// they are now (spec: mesh §7).
func (m *Member) Elsewhere(ctx context.Context, pattern string) (known bool, err error) {
	r, err := m.conn.recent(ctx)
	if err != nil || r.Org == nil || r.Org.Partition != m.partition {
		return false, err
	}
	owner, found := r.Owner(authz.NamespaceOf(pattern))
	if !found || owner.Partition == m.partition {
		return false, nil
	}
	s, err := m.conn.store(ctx, owner.Partition)
	if err != nil {
		return false, err
	}
	head, published, err := s.GetCatalog(ctx)
	if err != nil || !published {
		return false, err
	}
	vocabulary, err := catalog.FromDocument(head.Document, catalog.DocumentOptions{})
	if err != nil {
		return false, catalogInvalid(owner.Partition, err)
	}
	return vocabulary.ValidateKnownPattern(pattern) == nil, nil
}
