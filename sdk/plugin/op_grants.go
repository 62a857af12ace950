package plugin

import (
	"context"
	"iter"

	"google.golang.org/grpc"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// Grants, revokes and roles.

func (s *storeClient) GetGrant(ctx context.Context, id string) (authz.Grant, bool, error) {
	a, err := read(ctx, s, s.rpc.GetGrant, &pluginv1.Key{Store: s.handle, Key: id})
	return one(a.GetRows(), err, infallible(decodeGrant))
}

func (s *storageServer) GetGrant(ctx context.Context, q *pluginv1.Key) (*pluginv1.GrantRows, error) {
	return answer(s, q, func(store storage.Store) (*pluginv1.GrantRows, error) {
		row, found, err := store.GetGrant(ctx, q.GetKey())
		return maybe(row, found, err, infallible(encodeGrant), grantRows)
	})
}

func (s *storeClient) ListGrants(ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
	return list(ctx, s, s.rpc.ListGrants, encodeGrantQuery(s.handle, f, p), infallible(decodeGrant))
}

func (s *storageServer) ListGrants(q *pluginv1.GrantQuery, st grpc.ServerStreamingServer[pluginv1.GrantRows]) error {
	return stream(s, q, st, func(store storage.Store) iter.Seq2[authz.Grant, error] {
		return store.ListGrants(st.Context(), decodeGrantFilter(q), decodePage(q.GetPage()))
	}, infallible(encodeGrant), grantRows)
}

func (s *storeClient) CountGrants(ctx context.Context, f storage.GrantFilter) (int64, error) {
	a, err := read(ctx, s, s.rpc.CountGrants, encodeGrantQuery(s.handle, f, storage.Page{}))
	return a.GetNumber(), err
}

func (s *storageServer) CountGrants(ctx context.Context, q *pluginv1.GrantQuery) (*pluginv1.Number, error) {
	return answer(s, q, func(store storage.Store) (*pluginv1.Number, error) {
		return number(store.CountGrants(ctx, decodeGrantFilter(q)))
	})
}

func (s *storeClient) GetRevoke(ctx context.Context, id string) (authz.Revoke, bool, error) {
	a, err := read(ctx, s, s.rpc.GetRevoke, &pluginv1.Key{Store: s.handle, Key: id})
	return one(a.GetRows(), err, infallible(decodeRevoke))
}

func (s *storageServer) GetRevoke(ctx context.Context, q *pluginv1.Key) (*pluginv1.RevokeRows, error) {
	return answer(s, q, func(store storage.Store) (*pluginv1.RevokeRows, error) {
		row, found, err := store.GetRevoke(ctx, q.GetKey())
		return maybe(row, found, err, infallible(encodeRevoke), revokeRows)
	})
}

func (s *storeClient) ListRevokes(ctx context.Context, f storage.RevokeFilter, p storage.Page) iter.Seq2[authz.Revoke, error] {
	q := &pluginv1.RevokeQuery{Store: s.handle, UserId: f.UserID, Scope: f.Scope, Page: encodePage(p)}
	return list(ctx, s, s.rpc.ListRevokes, q, infallible(decodeRevoke))
}

func (s *storageServer) ListRevokes(q *pluginv1.RevokeQuery, st grpc.ServerStreamingServer[pluginv1.RevokeRows]) error {
	return stream(s, q, st, func(store storage.Store) iter.Seq2[authz.Revoke, error] {
		return store.ListRevokes(st.Context(), storage.RevokeFilter{UserID: q.UserId, Scope: q.Scope}, decodePage(q.GetPage()))
	}, infallible(encodeRevoke), revokeRows)
}

func (s *storeClient) GetRole(ctx context.Context, id string) (authz.Role, bool, error) {
	a, err := read(ctx, s, s.rpc.GetRole, &pluginv1.Key{Store: s.handle, Key: id})
	return one(a.GetRows(), err, decodeRole)
}

func (s *storageServer) GetRole(ctx context.Context, q *pluginv1.Key) (*pluginv1.RoleRows, error) {
	return answer(s, q, func(store storage.Store) (*pluginv1.RoleRows, error) {
		row, found, err := store.GetRole(ctx, q.GetKey())
		return maybe(row, found, err, encodeRole, roleRows)
	})
}

func (s *storeClient) GetRoles(ctx context.Context, ids []string) ([]authz.Role, error) {
	a, err := read(ctx, s, s.rpc.GetRoles, &pluginv1.Keys{Store: s.handle, Keys: ids})
	if err != nil {
		return nil, err
	}
	roles, err := tryRows(a.GetRows(), decodeRole)
	return roles, unreadable(err, "")
}

func (s *storageServer) GetRoles(ctx context.Context, q *pluginv1.Keys) (*pluginv1.RoleRows, error) {
	return answer(s, q, func(store storage.Store) (*pluginv1.RoleRows, error) {
		roles, err := store.GetRoles(ctx, q.GetKeys())
		if err != nil {
			return nil, err
		}
		rows, err := tryRows(roles, encodeRole)
		return roleRows(rows), returned(err)
	})
}

func (s *storeClient) ListRoles(ctx context.Context, p storage.Page) iter.Seq2[authz.Role, error] {
	return list(ctx, s, s.rpc.ListRoles, &pluginv1.PageQuery{Store: s.handle, Page: encodePage(p)}, decodeRole)
}

func (s *storageServer) ListRoles(q *pluginv1.PageQuery, st grpc.ServerStreamingServer[pluginv1.RoleRows]) error {
	return stream(s, q, st, func(store storage.Store) iter.Seq2[authz.Role, error] {
		return store.ListRoles(st.Context(), decodePage(q.GetPage()))
	}, encodeRole, roleRows)
}

func grantRows(rows []*pluginv1.Grant) *pluginv1.GrantRows { return &pluginv1.GrantRows{Rows: rows} }
func revokeRows(rows []*pluginv1.Revoke) *pluginv1.RevokeRows {
	return &pluginv1.RevokeRows{Rows: rows}
}
func roleRows(rows []*pluginv1.Role) *pluginv1.RoleRows { return &pluginv1.RoleRows{Rows: rows} }
