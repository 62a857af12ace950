package plugin

import (
	"context"
	"iter"

	"google.golang.org/grpc"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// Access requests.

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

func requestRows(rows []*pluginv1.Request) *pluginv1.RequestRows {
	return &pluginv1.RequestRows{Rows: rows}
}
