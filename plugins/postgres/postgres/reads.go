package postgres

import (
	"context"
	"iter"
	"math"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	byID     = ` where t."app" = $1 and t."id" = $2`
	byUserID = ` where t."app" = $1 and t."userId" = $2`
)

// get is a single-row read by key.
func get[T any](ctx context.Context, s *store, text string, scan scanner[T], key string) (row T, found bool, err error) {
	if err := s.usable(ctx, key); err != nil {
		return row, false, err
	}
	return one(ctx, s, text, scan, key)
}

// byKey is a list in the order of one text column. conditions returns those of
// the filter; each chunk adds its own to a fresh set.
func byKey[T any](ctx context.Context, s *store, check error, p storage.Page, text, column string, first int,
	scan scanner[T], conditions func() *where, key func(T) string) iter.Seq2[T, error] {
	if check == nil {
		check = storage.CheckValue(p)
	}
	return stream(ctx, s, check, listing[T, string]{limit: p.Limit, after: p.After, first: first, key: key,
		fetch: func(ctx context.Context, after string, n int) (chunk[T], error) {
			w := conditions()
			if after != "" {
				w.and(`"`+column+`" > ?`, after)
			}
			w.then(`order by "`+column+`" limit ?`, n)
			return several(ctx, s, true, scan, text+w.String(), w.args...)
		}})
}

func (s *store) GetGrant(ctx context.Context, id string) (authz.Grant, bool, error) {
	return get(ctx, s, selectGrants+byID, relational.Grants.Scan, id)
}

func (s *store) ListGrants(ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
	return byKey(ctx, s, storage.CheckValue(f), p, selectGrants, "id", chunkRows, relational.Grants.Scan,
		func() *where { return grantConditions(f) }, func(g authz.Grant) string { return g.ID })
}

func (s *store) CountGrants(ctx context.Context, f storage.GrantFilter) (int64, error) {
	if err := s.usable(ctx, f); err != nil {
		return 0, err
	}
	w := grantConditions(f)
	c, err := several(ctx, s, false, scanNumber, `select count(*) from "AuthzGrant" t`+w.String(), w.args...)
	if err != nil || len(c.rows) == 0 {
		return 0, err
	}
	return c.rows[0], nil
}

func grantConditions(f storage.GrantFilter) *where {
	w := inPartition()
	equals(w, "subject", f.Subject)
	if f.Subjects != nil {
		w.and(`"subject" = any(?::text[])`, f.Subjects)
	}
	equals(w, "scope", f.Scope)
	equals(w, "roleId", f.RoleID) // grants without a role have NULL, which equals nothing
	return w
}

func (s *store) GetRevoke(ctx context.Context, id string) (authz.Revoke, bool, error) {
	return get(ctx, s, selectRevokes+byID, relational.Revokes.Scan, id)
}

func (s *store) ListRevokes(ctx context.Context, f storage.RevokeFilter, p storage.Page) iter.Seq2[authz.Revoke, error] {
	return byKey(ctx, s, storage.CheckValue(f), p, selectRevokes, "id", chunkRows, relational.Revokes.Scan, func() *where {
		w := inPartition()
		equals(w, "userId", f.UserID)
		equals(w, "scope", f.Scope)
		return w
	}, func(r authz.Revoke) string { return r.ID })
}

func (s *store) GetRole(ctx context.Context, id string) (authz.Role, bool, error) {
	return get(ctx, s, selectRoles+byID, relational.Roles.Scan, id)
}

func (s *store) ListRoles(ctx context.Context, p storage.Page) iter.Seq2[authz.Role, error] {
	return byKey(ctx, s, nil, p, selectRoles, "id", firstChunk, relational.Roles.Scan, inPartition, func(r authz.Role) string { return r.ID })
}

func (s *store) GetRoles(ctx context.Context, ids []string) ([]authz.Role, error) {
	if err := s.usable(ctx, ids); err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, nil
	}
	c, err := several(ctx, s, false, relational.Roles.Scan, selectRoles+` where t."app" = $1 and t."id" = any($2::text[])`, ids)
	return c.rows, err
}

func (s *store) GetGroup(ctx context.Context, id string) (authz.Group, bool, error) {
	return get(ctx, s, selectGroups+byID, scanGroup, id)
}

func (s *store) ListGroups(ctx context.Context, p storage.Page) iter.Seq2[authz.Group, error] {
	return byKey(ctx, s, nil, p, selectGroups, "id", firstChunk, scanGroup, inPartition, func(g authz.Group) string { return g.ID })
}

func (s *store) GetUser(ctx context.Context, userID string) (authz.User, bool, error) {
	return get(ctx, s, selectUsers+byUserID, scanUser, userID)
}

func (s *store) ListUsers(ctx context.Context, f storage.UserFilter, p storage.Page) iter.Seq2[authz.User, error] {
	return byKey(ctx, s, nil, p, selectUsers, "userId", firstChunk, scanUser, func() *where {
		w := inPartition()
		equals(w, "active", f.Active)
		if f.HasManager != nil {
			w.and(`("managerUserId" is not null) = ?`, *f.HasManager)
		}
		return w
	}, func(u authz.User) string { return u.UserID })
}

func (s *store) ListUsersInGroup(ctx context.Context, groupID string, p storage.Page) iter.Seq2[string, error] {
	return byKey(ctx, s, storage.CheckValue(groupID), p, `select t."userId" from "AuthzMembership" t`, "userId", chunkRows, scanText, func() *where {
		w := inPartition()
		w.and(`"groupId" = ?`, groupID)
		return w
	}, func(id string) string { return id })
}

func (s *store) GetRequest(ctx context.Context, id string) (authz.Request, bool, error) {
	return get(ctx, s, selectRequests+byID, relational.Requests.Scan, id)
}

func (s *store) ListRequests(ctx context.Context, f storage.RequestFilter, p storage.RequestPage) iter.Seq2[authz.Request, error] {
	check := storage.CheckValue(f)
	if check == nil {
		check = storage.CheckValue(p)
	}
	after := authz.AuditCursor{At: p.AfterCreatedAt, ID: p.AfterID}
	if p.AfterID == "" {
		after.At = math.MinInt64
	}
	return stream(ctx, s, check, listing[authz.Request, authz.AuditCursor]{limit: p.Limit, after: after, first: firstChunk,
		key: func(r authz.Request) authz.AuditCursor { return authz.AuditCursor{At: r.CreatedAt, ID: r.ID} },
		fetch: func(ctx context.Context, after authz.AuditCursor, n int) (chunk[authz.Request], error) {
			w := inPartition()
			equals(w, "state", f.State)
			equals(w, "requesterUserId", f.RequesterUserID)
			equals(w, "roleId", f.RoleID)
			equals(w, "scope", f.Scope)
			w.and(`("createdAt", "id") > (?, ?)`, after.At, after.ID)
			w.then(`order by "createdAt", "id" limit ?`, n)
			return several(ctx, s, true, relational.Requests.Scan, selectRequests+w.String(), w.args...)
		}})
}

func (s *store) GetScopeParents(ctx context.Context, scopes []string) (map[string][]string, error) {
	if err := s.able(ctx, storage.CapAncestry, scopes); err != nil {
		return nil, err
	}
	if len(scopes) > storage.MaxScopes {
		return nil, storage.Errorf(storage.CodeTooLarge, "parents of %d scopes asked for, at most %d", len(scopes), storage.MaxScopes)
	}
	parents := make(map[string][]string, len(scopes))
	_, err := several(ctx, s, false, func(scan relational.Scan) (struct{}, error) {
		return struct{}{}, relational.AddParents(scan, parents)
	}, `select t."scope", t."parents" from "AuthzScopeParent" t where t."app" = $1 and t."scope" = any($2::text[])`, append([]string{}, scopes...))
	if err != nil {
		return nil, err
	}
	return parents, nil
}

func (s *store) GetRecord(ctx context.Context, collection, id string) (storage.Record, bool, error) {
	if err := s.able(ctx, storage.CapRecords, collection, id); err != nil {
		return storage.Record{}, false, err
	}
	return one(ctx, s, selectRecords+` where t."app" = $1 and t."collection" = $2 and t."id" = $3`, relational.Records.Scan, collection, id)
}

func (s *store) ListRecords(ctx context.Context, collection string, f storage.RecordFilter, p storage.Page) iter.Seq2[storage.Record, error] {
	check := s.able(ctx, storage.CapRecords, collection, f)
	if check == nil && (f.Index < 0 || f.Index > len(storage.Record{}.Keys)) {
		check = storage.Errorf(storage.CodeValidation, "a record has no index string %d", f.Index)
	}
	return byKey(ctx, s, check, p, selectRecords, "id", firstChunk, relational.Records.Scan, func() *where {
		w := inPartition()
		w.and(`"collection" = ?`, collection)
		if f.Index > 0 {
			equals(w, []string{"key1", "key2", "key3", "key4"}[f.Index-1], &f.Value)
		}
		return w
	}, func(r storage.Record) string { return r.ID })
}
