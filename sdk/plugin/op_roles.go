package plugin

import (
	"context"
	"iter"

	"google.golang.org/grpc"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// Roles.

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

func roleRows(rows []*pluginv1.Role) *pluginv1.RoleRows {
	return &pluginv1.RoleRows{Rows: rows}
}
