package kv

import (
	"context"
	"iter"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func (s *store) GetGrant(ctx context.Context, id string) (authz.Grant, bool, error) {
	return one(ctx, s, grants, id)
}
func (s *store) GetRevoke(ctx context.Context, id string) (authz.Revoke, bool, error) {
	return one(ctx, s, revokes, id)
}
func (s *store) GetRole(ctx context.Context, id string) (authz.Role, bool, error) {
	return one(ctx, s, roles, id)
}
func (s *store) GetGroup(ctx context.Context, id string) (authz.Group, bool, error) {
	return one(ctx, s, groups, id)
}
func (s *store) GetUser(ctx context.Context, id string) (authz.User, bool, error) {
	return one(ctx, s, users, id)
}
func (s *store) GetRequest(ctx context.Context, id string) (authz.Request, bool, error) {
	return one(ctx, s, requests, id)
}

func (s *store) GetRoles(ctx context.Context, ids []string) (found []authz.Role, err error) {
	err = s.view(ctx, func(p *partition) { found = rolesOf(p, ids) }, ids)
	if err != nil {
		return nil, err
	}
	return found, nil
}

// rolesOf returns the roles that exist, each once.
func rolesOf(p *partition, ids []string) (found []authz.Role) {
	for role := range roles.all(p, slices.Values(distinct(ids))) {
		found = append(found, *role)
	}
	return found
}

func distinct(values []string) []string { return slices.Compact(slices.Sorted(slices.Values(values))) }

func (s *store) ListGrants(ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
	return list(ctx, s, grants, grantKeys(f), grantMatch(f), grants.key, p.After, p.Limit, f, p)
}

func (s *store) CountGrants(ctx context.Context, f storage.GrantFilter) (n int64, err error) {
	match := grantMatch(f)
	err = s.view(ctx, func(p *partition) {
		for grant := range grants.all(p, grantKeys(f)(p, "")) {
			if match(grant) {
				n++
			}
		}
	}, f)
	if err != nil {
		return 0, err
	}
	return n, nil
}

// grantKeys finds a filter's grants through one index; grantMatch tests the rest.
func grantKeys(f storage.GrantFilter) keysOf {
	return func(p *partition, after string) iter.Seq[string] {
		switch {
		case f.Subject != nil:
			return grants.with(p, "subject/"+*f.Subject, after)
		case f.Subjects != nil:
			var ids []string
			for _, subject := range distinct(f.Subjects) {
				ids = slices.AppendSeq(ids, grants.with(p, "subject/"+subject, after))
			}
			return slices.Values(distinct(ids))
		case f.RoleID != nil:
			return grants.with(p, "role/"+*f.RoleID, after)
		case f.Scope != nil:
			return grants.with(p, "scope/"+*f.Scope, after)
		}
		return grants.keys(p, after)
	}
}

func grantMatch(f storage.GrantFilter) func(*authz.Grant) bool {
	among := f.Subject == nil || f.Subjects == nil || slices.Contains(f.Subjects, *f.Subject)
	return func(g *authz.Grant) bool {
		return among && is(f.Scope, g.Scope) && is(f.RoleID, g.RoleID) && (f.RoleID == nil || g.RoleID != "")
	}
}

func (s *store) ListRevokes(ctx context.Context, f storage.RevokeFilter, p storage.Page) iter.Seq2[authz.Revoke, error] {
	value := ""
	if f.UserID != nil {
		value = "user/" + *f.UserID
	}
	return byKey(ctx, s, revokes, value, func(r *authz.Revoke) bool { return is(f.Scope, r.Scope) }, p, f)
}

func (s *store) ListRoles(ctx context.Context, p storage.Page) iter.Seq2[authz.Role, error] {
	return byKey(ctx, s, roles, "", every, p)
}

func (s *store) ListGroups(ctx context.Context, p storage.Page) iter.Seq2[authz.Group, error] {
	return byKey(ctx, s, groups, "", every, p)
}

func (s *store) ListUsers(ctx context.Context, f storage.UserFilter, p storage.Page) iter.Seq2[authz.User, error] {
	return byKey(ctx, s, users, "", func(u *authz.User) bool {
		return is(f.Active, u.Active) && is(f.HasManager, u.ManagerUserID != "")
	}, p)
}

func (s *store) ListUsersInGroup(ctx context.Context, groupID string, p storage.Page) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for user, err := range byKey(ctx, s, users, "group/"+groupID, every, p) {
			if !yield(user.UserID, err) {
				return
			}
		}
	}
}

func (s *store) ListRequests(ctx context.Context, f storage.RequestFilter, pg storage.RequestPage) iter.Seq2[authz.Request, error] {
	after := ""
	if pg.AfterID != "" {
		after = place(pg.AfterCreatedAt, pg.AfterID)
	}
	keys := func(p *partition, after string) iter.Seq[string] { return requests.inTime(p, after, end) }
	return list(ctx, s, requests, keys, func(r *authz.Request) bool {
		return is(f.State, r.State) && is(f.RequesterUserID, r.RequesterUserID) &&
			is(f.RoleID, r.RoleID) && (f.RoleID == nil || r.RoleID != "") && is(f.Scope, r.Scope)
	}, func(r *authz.Request) string { return place(r.CreatedAt, r.ID) }, after, pg.Limit, f, pg)
}

func (s *store) GetCatalog(ctx context.Context) (storage.CatalogHead, bool, error) {
	row, found, err := one(ctx, s, heads, "catalog")
	return storage.CatalogHead{Version: row.Version, Document: row.Document}, found, err
}

func (s *store) GetImports(ctx context.Context) (storage.ImportsHead, bool, error) {
	row, found, err := one(ctx, s, heads, "imports")
	return storage.ImportsHead{Version: row.Version, Manifest: row.Document}, found, err
}

func (s *store) GetCommit(ctx context.Context, id string) (storage.CommitResult, bool, error) {
	row, found, err := one(ctx, s, commits, id)
	return row.result(), found, err
}

func (s *store) GetScopeParents(ctx context.Context, ids []string) (map[string][]string, error) {
	if len(ids) > storage.MaxScopes {
		return nil, storage.Errorf(storage.CodeTooLarge, "parents of %d scopes asked for, at most %d", len(ids), storage.MaxScopes)
	}
	parents := make(map[string][]string, len(ids))
	err := s.view(ctx, func(p *partition) {
		for row := range scopes.all(p, slices.Values(ids)) {
			parents[row.Scope] = append([]string{}, row.Parents...)
		}
	}, ids)
	if err != nil {
		return nil, err
	}
	return parents, nil
}

func (s *store) GetRecord(ctx context.Context, collection, id string) (storage.Record, bool, error) {
	if err := s.usable(ctx, collection, id); err != nil { // each by itself: joined, halves of a character make one
		return storage.Record{}, false, err
	}
	return one(ctx, s, records, recordKey(collection, id))
}

func (s *store) ListRecords(ctx context.Context, collection string, f storage.RecordFilter, pg storage.Page) iter.Seq2[storage.Record, error] {
	if f.Index < 0 || f.Index > len(storage.Record{}.Keys) {
		return failing[storage.Record](storage.Errorf(storage.CodeValidation, "a record has no index string %d", f.Index))
	}
	value := recordValue(collection, 0, "")
	if f.Index > 0 {
		value = recordValue(collection, f.Index, f.Value)
	}
	keys := func(p *partition, after string) iter.Seq[string] {
		return records.with(p, value, after)
	}
	return list(ctx, s, records, keys, every, records.key, recordKey(collection, pg.After), pg.Limit, collection, f, pg)
}

func failing[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) { yield(*new(T), err) }
}
