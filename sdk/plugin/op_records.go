package plugin

import (
	"context"
	"iter"

	"google.golang.org/grpc"

	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// Records.

func (s *storeClient) GetRecord(ctx context.Context, collection, id string) (storage.Record, bool, error) {
	a, err := read(ctx, s, s.rpc.GetRecord, &pluginv1.RecordKey{Store: s.handle, Collection: collection, Id: id})
	return one(a.GetRows(), err, infallible(decodeRecord))
}

func (s *storageServer) GetRecord(ctx context.Context, q *pluginv1.RecordKey) (*pluginv1.RecordRows, error) {
	return answer(s, q, func(store storage.Store) (*pluginv1.RecordRows, error) {
		row, found, err := store.GetRecord(ctx, q.GetCollection(), q.GetId())
		return maybe(row, found, err, infallible(encodeRecord), recordRows)
	})
}

func (s *storeClient) ListRecords(ctx context.Context, collection string, f storage.RecordFilter, p storage.Page) iter.Seq2[storage.Record, error] {
	q := &pluginv1.RecordQuery{Store: s.handle, Collection: collection, Index: int64(f.Index), Value: f.Value, Page: encodePage(p)}
	return list(ctx, s, s.rpc.ListRecords, q, infallible(decodeRecord))
}

func (s *storageServer) ListRecords(q *pluginv1.RecordQuery, st grpc.ServerStreamingServer[pluginv1.RecordRows]) error {
	return stream(s, q, st, func(store storage.Store) iter.Seq2[storage.Record, error] {
		filter := storage.RecordFilter{Index: int(q.GetIndex()), Value: q.GetValue()}
		return store.ListRecords(st.Context(), q.GetCollection(), filter, decodePage(q.GetPage()))
	}, infallible(encodeRecord), recordRows)
}

func recordRows(rows []*pluginv1.Record) *pluginv1.RecordRows {
	return &pluginv1.RecordRows{Rows: rows}
}
