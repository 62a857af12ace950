package store

import (
	"context"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func (m *metered) GetCatalog(ctx context.Context) (storage.CatalogHead, bool, error) {
	return measureOne(ctx, m, "GetCatalog", struct{}{}, func(ctx context.Context, _ struct{}) (storage.CatalogHead, bool, error) {
		return m.Store.GetCatalog(ctx)
	})
}

func (m *metered) GetCatalogVersion(ctx context.Context, version int64) (storage.CatalogVersion, bool, error) {
	return measureOne(ctx, m, "GetCatalogVersion", version, m.Store.GetCatalogVersion)
}

func (m *metered) ListCatalogVersions(ctx context.Context) iter.Seq2[storage.CatalogVersion, error] {
	return measureRows(ctx, m, "ListCatalogVersions", m.Store.ListCatalogVersions)
}

func (m *metered) GetImports(ctx context.Context) (storage.ImportsHead, bool, error) {
	return measureOne(ctx, m, "GetImports", struct{}{}, func(ctx context.Context, _ struct{}) (storage.ImportsHead, bool, error) {
		return m.Store.GetImports(ctx)
	})
}

func (m *metered) ListAudit(ctx context.Context, f storage.AuditFilter) iter.Seq2[authz.AuditEntry, error] {
	return measureRows(ctx, m, "ListAudit", func(ctx context.Context) iter.Seq2[authz.AuditEntry, error] { return m.Store.ListAudit(ctx, f) })
}

func (m *metered) Head(ctx context.Context) (authz.Position, error) {
	return measure(ctx, m, "Head", m.Store.Head)
}

func (m *metered) EventsSince(ctx context.Context, after authz.Position, limit int) (storage.EventPage, error) {
	return measure(ctx, m, "EventsSince", func(ctx context.Context) (storage.EventPage, error) { return m.Store.EventsSince(ctx, after, limit) })
}

func (m *metered) PruneEvents(ctx context.Context, p storage.PruneEvents) (int64, error) {
	return measure(ctx, m, "PruneEvents", func(ctx context.Context) (int64, error) { return m.Store.PruneEvents(ctx, p) })
}

func (m *metered) RecordMetrics(ctx context.Context, deltas []storage.MetricBucket) error {
	_, err := measure(ctx, m, "RecordMetrics", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, m.Store.RecordMetrics(ctx, deltas)
	})
	return err
}

func (m *metered) ReadMetrics(ctx context.Context, f storage.MetricFilter) iter.Seq2[storage.MetricBucket, error] {
	return measureRows(ctx, m, "ReadMetrics", func(ctx context.Context) iter.Seq2[storage.MetricBucket, error] { return m.Store.ReadMetrics(ctx, f) })
}

func (m *metered) PruneMetrics(ctx context.Context, before int64) (int64, error) {
	return measure(ctx, m, "PruneMetrics", func(ctx context.Context) (int64, error) { return m.Store.PruneMetrics(ctx, before) })
}

func (m *metered) GetScopeParents(ctx context.Context, scopes []string) (map[string][]string, error) {
	return measure(ctx, m, "GetScopeParents", func(ctx context.Context) (map[string][]string, error) {
		return m.Store.GetScopeParents(ctx, scopes)
	})
}

func (m *metered) GetRecord(ctx context.Context, collection, id string) (storage.Record, bool, error) {
	return measureOne(ctx, m, "GetRecord", id, func(ctx context.Context, id string) (storage.Record, bool, error) {
		return m.Store.GetRecord(ctx, collection, id)
	})
}

func (m *metered) ListRecords(ctx context.Context, collection string, f storage.RecordFilter, p storage.Page) iter.Seq2[storage.Record, error] {
	return measureRows(ctx, m, "ListRecords", func(ctx context.Context) iter.Seq2[storage.Record, error] {
		return m.Store.ListRecords(ctx, collection, f, p)
	})
}

func (m *metered) ReadAccess(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
	return measure(ctx, m, "ReadAccess", func(ctx context.Context) (storage.Access, error) { return m.Store.ReadAccess(ctx, q) })
}

func (m *metered) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	return measure(ctx, m, "Commit", func(ctx context.Context) (storage.CommitResult, error) { return m.Store.Commit(ctx, c) })
}

func (m *metered) GetCommit(ctx context.Context, id string) (storage.CommitResult, bool, error) {
	return measureOne(ctx, m, "GetCommit", id, m.Store.GetCommit)
}

// Acquire's time is mostly that of waiting for whoever holds the section.
func (m *metered) Acquire(ctx context.Context, key string) (storage.Section, error) {
	return measure(ctx, m, "Acquire", func(ctx context.Context) (storage.Section, error) { return m.Store.Acquire(ctx, key) })
}
