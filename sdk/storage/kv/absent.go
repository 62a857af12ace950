package kv

import (
	"context"
	"iter"

	"github.com/authzhost/authz/sdk/storage"
)

// What the driver does not declare it refuses; the host does without.

func (s *store) GetCatalogVersion(context.Context, int64) (storage.CatalogVersion, bool, error) {
	return storage.CatalogVersion{}, false, storage.Unsupported(storage.CapHistory)
}

func (s *store) ListCatalogVersions(context.Context) iter.Seq2[storage.CatalogVersion, error] {
	return failing[storage.CatalogVersion](storage.Unsupported(storage.CapHistory))
}

func (s *store) RecordMetrics(context.Context, []storage.MetricBucket) error {
	return storage.Unsupported(storage.CapMetrics)
}

func (s *store) ReadMetrics(context.Context, storage.MetricFilter) iter.Seq2[storage.MetricBucket, error] {
	return failing[storage.MetricBucket](storage.Unsupported(storage.CapMetrics))
}

func (s *store) PruneMetrics(context.Context, int64) (int64, error) {
	return 0, storage.Unsupported(storage.CapMetrics)
}

func (s *store) Watch(context.Context) iter.Seq2[int64, error] {
	return failing[int64](storage.Unsupported(storage.CapWatch))
}

func failing[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) { yield(*new(T), err) }
}
