package sqlite

import (
	"context"
	"iter"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func (s *store) GetRevoke(ctx context.Context, id string) (authz.Revoke, bool, error) {
	return get(ctx, s, revokes, id)
}

func (s *store) ListRevokes(ctx context.Context, f storage.RevokeFilter, p storage.Page) iter.Seq2[authz.Revoke, error] {
	return stream(ctx, s, list[string, authz.Revoke]{
		arguments: []any{f, p}, after: p.After, limit: p.Limit, scan: revokes.Scan, key: func(r authz.Revoke) string { return r.ID },
		chunk: func(after string, limit int) *query {
			q := s.selecting(revokes.columns, relational.RevokeTable, indexOf(candidate{f.UserID != nil, "userId"}, candidate{f.Scope != nil, "scope"}))
			equal(q, "userId", f.UserID)
			equal(q, "scope", f.Scope)
			q.and(`"id" > ?`, after)
			q.page(`"id"`, limit)
			return q
		},
	})
}

func (s *store) GetRole(ctx context.Context, id string) (authz.Role, bool, error) {
	return get(ctx, s, roles, id)
}

func (s *store) ListRoles(ctx context.Context, p storage.Page) iter.Seq2[authz.Role, error] {
	return listAll(ctx, s, roles, p, func(r authz.Role) string { return r.ID })
}

// rolesByID reads the roles of a list of ids, each once, by id.
var rolesByID = `SELECT ` + roles.columns + ` FROM "AuthzRole" WHERE "app" = ? AND "id" IN (SELECT j.value FROM json_each(?) AS j) ORDER BY "id"`

func (s *store) GetRoles(ctx context.Context, ids []string) (rows []authz.Role, err error) {
	if err := s.usable(ctx, ids); err != nil || len(ids) == 0 {
		return nil, err
	}
	asked, err := listOf(ids)
	if err != nil {
		return nil, err
	}
	err = s.db.read(ctx, func(w *work) (err error) {
		rows, err = rowsOf(w, roles.Scan, rolesByID, s.app, asked)
		return err
	})
	return rows, err
}

func (s *store) GetGroup(ctx context.Context, id string) (authz.Group, bool, error) {
	return get(ctx, s, groups, id)
}

func (s *store) ListGroups(ctx context.Context, p storage.Page) iter.Seq2[authz.Group, error] {
	return listAll(ctx, s, groups, p, func(g authz.Group) string { return g.ID })
}

// listAll lists a table whose key is id.
func listAll[T any](ctx context.Context, s *store, t table[T], p storage.Page, id func(T) string) iter.Seq2[T, error] {
	return stream(ctx, s, list[string, T]{
		arguments: []any{p}, after: p.After, limit: p.Limit, scan: t.Scan, key: id,
		chunk: func(after string, limit int) *query {
			q := s.selecting(t.columns, t.Table, "")
			q.and(`"id" > ?`, after)
			q.page(`"id"`, limit)
			return q
		},
	})
}

func (s *store) GetUser(ctx context.Context, userID string) (authz.User, bool, error) {
	return get(ctx, s, users, userID)
}

func (s *store) ListUsers(ctx context.Context, f storage.UserFilter, p storage.Page) iter.Seq2[authz.User, error] {
	return stream(ctx, s, list[string, authz.User]{
		arguments: []any{f, p}, after: p.After, limit: p.Limit, scan: users.Scan, key: func(u authz.User) string { return u.UserID },
		chunk: func(after string, limit int) *query {
			q := s.selecting(users.columns, relational.UserTable, "")
			q.and(`"userId" > ?`, after)
			equal(q, "active", f.Active)
			if f.HasManager != nil {
				q.and(`("managerUserId" IS NOT NULL) = ?`, *f.HasManager)
			}
			q.page(`"userId"`, limit)
			return q
		},
	})
}

func (s *store) ListUsersInGroup(ctx context.Context, groupID string, p storage.Page) iter.Seq2[string, error] {
	return stream(ctx, s, list[string, string]{
		arguments: []any{groupID, p}, after: p.After, limit: p.Limit, key: func(userID string) string { return userID },
		scan: func(scan relational.Scan) (userID string, err error) { return userID, scan(&userID) },
		chunk: func(after string, limit int) *query {
			q := s.selecting(`"userId"`, relational.MembershipTable, "groupId_userId")
			q.and(`"groupId" = ?`, groupID)
			q.and(`"userId" > ?`, after)
			q.page(`"userId"`, limit)
			return q
		},
	})
}

func (s *store) GetRequest(ctx context.Context, id string) (authz.Request, bool, error) {
	return get(ctx, s, requests, id)
}

func (s *store) ListRequests(ctx context.Context, f storage.RequestFilter, p storage.RequestPage) iter.Seq2[authz.Request, error] {
	type position struct {
		at int64
		id string
	}
	if f.RoleID != nil && *f.RoleID == "" { // never the requests without a role
		return empty[authz.Request](ctx, s, p.Limit, f, p)
	}
	return stream(ctx, s, list[position, authz.Request]{
		arguments: []any{f, p}, after: position{p.AfterCreatedAt, p.AfterID}, limit: p.Limit, scan: requests.Scan,
		key: func(r authz.Request) position { return position{r.CreatedAt, r.ID} },
		chunk: func(after position, limit int) *query {
			q := s.selecting(requests.columns, relational.RequestTable, indexOf(
				candidate{f.RequesterUserID != nil, "requesterUserId"}, candidate{f.State != nil, "state"}, candidate{true, "createdAt_id"}))
			equal(q, "requesterUserId", f.RequesterUserID)
			equal(q, "state", f.State)
			equal(q, "roleId", f.RoleID)
			equal(q, "scope", f.Scope)
			if after.id != "" {
				q.and(`("createdAt", "id") > (?, ?)`, after.at, after.id)
			}
			q.page(`"createdAt", "id"`, limit)
			return q
		},
	})
}

const scopeParents = `SELECT "scope", "parents" FROM "AuthzScopeParent" WHERE "app" = ? AND "scope" IN (SELECT j.value FROM json_each(?) AS j)`

func (s *store) GetScopeParents(ctx context.Context, scopes []string) (map[string][]string, error) {
	if err := s.usable(ctx, scopes); err != nil {
		return nil, err
	}
	if len(scopes) > storage.MaxScopes {
		return nil, storage.Errorf(storage.CodeTooLarge, "parents of %d scopes asked for, at most %d", len(scopes), storage.MaxScopes)
	}
	asked, err := listOf(scopes)
	if err != nil {
		return nil, err
	}
	parents := make(map[string][]string, len(scopes))
	err = s.db.read(ctx, func(w *work) error {
		clear(parents)
		return w.each(scopeParents, []any{s.app, asked}, func(scan relational.Scan) (bool, error) {
			return false, relational.AddParents(scan, parents)
		})
	})
	if err != nil {
		return nil, err
	}
	return parents, nil
}

func (s *store) GetRecord(ctx context.Context, collection, id string) (storage.Record, bool, error) {
	return get(ctx, s, records, collection, id)
}

var recordKeys = [...]string{"key1", "key2", "key3", "key4"}

func (s *store) ListRecords(ctx context.Context, collection string, f storage.RecordFilter, p storage.Page) iter.Seq2[storage.Record, error] {
	if f.Index < 0 || f.Index > len(recordKeys) {
		return refused[storage.Record](storage.Errorf(storage.CodeValidation, "a record has no index string %d", f.Index))
	}
	if f.Index > 0 && f.Value == "" { // "" is no index string
		return empty[storage.Record](ctx, s, p.Limit, collection, f, p)
	}
	return stream(ctx, s, list[string, storage.Record]{
		arguments: []any{collection, f, p}, after: p.After, limit: p.Limit, scan: records.Scan, key: func(r storage.Record) string { return r.ID },
		chunk: func(after string, limit int) *query {
			index, column := "", ""
			if f.Index > 0 {
				column = recordKeys[f.Index-1]
				index = "collection_" + column + "_id"
			}
			q := s.selecting(records.columns, relational.RecordTable, index)
			q.and(`"collection" = ?`, collection)
			if f.Index > 0 {
				q.and(`"`+column+`" = ?`, f.Value)
			}
			q.and(`"id" > ?`, after)
			q.page(`"id"`, limit)
			return q
		},
	})
}
