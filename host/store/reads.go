package store

import (
	"context"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// maybe is a row or none.
type maybe[T any] struct {
	row   T
	found bool
}

func lookUp[T any](ctx context.Context, s *Store, name string, call func(context.Context, storage.Store) (T, bool, error)) (T, bool, error) {
	m, err := read(ctx, s, name, func(ctx context.Context, st storage.Store) (maybe[T], error) {
		row, found, err := call(ctx, st)
		return maybe[T]{row, found}, err
	})
	return m.row, m.found, err
}

func (s *Store) GetGrant(ctx context.Context, id string) (authz.Grant, bool, error) {
	return lookUp(ctx, s, "GetGrant", func(ctx context.Context, st storage.Store) (authz.Grant, bool, error) { return st.GetGrant(ctx, id) })
}

func (s *Store) CountGrants(ctx context.Context, f storage.GrantFilter) (int64, error) {
	return read(ctx, s, "CountGrants", func(ctx context.Context, st storage.Store) (int64, error) { return st.CountGrants(ctx, f) })
}

func (s *Store) GetRevoke(ctx context.Context, id string) (authz.Revoke, bool, error) {
	return lookUp(ctx, s, "GetRevoke", func(ctx context.Context, st storage.Store) (authz.Revoke, bool, error) { return st.GetRevoke(ctx, id) })
}

func (s *Store) GetRole(ctx context.Context, id string) (authz.Role, bool, error) {
	return lookUp(ctx, s, "GetRole", func(ctx context.Context, st storage.Store) (authz.Role, bool, error) { return st.GetRole(ctx, id) })
}

func (s *Store) GetRoles(ctx context.Context, ids []string) ([]authz.Role, error) {
	return read(ctx, s, "GetRoles", func(ctx context.Context, st storage.Store) ([]authz.Role, error) { return st.GetRoles(ctx, ids) })
}

func (s *Store) GetGroup(ctx context.Context, id string) (authz.Group, bool, error) {
	return lookUp(ctx, s, "GetGroup", func(ctx context.Context, st storage.Store) (authz.Group, bool, error) { return st.GetGroup(ctx, id) })
}

func (s *Store) GetUser(ctx context.Context, userID string) (authz.User, bool, error) {
	return lookUp(ctx, s, "GetUser", func(ctx context.Context, st storage.Store) (authz.User, bool, error) { return st.GetUser(ctx, userID) })
}

func (s *Store) GetRequest(ctx context.Context, id string) (authz.Request, bool, error) {
	return lookUp(ctx, s, "GetRequest", func(ctx context.Context, st storage.Store) (authz.Request, bool, error) {
		return st.GetRequest(ctx, id)
	})
}

func (s *Store) GetCatalog(ctx context.Context) (storage.CatalogHead, bool, error) {
	return lookUp(ctx, s, "GetCatalog", func(ctx context.Context, st storage.Store) (storage.CatalogHead, bool, error) {
		return st.GetCatalog(ctx)
	})
}

func (s *Store) GetCatalogVersion(ctx context.Context, version int64) (storage.CatalogVersion, bool, error) {
	return lookUp(ctx, s, "GetCatalogVersion", func(ctx context.Context, st storage.Store) (storage.CatalogVersion, bool, error) {
		return st.GetCatalogVersion(ctx, version)
	})
}

func (s *Store) GetImports(ctx context.Context) (storage.ImportsHead, bool, error) {
	return lookUp(ctx, s, "GetImports", func(ctx context.Context, st storage.Store) (storage.ImportsHead, bool, error) {
		return st.GetImports(ctx)
	})
}

func (s *Store) GetRecord(ctx context.Context, collection, id string) (storage.Record, bool, error) {
	return lookUp(ctx, s, "GetRecord", func(ctx context.Context, st storage.Store) (storage.Record, bool, error) {
		return st.GetRecord(ctx, collection, id)
	})
}

func (s *Store) Head(ctx context.Context) (authz.Position, error) {
	return read(ctx, s, "Head", func(ctx context.Context, st storage.Store) (authz.Position, error) { return st.Head(ctx) })
}

func (s *Store) EventsSince(ctx context.Context, after authz.Position, limit int) (storage.EventPage, error) {
	return read(ctx, s, "EventsSince", func(ctx context.Context, st storage.Store) (storage.EventPage, error) {
		return st.EventsSince(ctx, after, limit)
	})
}

// GetScopeParents is unavailable while the store is lost.
func (s *Store) GetScopeParents(ctx context.Context, scopes []string) (map[string][]string, error) {
	return closure(ctx, s, "GetScopeParents", scopeParents(scopes))
}

// ReadAccess is unavailable while the store is lost.
func (s *Store) ReadAccess(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
	return closure(ctx, s, "ReadAccess", readAccess(q))
}

// ReadPeople is unavailable while the store is lost.
func (s *Store) ReadPeople(ctx context.Context, q storage.PeopleQuery) (storage.People, error) {
	return closure(ctx, s, "ReadPeople", func(ctx context.Context, st storage.Store) (storage.People, error) {
		return st.ReadPeople(ctx, q)
	})
}

func scopeParents(scopes []string) func(context.Context, storage.Store) (map[string][]string, error) {
	return func(ctx context.Context, st storage.Store) (map[string][]string, error) {
		return st.GetScopeParents(ctx, scopes)
	}
}

func readAccess(q storage.AccessQuery) func(context.Context, storage.Store) (storage.Access, error) {
	return func(ctx context.Context, st storage.Store) (storage.Access, error) { return st.ReadAccess(ctx, q) }
}

// ForWrites is the store as writes judge themselves by it: they go on while it is lost,
// so that it can be filled. Nobody is answered from it.
func (s *Store) ForWrites() storage.Store { return forWrites{s} }

type forWrites struct{ *Store }

func (s forWrites) GetScopeParents(ctx context.Context, scopes []string) (map[string][]string, error) {
	return read(ctx, s.Store, "GetScopeParents", scopeParents(scopes))
}

func (s forWrites) ReadAccess(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
	return read(ctx, s.Store, "ReadAccess", readAccess(q))
}

func (s *Store) Health(ctx context.Context) (storage.Health, error) {
	return read(ctx, s, "Health", func(ctx context.Context, st storage.Store) (storage.Health, error) { return st.Health(ctx) })
}

func (s *Store) GetCommit(ctx context.Context, id string) (storage.CommitResult, bool, error) {
	return lookUp(ctx, s, "GetCommit", func(ctx context.Context, st storage.Store) (storage.CommitResult, bool, error) {
		return st.GetCommit(ctx, id)
	})
}
