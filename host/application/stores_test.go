package application_test

import (
	"context"
	"iter"
	"sync/atomic"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// faulty is a store whose calls a test can interrupt; nil members pass through.
type faulty struct {
	storage.Store
	commit        func(ctx context.Context, c storage.Commit) (storage.CommitResult, error)
	readAccess    func(ctx context.Context, q storage.AccessQuery) (storage.Access, error)
	recordMetrics func(ctx context.Context, deltas []storage.MetricBucket) error
	recordRead    func() // after GetRecord has read, before it answers
	listGroups    func()
	listRequests  iter.Seq2[authz.Request, error]
	commits       atomic.Int64
	groupReads    atomic.Int64
}

func (s *faulty) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	s.commits.Add(1)
	if s.commit != nil {
		return s.commit(ctx, c)
	}
	return s.Store.Commit(ctx, c)
}

func (s *faulty) ReadAccess(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
	if s.readAccess != nil {
		return s.readAccess(ctx, q)
	}
	return s.Store.ReadAccess(ctx, q)
}

func (s *faulty) RecordMetrics(ctx context.Context, deltas []storage.MetricBucket) error {
	if s.recordMetrics != nil {
		return s.recordMetrics(ctx, deltas)
	}
	return s.Store.RecordMetrics(ctx, deltas)
}

func (s *faulty) GetRecord(ctx context.Context, collection, id string) (storage.Record, bool, error) {
	row, found, err := s.Store.GetRecord(ctx, collection, id)
	if s.recordRead != nil {
		s.recordRead()
	}
	return row, found, err
}

func (s *faulty) ListGroups(ctx context.Context, p storage.Page) iter.Seq2[authz.Group, error] {
	s.groupReads.Add(1)
	if s.listGroups != nil {
		s.listGroups()
	}
	return s.Store.ListGroups(ctx, p)
}

func (s *faulty) ListRequests(ctx context.Context, f storage.RequestFilter, p storage.RequestPage) iter.Seq2[authz.Request, error] {
	if s.listRequests != nil {
		return s.listRequests
	}
	return s.Store.ListRequests(ctx, f, p)
}
