package mesh

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/authzhost/authz/internal/lists"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// ListEdges reads people's edges where the organization's rows are, those of scopes in
// the own partition.
func (m *Member) ListEdges(ctx context.Context, kind storage.EdgeKind, of []string, p storage.EdgePage) iter.Seq2[storage.Edge, error] {
	if kind == storage.EdgeParent {
		return m.Store.ListEdges(ctx, kind, of, p)
	}
	return from(ctx, m.people, func(s storage.Store) iter.Seq2[storage.Edge, error] { return s.ListEdges(ctx, kind, of, p) })
}

// ListGrantsAt lists the organization's global grants, which come first, and the own
// partition's others.
func (m *Member) ListGrantsAt(ctx context.Context, scopes []string, p storage.GrantsAtPage) iter.Seq2[authz.Grant, error] {
	return func(yield func(authz.Grant, error) bool) {
		org, err := m.org(ctx)
		if err != nil {
			yield(authz.Grant{}, err)
			return
		}
		others := slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return s == authz.Global })
		if org == nil || len(others) == len(scopes) {
			m.Store.ListGrantsAt(ctx, scopes, p)(yield)
			return
		}
		all := p
		all.Limit = 0 // limited counts across both
		apart := func(a, b authz.Grant) bool {
			return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.ID, b.ID)) <= 0
		}
		lists.Limited(merged(org.ListGrantsAt(ctx, []string{authz.Global}, all), m.Store.ListGrantsAt(ctx, others, all), apart), p.Limit)(yield)
	}
}

// FindGrants finds the organization's global grants and the own partition's others.
func (m *Member) FindGrants(ctx context.Context, q authz.GrantSearch, p storage.FoundPage) iter.Seq2[authz.Grant, error] {
	return func(yield func(authz.Grant, error) bool) {
		org, err := m.org(ctx)
		if err != nil {
			yield(authz.Grant{}, err)
			return
		}
		global, instances := q, q
		global.Scope, instances.Instances = &globalScope, true
		switch {
		case org == nil:
			m.Store.FindGrants(ctx, q, p)(yield)
		case q.Instances || q.Scope != nil && *q.Scope != authz.Global:
			m.Store.FindGrants(ctx, instances, p)(yield)
		case q.Scope != nil:
			org.FindGrants(ctx, q, p)(yield)
		default:
			all := storage.FoundPage{After: p.After} // limited counts across both
			lists.Limited(merged(org.FindGrants(ctx, global, all), m.Store.FindGrants(ctx, instances, all), func(a, b authz.Grant) bool {
				return q.Order.Compare(q.Order.Place(&a), q.Order.Place(&b)) <= 0
			}), p.Limit)(yield)
		}
	}
}

// ReadPeople reads people and what they have everywhere where the organization's rows
// are, the rest in the own partition.
func (m *Member) ReadPeople(ctx context.Context, q storage.PeopleQuery) (storage.People, error) {
	org, err := m.org(ctx)
	if err != nil {
		return storage.People{}, err
	}
	if org == nil {
		return m.Store.ReadPeople(ctx, q)
	}
	read, err := org.ReadPeople(ctx, q)
	if err != nil {
		return storage.People{}, err
	}
	own, err := m.Store.ReadPeople(ctx, q)
	if err != nil {
		return storage.People{}, err
	}
	read.Grants = atHome(read.Grants, own.Grants, scopeOfGrant, func(g authz.Grant) string { return g.ID })
	read.Revokes = atHome(read.Revokes, own.Revokes, scopeOfRevoke, func(r authz.Revoke) string { return r.ID })
	return read, nil
}

// LentBy is the partition whose rows decide a key beside those that this store lists: an
// owner of imported namespaces whose groups are its own. "" is none.
func (m *Member) LentBy(ctx context.Context, key string) (partition string, err error) {
	if m.imports == nil {
		return "", nil
	}
	r, err := m.conn.recent(ctx)
	if err != nil || r.Org != nil {
		return "", err
	}
	if owner, found := r.Owner(authz.NamespaceOf(key)); found && slices.Contains(m.imports.namespaces, authz.NamespaceOf(key)) {
		return owner.Partition, nil
	}
	return "", nil
}
