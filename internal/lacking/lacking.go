package lacking

import (
	"context"
	"iter"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// Driver is the driver as one that lacks capabilities.
func Driver(d storage.Driver, absent ...storage.Capability) storage.Driver { return &driver{d, absent} }

// Store is the store as one that lacks capabilities.
func Store(s storage.Store, absent ...storage.Capability) storage.Store { return &store{s, absent} }

type driver struct {
	storage.Driver
	absent storage.Capabilities
}

func (d *driver) Open(ctx context.Context, partition string) (storage.Store, error) {
	s, err := d.Driver.Open(ctx, partition)
	if err != nil {
		return nil, err
	}
	return &store{s, d.absent}, nil
}

type store struct {
	storage.Store
	absent storage.Capabilities
}

func (s *store) refuse(c storage.Capability) error {
	if s.absent.Has(c) {
		return storage.Unsupported(c)
	}
	return nil
}

func (s *store) Info() storage.StoreInfo {
	info := s.Store.Info()
	info.Capabilities = slices.DeleteFunc(slices.Clone(info.Capabilities), s.absent.Has)
	return info
}

func (s *store) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	needs := map[storage.Capability]bool{storage.CapEvents: len(c.Events) > 0}
	for _, r := range c.Requires {
		switch r.(type) {
		case storage.RequireRecord:
			needs[storage.CapRecords] = true
		case storage.RequireHead:
			needs[storage.CapEvents] = true
		}
	}
	for _, change := range c.Changes {
		switch change.(type) {
		case storage.PutImports:
			needs[storage.CapImports] = true
		case storage.PutScopeParents, storage.DeleteScopeParents:
			needs[storage.CapAncestry] = true
		case storage.PutRecord, storage.DeleteRecord:
			needs[storage.CapRecords] = true
		}
	}
	for capability, needed := range needs {
		if err := s.refuse(capability); needed && err != nil {
			return storage.CommitResult{}, err
		}
	}
	return s.Store.Commit(ctx, c)
}

func (s *store) ReadAccess(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
	if err := s.refuse(storage.CapExpand); q.Expand && err != nil {
		return storage.Access{}, err
	}
	if err := s.refuse(storage.CapAncestors); q.Scope != "" && err != nil {
		return storage.Access{}, err
	}
	a, err := s.Store.ReadAccess(ctx, q)
	if s.absent.Has(storage.CapEvents) {
		a.Head = authz.Position{}
	}
	return a, err
}

func guarded[T any](s *store, c storage.Capability, call func() (T, error)) (T, error) {
	if err := s.refuse(c); err != nil {
		var none T
		return none, err
	}
	return call()
}

func guardedList[T any](s *store, c storage.Capability, list iter.Seq2[T, error]) iter.Seq2[T, error] {
	if err := s.refuse(c); err != nil {
		return func(yield func(T, error) bool) {
			var none T
			yield(none, err)
		}
	}
	return list
}

func (s *store) Head(ctx context.Context) (authz.Position, error) {
	return guarded(s, storage.CapEvents, func() (authz.Position, error) { return s.Store.Head(ctx) })
}

func (s *store) EventsSince(ctx context.Context, after authz.Position, limit int) (storage.EventPage, error) {
	return guarded(s, storage.CapEvents, func() (storage.EventPage, error) { return s.Store.EventsSince(ctx, after, limit) })
}

func (s *store) PruneEvents(ctx context.Context, p storage.PruneEvents) (int64, error) {
	return guarded(s, storage.CapEvents, func() (int64, error) { return s.Store.PruneEvents(ctx, p) })
}

func (s *store) Watch(ctx context.Context) iter.Seq2[int64, error] {
	return guardedList(s, storage.CapWatch, s.Store.Watch(ctx))
}

func (s *store) RecordMetrics(ctx context.Context, deltas []storage.MetricBucket) error {
	if err := s.refuse(storage.CapMetrics); err != nil {
		return err
	}
	return s.Store.RecordMetrics(ctx, deltas)
}

func (s *store) ReadMetrics(ctx context.Context, f storage.MetricFilter) iter.Seq2[storage.MetricBucket, error] {
	return guardedList(s, storage.CapMetrics, s.Store.ReadMetrics(ctx, f))
}

func (s *store) PruneMetrics(ctx context.Context, before int64) (int64, error) {
	return guarded(s, storage.CapMetrics, func() (int64, error) { return s.Store.PruneMetrics(ctx, before) })
}

func (s *store) GetCatalogVersion(ctx context.Context, version int64) (row storage.CatalogVersion, found bool, err error) {
	if err := s.refuse(storage.CapHistory); err != nil {
		return row, false, err
	}
	return s.Store.GetCatalogVersion(ctx, version)
}

func (s *store) ListCatalogVersions(ctx context.Context) iter.Seq2[storage.CatalogVersion, error] {
	return guardedList(s, storage.CapHistory, s.Store.ListCatalogVersions(ctx))
}

func (s *store) GetImports(ctx context.Context) (row storage.ImportsHead, found bool, err error) {
	if err := s.refuse(storage.CapImports); err != nil {
		return row, false, err
	}
	return s.Store.GetImports(ctx)
}

func (s *store) GetScopeParents(ctx context.Context, scopes []string) (map[string][]string, error) {
	return guarded(s, storage.CapAncestry, func() (map[string][]string, error) { return s.Store.GetScopeParents(ctx, scopes) })
}

func (s *store) GetRecord(ctx context.Context, collection, id string) (row storage.Record, found bool, err error) {
	if err := s.refuse(storage.CapRecords); err != nil {
		return row, false, err
	}
	return s.Store.GetRecord(ctx, collection, id)
}

func (s *store) ListRecords(ctx context.Context, collection string, f storage.RecordFilter, p storage.Page) iter.Seq2[storage.Record, error] {
	return guardedList(s, storage.CapRecords, s.Store.ListRecords(ctx, collection, f, p))
}

func (s *store) GetRoles(ctx context.Context, ids []string) (rows []authz.Role, err error) {
	return guarded(s, storage.CapBatchRoles, func() ([]authz.Role, error) { return s.Store.GetRoles(ctx, ids) })
}
