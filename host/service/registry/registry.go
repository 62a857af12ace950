package registry

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/billing"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/pieces"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// Applications is what the registry asks of the org's applications.
type Applications interface {
	// NamespacesOf lists the namespaces of an application: application_not_found.
	NamespacesOf(ctx context.Context, org, application string) ([]string, error)

	// Claim is OwnerID for what tx writes: tx fails when that has changed by then.
	Claim(ctx context.Context, tx *account.Tx, org, namespace string) (id string, found bool, err error)

	// OwnerID is the application that has the namespace.
	OwnerID(ctx context.Context, org, namespace string) (id string, found bool, err error)

	// Owners maps every namespace that an application of the org has to its id.
	Owners(ctx context.Context, org string) (map[string]string, error)

	// Sources are the linked applications of the org, by id.
	Sources(ctx context.Context, org string) ([]Source, error)
}

// Options of a Registry; all are required.
type Options struct {
	Store        *account.Store
	Applications Applications
	Meters       *billing.Meters
}

// Registry publishes and reads catalogs. It is safe for concurrent use.
type Registry struct {
	store        *account.Store
	applications Applications
	meters       *billing.Meters
}

// New makes a registry over the account data.
func New(o Options) *Registry {
	return &Registry{store: o.Store, applications: o.Applications, meters: o.Meters}
}

// Head is the newest version of a namespace, and when it was published.
type Head struct{ Version, PublishedAt int64 }

// Heads are the heads of namespaces, those that have one; of all the org's when none
// is named.
func Heads(ctx context.Context, s *account.Store, org string, namespaces ...string) (map[string]Head, error) {
	found := map[string]Head{}
	if len(namespaces) == 0 {
		for row, err := range heads.All(ctx, s, org) {
			if err != nil {
				return nil, err
			}
			found[row.ID] = Head{row.Value.Version, row.Value.PublishedAt}
		}
	}
	for _, ns := range namespaces {
		row, there, err := heads.Get(ctx, s, org, ns)
		if err != nil {
			return nil, err
		}
		if there {
			found[ns] = Head{row.Value.Version, row.Value.PublishedAt}
		}
	}
	return found, nil
}

// Summary is a namespace in the list of GET registry. Application is nil once
// its application is deleted, Version and PublishedAt before the first publish.
// Keys and Tombstones are counts.
type Summary struct {
	Namespace   string  `json:"namespace"`
	Application *string `json:"application"`
	Version     *int64  `json:"version"`
	PublishedAt *int64  `json:"publishedAt"`
	Keys        int     `json:"keys"`
	Tombstones  int     `json:"tombstones"`
}

// List lists the namespaces that an application has or once published, ascending.
func (r *Registry) List(ctx context.Context, org string) ([]Summary, error) {
	owners, err := r.applications.Owners(ctx, org)
	if err != nil {
		return nil, err
	}
	found := make([]Summary, 0, len(owners))
	for row, err := range heads.All(ctx, r.store, org) {
		if err != nil {
			return nil, err
		}
		h := row.Value
		s := Summary{Namespace: row.ID, Version: &h.Version, PublishedAt: &h.PublishedAt, Keys: h.Keys, Tombstones: h.Tombstones}
		if owner, ok := owners[row.ID]; ok {
			s.Application = &owner
			delete(owners, row.ID)
		}
		found = append(found, s)
	}
	for ns, owner := range owners {
		found = append(found, Summary{Namespace: ns, Application: &owner})
	}
	slices.SortFunc(found, func(a, b Summary) int { return strings.Compare(a.Namespace, b.Namespace) })
	return found, nil
}

// Version is a publication of a namespace. AddedKeys holds revived ones too.
type Version struct {
	Version        int64    `json:"version"`
	PublishedAt    int64    `json:"publishedAt"`
	Publisher      string   `json:"publisher"`
	AddedKeys      []string `json:"addedKeys"`
	TombstonedKeys []string `json:"tombstonedKeys"`
}

// Namespace is the answer of GET registry/{ns}: versions and keys ascending.
type Namespace struct {
	Namespace   string      `json:"namespace"`
	Application *string     `json:"application"`
	Versions    []Version   `json:"versions"`
	Tombstones  []Tombstone `json:"tombstones"`
}

// Get reads a namespace with all its versions: namespace_not_found.
func (r *Registry) Get(ctx context.Context, org, namespace string) (Namespace, error) {
	row, owner, err := r.known(ctx, org, namespace)
	if err != nil {
		return Namespace{}, err
	}
	h, err := r.history(ctx, org, namespace, row.Value.Version)
	if err != nil {
		return Namespace{}, err
	}
	return Namespace{Namespace: namespace, Application: owner, Versions: list(h.versions), Tombstones: h.buried()}, nil
}

func (r *Registry) known(ctx context.Context, org, namespace string) (account.Row[head], *string, error) {
	missing := fault.Cloud("namespace_not_found", "the org has no namespace %s", spell.Quote(namespace))
	if !authz.IsSegment(namespace) {
		return account.Row[head]{}, nil, missing
	}
	row, published, err := heads.Get(ctx, r.store, org, namespace)
	if err != nil {
		return row, nil, err
	}
	id, claimed, err := r.applications.OwnerID(ctx, org, namespace)
	switch {
	case err != nil:
		return row, nil, err
	case claimed:
		return row, &id, nil
	case published:
		return row, nil, nil
	}
	return row, nil, missing
}

// Document is a published document, as it was sent. ETag is quoted.
type Document struct {
	Raw     []byte
	Version int64
	ETag    string
}

// Document reads a version, the head for nil: namespace_not_found,
// version_not_found.
func (r *Registry) Document(ctx context.Context, org, namespace string, number *int64) (Document, error) {
	row, _, err := r.known(ctx, org, namespace)
	if err != nil {
		return Document{}, err
	}
	n := row.Value.Version
	if number != nil {
		n = *number
	}
	if n < 1 || n > row.Value.Version {
		return Document{}, fault.Cloud("version_not_found", "the namespace %s has no version %d", namespace, n)
	}
	v, found, err := versions.Get(ctx, r.store, org, versionID(namespace, n))
	if err != nil {
		return Document{}, err
	}
	if !found {
		return Document{}, fault.Internal(fmt.Errorf("version %d of %s is missing", n, namespace))
	}
	raw, err := pieces.Get(ctx, r.store, org, v.Value.Document)
	if err != nil {
		return Document{}, err
	}
	return Document{Raw: raw, Version: n, ETag: strconv.Quote(strconv.FormatInt(n, 10) + "-" + v.Value.Sum[:32])}, nil
}

// Knows tells whether the application that has a pattern's namespace has published what
// the pattern names.
func (r *Registry) Knows(ctx context.Context, org, pattern string) (bool, error) {
	namespace := authz.NamespaceOf(pattern)
	_, owned, err := r.applications.OwnerID(ctx, org, namespace)
	if err != nil || !owned {
		return false, err
	}
	head, published, err := heads.Get(ctx, r.store, org, namespace)
	if err != nil || !published {
		return false, err
	}
	document, err := r.Document(ctx, org, namespace, &head.Value.Version)
	if err != nil {
		return false, err
	}
	vocabulary, err := catalog.FromDocument(document.Raw, catalog.DocumentOptions{})
	if err != nil {
		return false, fault.Internal(fmt.Errorf("version %d of %s: %w", document.Version, namespace, err))
	}
	return vocabulary.ValidateKnownPattern(pattern) == nil, nil
}
