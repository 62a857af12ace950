package plugin

import (
	"context"
	"iter"

	"google.golang.org/grpc"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// The log of invalidation events, and counters.

func (s *storeClient) Head(ctx context.Context) (authz.Position, error) {
	a, err := read(ctx, s, s.rpc.HeadSeq, &pluginv1.Whole{Store: s.handle})
	return authz.Position{Seq: a.GetSeq(), Identity: a.GetIdentity()}, err
}

func (s *storageServer) HeadSeq(ctx context.Context, q *pluginv1.Whole) (*pluginv1.Position, error) {
	return answer(s, q, func(store storage.Store) (*pluginv1.Position, error) {
		head, err := store.Head(ctx)
		return &pluginv1.Position{Seq: head.Seq, Identity: head.Identity}, err
	})
}

func (s *storeClient) EventsSince(ctx context.Context, after authz.Position, limit int) (storage.EventPage, error) {
	a, err := read(ctx, s, s.rpc.EventsSince, &pluginv1.EventQuery{Store: s.handle, Seq: after.Seq, Identity: after.Identity, Limit: int64(limit)})
	return decodeEventPage(a), err
}

func (s *storageServer) EventsSince(ctx context.Context, q *pluginv1.EventQuery) (*pluginv1.EventPage, error) {
	return answer(s, q, func(store storage.Store) (*pluginv1.EventPage, error) {
		page, err := store.EventsSince(ctx, authz.Position{Seq: q.GetSeq(), Identity: q.GetIdentity()}, int(q.GetLimit()))
		return encodeEventPage(page), err
	})
}

func (s *storeClient) PruneEvents(ctx context.Context, p storage.PruneEvents) (int64, error) {
	a, err := write(ctx, s, s.rpc.PruneEvents, &pluginv1.PruneEventsRequest{Store: s.handle, Before: p.Before, KeepRows: p.KeepRows})
	return a.GetNumber(), err
}

func (s *storageServer) PruneEvents(ctx context.Context, q *pluginv1.PruneEventsRequest) (*pluginv1.Number, error) {
	return apply(s, q, func(store storage.Store) (*pluginv1.Number, error) {
		return number(store.PruneEvents(ctx, storage.PruneEvents{Before: q.Before, KeepRows: q.KeepRows}))
	})
}

func (s *storeClient) RecordMetrics(ctx context.Context, deltas []storage.MetricBucket) error {
	_, err := write(ctx, s, s.rpc.RecordMetrics, &pluginv1.MetricDeltas{Store: s.handle, Rows: mapRows(deltas, encodeBucket)})
	return err
}

func (s *storageServer) RecordMetrics(ctx context.Context, q *pluginv1.MetricDeltas) (*pluginv1.Empty, error) {
	return apply(s, q, func(store storage.Store) (*pluginv1.Empty, error) {
		return &pluginv1.Empty{}, store.RecordMetrics(ctx, mapRows(q.GetRows(), decodeBucket))
	})
}

func (s *storeClient) ReadMetrics(ctx context.Context, f storage.MetricFilter) iter.Seq2[storage.MetricBucket, error] {
	return list(ctx, s, s.rpc.ReadMetrics, encodeMetricQuery(s.handle, f), infallible(decodeBucket))
}

func (s *storageServer) ReadMetrics(q *pluginv1.MetricQuery, st grpc.ServerStreamingServer[pluginv1.MetricRows]) error {
	return stream(s, q, st, func(store storage.Store) iter.Seq2[storage.MetricBucket, error] {
		return store.ReadMetrics(st.Context(), decodeMetricQuery(q))
	}, infallible(encodeBucket), metricRows)
}

func (s *storeClient) PruneMetrics(ctx context.Context, before int64) (int64, error) {
	a, err := write(ctx, s, s.rpc.PruneMetrics, &pluginv1.NumberQuery{Store: s.handle, Number: before})
	return a.GetNumber(), err
}

func (s *storageServer) PruneMetrics(ctx context.Context, q *pluginv1.NumberQuery) (*pluginv1.Number, error) {
	return apply(s, q, func(store storage.Store) (*pluginv1.Number, error) {
		return number(store.PruneMetrics(ctx, q.GetNumber()))
	})
}

func metricRows(rows []*pluginv1.MetricBucket) *pluginv1.MetricRows {
	return &pluginv1.MetricRows{Rows: rows}
}
