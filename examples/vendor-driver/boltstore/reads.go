package boltstore

import (
	"bytes"
	"context"
	"iter"
	"math"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// chunk is how many rows a list reads in one transaction.
const chunk = 1000

// keysOf are the keys of rows that a list may hold, above a place.
type keysOf func(p *partition, after string) iter.Seq[string]

func one[R any](ctx context.Context, s *store, t table[R], key string) (row R, found bool, err error) {
	err = s.view(ctx, func(p *partition) {
		if stored := t.get(p, key); stored != nil {
			row, found = *stored, p.err == nil
		}
	}, key)
	return row, found, err
}

// list yields the rows that match, each chunk from a transaction of its own. place
// is where a row stands; args are what the caller sent.
func list[R any](ctx context.Context, s *store, t table[R], keys keysOf, match func(*R) bool, place func(*R) string,
	after string, limit int, args ...any) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		at := after
		for left, n := limit, chunk; n == chunk; left -= n {
			if n = chunk; limit != 0 {
				n = min(n, left)
			}
			var rows []*R
			err := s.view(ctx, func(p *partition) {
				if limit < 0 {
					p.refuse(storage.CodeValidation, "a page's limit must not be negative")
				}
				for row := range t.all(p, keys(p, at)) {
					if match(row) {
						rows = append(rows, row)
					}
					if len(rows) == n {
						return
					}
				}
			}, args...)
			if err != nil {
				yield(*new(R), err)
				return
			}
			for _, row := range rows {
				if err := s.usable(ctx); err != nil {
					yield(*new(R), err)
					return
				}
				if !yield(*row, nil) {
					return
				}
				at = place(row)
			}
			n = len(rows)
		}
	}
}

// byKey lists rows by key: all, or those found by a value.
func byKey[R any](ctx context.Context, s *store, t table[R], value string, match func(*R) bool, pg storage.Page) iter.Seq2[R, error] {
	keys := keysOf(t.keys)
	if value != "" {
		keys = func(p *partition, after string) iter.Seq[string] { return t.with(p, value, after) }
	}
	return list(ctx, s, t, keys, match, t.key, pg.After, pg.Limit, value, pg)
}

func every[R any](*R) bool { return true }

// is applies one member of a filter; nil selects everything.
func is[T comparable](member *T, value T) bool { return member == nil || *member == value }

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
	return found, err
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
	return n, err
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
	return byKey(ctx, s, revokes, value, func(r *authz.Revoke) bool { return is(f.Scope, r.Scope) }, p)
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

// ListAudit reads forward from a place: the cursor's, or without one that from
// which Limit entries match.
func (s *store) ListAudit(ctx context.Context, f storage.AuditFilter) iter.Seq2[authz.AuditEntry, error] {
	match := func(e *authz.AuditEntry) bool {
		return is(f.Target, e.Target) && is(f.Actor, e.Actor) && is(f.Action, e.Action)
	}
	first, before, limit := "", end, 0
	if f.From != nil {
		first = ordered(*f.From)
	}
	if f.To != nil {
		before = ordered(*f.To)
	}
	if f.Cursor != nil {
		first = max(first, place(f.Cursor.At, f.Cursor.ID))
	}
	if f.Limit != nil {
		if limit = int(min(*f.Limit, math.MaxInt32)); limit <= 0 {
			first, limit = end, 0
		}
	}
	keys := func(p *partition, after string) iter.Seq[string] {
		if f.Cursor == nil && limit > 0 && after == first {
			after = beforeLast(p, limit, first, before, match)
		}
		return audit.inTime(p, after, before)
	}
	return list(ctx, s, audit, keys, match, func(e *authz.AuditEntry) string { return place(e.At, e.ID) }, first, limit, f)
}

// beforeLast walks backwards to the place above which n entries match.
func beforeLast(p *partition, n int, after, before string, match func(*authz.AuditEntry) bool) string {
	c, prefix := p.bucket.Cursor(), audit.entity+".at/"
	c.Seek([]byte(prefix + before))
	for k, _ := c.Prev(); bytes.HasPrefix(k, []byte(prefix)); k, _ = c.Prev() {
		place := string(k[len(prefix):])
		if n == 0 || place <= after {
			return max(place, after)
		}
		for entry := range audit.all(p, slices.Values([]string{place[len(ordered(0))+1:]})) {
			if match(entry) {
				n--
			}
		}
	}
	return after
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
	return row.Result, found, err
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
	return parents, err
}

func (s *store) GetRecord(ctx context.Context, collection, id string) (storage.Record, bool, error) {
	return one(ctx, s, records, recordKey(collection, id))
}

func (s *store) ListRecords(ctx context.Context, collection string, f storage.RecordFilter, pg storage.Page) iter.Seq2[storage.Record, error] {
	if f.Index < 0 || f.Index > len(storage.Record{}.Keys) {
		return failing[storage.Record](storage.Errorf(storage.CodeValidation, "a record has no index string %d", f.Index))
	}
	keys := func(p *partition, after string) iter.Seq[string] {
		return records.with(p, recordValue(collection, f.Index, f.Value), after)
	}
	return list(ctx, s, records, keys, every, records.key, recordKey(collection, pg.After), pg.Limit, collection, f, pg)
}

// ReadAccess reads everything in one transaction.
func (s *store) ReadAccess(ctx context.Context, q storage.AccessQuery) (a storage.Access, err error) {
	err = s.view(ctx, func(p *partition) {
		if q.UserID != "" {
			a.User = users.get(p, q.UserID)
			for revoke := range revokes.all(p, revokes.with(p, "user/"+q.UserID, "")) {
				a.Revokes = append(a.Revokes, *revoke)
			}
		} else if q.Expand {
			p.refuse(storage.CodeValidation, "only a user's access can be expanded")
		}
		if q.Expand {
			managerOf := func(id string) (string, error) {
				if user := users.get(p, id); user != nil {
					return user.ManagerUserID, p.err
				}
				return "", p.err
			}
			manager, _ := managerOf(q.UserID) // p keeps the error
			a.ManagerChain, _ = storage.ManagerChain(q.UserID, manager, managerOf)
			a.Closure = storage.Closure(q.UserID, a.User, a.ManagerChain, func(id string) []string {
				if group := groups.get(p, id); group != nil {
					return group.Parents
				}
				return nil
			})
			q.Subjects = a.Closure
		}
		var named []string
		all := storage.GrantFilter{Subjects: append([]string{}, q.Subjects...)}
		for grant := range grants.all(p, grantKeys(all)(p, "")) {
			a.Grants, named = append(a.Grants, *grant), append(named, grant.RoleID)
		}
		a.Roles, a.Head = rolesOf(p, named), version(p, "log")
	}, q)
	return a, err
}
