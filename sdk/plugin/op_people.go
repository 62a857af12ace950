package plugin

import (
	"context"
	"iter"

	"google.golang.org/grpc"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// Groups, users and access requests.

func (s *storeClient) GetGroup(ctx context.Context, id string) (authz.Group, bool, error) {
	a, err := read(ctx, s, s.rpc.GetGroup, &pluginv1.Key{Store: s.handle, Key: id})
	return one(a.GetRows(), err, infallible(decodeGroup))
}

func (s *storageServer) GetGroup(ctx context.Context, q *pluginv1.Key) (*pluginv1.GroupRows, error) {
	return answer(s, q, func(store storage.Store) (*pluginv1.GroupRows, error) {
		row, found, err := store.GetGroup(ctx, q.GetKey())
		return maybe(row, found, err, infallible(encodeGroup), groupRows)
	})
}

func (s *storeClient) ListGroups(ctx context.Context, p storage.Page) iter.Seq2[authz.Group, error] {
	return list(ctx, s, s.rpc.ListGroups, &pluginv1.PageQuery{Store: s.handle, Page: encodePage(p)}, infallible(decodeGroup))
}

func (s *storageServer) ListGroups(q *pluginv1.PageQuery, st grpc.ServerStreamingServer[pluginv1.GroupRows]) error {
	return stream(s, q, st, func(store storage.Store) iter.Seq2[authz.Group, error] {
		return store.ListGroups(st.Context(), decodePage(q.GetPage()))
	}, infallible(encodeGroup), groupRows)
}

func (s *storeClient) GetUser(ctx context.Context, userID string) (authz.User, bool, error) {
	a, err := read(ctx, s, s.rpc.GetUser, &pluginv1.Key{Store: s.handle, Key: userID})
	return one(a.GetRows(), err, infallible(decodeUser))
}

func (s *storageServer) GetUser(ctx context.Context, q *pluginv1.Key) (*pluginv1.UserRows, error) {
	return answer(s, q, func(store storage.Store) (*pluginv1.UserRows, error) {
		row, found, err := store.GetUser(ctx, q.GetKey())
		return maybe(row, found, err, infallible(encodeUser), userRows)
	})
}

func (s *storeClient) ListUsers(ctx context.Context, f storage.UserFilter, p storage.Page) iter.Seq2[authz.User, error] {
	q := &pluginv1.UserQuery{Store: s.handle, Active: f.Active, HasManager: f.HasManager, Page: encodePage(p)}
	return list(ctx, s, s.rpc.ListUsers, q, infallible(decodeUser))
}

func (s *storageServer) ListUsers(q *pluginv1.UserQuery, st grpc.ServerStreamingServer[pluginv1.UserRows]) error {
	return stream(s, q, st, func(store storage.Store) iter.Seq2[authz.User, error] {
		return store.ListUsers(st.Context(), storage.UserFilter{Active: q.Active, HasManager: q.HasManager}, decodePage(q.GetPage()))
	}, infallible(encodeUser), userRows)
}

func (s *storeClient) ListUsersInGroup(ctx context.Context, groupID string, p storage.Page) iter.Seq2[string, error] {
	q := &pluginv1.GroupQuery{Store: s.handle, GroupId: groupID, Page: encodePage(p)}
	return list(ctx, s, s.rpc.ListUsersInGroup, q,
		func(id string) (string, error) { return id, nil })
}

func (s *storageServer) ListUsersInGroup(q *pluginv1.GroupQuery, st grpc.ServerStreamingServer[pluginv1.IdRows]) error {
	return stream(s, q, st, func(store storage.Store) iter.Seq2[string, error] {
		return store.ListUsersInGroup(st.Context(), q.GetGroupId(), decodePage(q.GetPage()))
	}, func(id string) (string, error) { return id, nil }, idRows)
}

func (s *storeClient) GetRequest(ctx context.Context, id string) (authz.Request, bool, error) {
	a, err := read(ctx, s, s.rpc.GetRequest, &pluginv1.Key{Store: s.handle, Key: id})
	return one(a.GetRows(), err, decodeRequest)
}

func (s *storageServer) GetRequest(ctx context.Context, q *pluginv1.Key) (*pluginv1.RequestRows, error) {
	return answer(s, q, func(store storage.Store) (*pluginv1.RequestRows, error) {
		row, found, err := store.GetRequest(ctx, q.GetKey())
		return maybe(row, found, err, encodeRequest, requestRows)
	})
}

func (s *storeClient) ListRequests(ctx context.Context, f storage.RequestFilter, p storage.RequestPage) iter.Seq2[authz.Request, error] {
	return list(ctx, s, s.rpc.ListRequests, encodeRequestQuery(s.handle, f, p), decodeRequest)
}

func (s *storageServer) ListRequests(q *pluginv1.RequestQuery, st grpc.ServerStreamingServer[pluginv1.RequestRows]) error {
	return stream(s, q, st, func(store storage.Store) iter.Seq2[authz.Request, error] {
		filter, page := decodeRequestQuery(q)
		return store.ListRequests(st.Context(), filter, page)
	}, encodeRequest, requestRows)
}

func groupRows(rows []*pluginv1.Group) *pluginv1.GroupRows { return &pluginv1.GroupRows{Rows: rows} }
func userRows(rows []*pluginv1.User) *pluginv1.UserRows    { return &pluginv1.UserRows{Rows: rows} }
func requestRows(rows []*pluginv1.Request) *pluginv1.RequestRows {
	return &pluginv1.RequestRows{Rows: rows}
}
func idRows(ids []string) *pluginv1.IdRows { return &pluginv1.IdRows{Rows: ids} }
