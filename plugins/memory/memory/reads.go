package memory

import (
	"context"
	"iter"
	"math"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func (s *store) GetRevoke(ctx context.Context, id string) (authz.Revoke, bool, error) {
	return get(ctx, s, func(st *state) *tree[*authz.Revoke] { return &st.revokes.byID }, &authz.Revoke{ID: id}, copyRevoke, id)
}

func (s *store) ListRevokes(ctx context.Context, f storage.RevokeFilter, p storage.Page) iter.Seq2[authz.Revoke, error] {
	read := func(st *state, after string, n int) []*authz.Revoke {
		return take(st.revokes.candidates(f, after), n, func(r *authz.Revoke) bool {
			return selects(f.UserID, r.UserID) && selects(f.Scope, r.Scope)
		})
	}
	return stream(ctx, s, []any{f, p}, p.After, p.Limit, read, func(r *authz.Revoke) string { return r.ID }, copyRevoke)
}

// candidates yields by id a range of one index that holds every match.
func (r *revokeRows) candidates(f storage.RevokeFilter, after string) iter.Seq[*authz.Revoke] {
	switch probe := (&authz.Revoke{ID: after}); {
	case f.UserID != nil:
		probe.UserID = *f.UserID
		return while(r.byUser.after(probe), func(row *authz.Revoke) bool { return row.UserID == *f.UserID })
	case f.Scope != nil:
		probe.Scope = *f.Scope
		return while(r.byScope.after(probe), func(row *authz.Revoke) bool { return row.Scope == *f.Scope })
	default:
		return r.byID.after(probe)
	}
}

func (s *store) GetRole(ctx context.Context, id string) (authz.Role, bool, error) {
	return get(ctx, s, func(st *state) *tree[*authz.Role] { return &st.roles }, &authz.Role{ID: id}, copyRole, id)
}

func (s *store) ListRoles(ctx context.Context, p storage.Page) iter.Seq2[authz.Role, error] {
	read := func(st *state, after string, n int) []*authz.Role {
		return take(st.roles.after(&authz.Role{ID: after}), n, all)
	}
	return stream(ctx, s, []any{p}, p.After, p.Limit, read, func(r *authz.Role) string { return r.ID }, copyRole)
}

func (s *store) GetRoles(ctx context.Context, ids []string) ([]authz.Role, error) {
	if err := s.usable(ctx, ids); err != nil {
		return nil, err
	}
	return s.now().rolesOf(ids), nil
}

// rolesOf returns the roles that exist, each once, by id.
func (st *state) rolesOf(ids []string) []authz.Role {
	var rows []authz.Role
	for _, id := range distinct(ids) {
		if row, found := st.roles.get(&authz.Role{ID: id}); found {
			rows = append(rows, copyRole(row))
		}
	}
	return rows
}

func distinct(values []string) []string {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

func (s *store) GetGroup(ctx context.Context, id string) (authz.Group, bool, error) {
	return get(ctx, s, func(st *state) *tree[*authz.Group] { return &st.groups }, &authz.Group{ID: id}, copyGroup, id)
}

func (s *store) ListGroups(ctx context.Context, p storage.Page) iter.Seq2[authz.Group, error] {
	read := func(st *state, after string, n int) []*authz.Group {
		return take(st.groups.after(&authz.Group{ID: after}), n, all)
	}
	return stream(ctx, s, []any{p}, p.After, p.Limit, read, func(r *authz.Group) string { return r.ID }, copyGroup)
}

func (s *store) GetUser(ctx context.Context, userID string) (authz.User, bool, error) {
	return get(ctx, s, func(st *state) *tree[*authz.User] { return &st.users.byID }, &authz.User{UserID: userID}, copyUser, userID)
}

func (s *store) ListUsers(ctx context.Context, f storage.UserFilter, p storage.Page) iter.Seq2[authz.User, error] {
	read := func(st *state, after string, n int) []*authz.User {
		return take(st.users.byID.after(&authz.User{UserID: after}), n, func(u *authz.User) bool {
			return selects(f.Active, u.Active) && selects(f.HasManager, u.ManagerUserID != "")
		})
	}
	return stream(ctx, s, []any{f, p}, p.After, p.Limit, read, func(u *authz.User) string { return u.UserID }, copyUser)
}

func (s *store) ListUsersInGroup(ctx context.Context, groupID string, p storage.Page) iter.Seq2[string, error] {
	read := func(st *state, after string, n int) []storage.Edge {
		members := while(st.users.edges.group.after(storage.Edge{Of: groupID, From: after}), func(m storage.Edge) bool { return m.Of == groupID })
		return take(members, n, all)
	}
	user := func(m storage.Edge) string { return m.From }
	return stream(ctx, s, []any{groupID, p}, p.After, p.Limit, read, user, user)
}

func (s *store) GetRequest(ctx context.Context, id string) (authz.Request, bool, error) {
	return get(ctx, s, func(st *state) *tree[*authz.Request] { return &st.requests.byID }, &authz.Request{ID: id}, copyRequest, id)
}

func (s *store) ListRequests(ctx context.Context, f storage.RequestFilter, p storage.RequestPage) iter.Seq2[authz.Request, error] {
	type position struct {
		At int64
		ID string
	}
	after := position{p.AfterCreatedAt, p.AfterID}
	start := position{At: math.MinInt64}
	read := func(st *state, after position, n int) []*authz.Request {
		if after.ID == "" {
			after = start
		}
		return take(st.requests.byCreated.after(&authz.Request{CreatedAt: after.At, ID: after.ID}), n, func(r *authz.Request) bool {
			return selects(f.State, r.State) && selects(f.RequesterUserID, r.RequesterUserID) &&
				selects(f.RoleID, r.RoleID) && (f.RoleID == nil || r.RoleID != "") && selects(f.Scope, r.Scope)
		})
	}
	return stream(ctx, s, []any{f, p}, after, p.Limit, read, func(r *authz.Request) position { return position{r.CreatedAt, r.ID} }, copyRequest)
}

func (s *store) GetScopeParents(ctx context.Context, scopes []string) (map[string][]string, error) {
	if err := s.usable(ctx, scopes); err != nil {
		return nil, err
	}
	if len(scopes) > storage.MaxScopes {
		return nil, storage.Errorf(storage.CodeTooLarge, "parents of %d scopes asked for, at most %d", len(scopes), storage.MaxScopes)
	}
	st, parents := s.now(), make(map[string][]string, len(scopes))
	for _, scope := range scopes {
		if row, found := st.scopes.byID.get(&scopeParents{scope: scope}); found {
			parents[scope] = append([]string{}, row.parents...)
		}
	}
	return parents, nil
}

func (s *store) GetRecord(ctx context.Context, collection, id string) (storage.Record, bool, error) {
	return get(ctx, s, func(st *state) *tree[*storage.Record] { return &st.records.byID },
		&storage.Record{Collection: collection, ID: id}, copyRecord, collection, id)
}

func (s *store) ListRecords(ctx context.Context, collection string, f storage.RecordFilter, p storage.Page) iter.Seq2[storage.Record, error] {
	read := func(st *state, after string, n int) []*storage.Record {
		probe := &storage.Record{Collection: collection, ID: after}
		if f.Index == 0 {
			return take(while(st.records.byID.after(probe), func(r *storage.Record) bool { return r.Collection == collection }), n, all)
		}
		probe.Keys[f.Index-1] = f.Value
		found := while(st.records.byKey.after(recordKey{f.Index, probe}), func(k recordKey) bool {
			return k.row.Collection == collection && k.n == f.Index && k.row.Keys[f.Index-1] == f.Value
		})
		rows := make([]*storage.Record, 0, min(n, 16))
		for _, k := range take(found, n, all) {
			rows = append(rows, k.row)
		}
		return rows
	}
	if f.Index < 0 || f.Index > len(storage.Record{}.Keys) {
		return refused[storage.Record](storage.Errorf(storage.CodeValidation, "a record has no index string %d", f.Index))
	}
	return stream(ctx, s, []any{collection, f, p}, p.After, p.Limit, read, func(r *storage.Record) string { return r.ID }, copyRecord)
}

// refused is a list that answers an error.
func refused[V any](err error) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		var none V
		yield(none, err)
	}
}

func all[R any](R) bool { return true }
