package sqlite

import (
	"context"
	"iter"
	"math"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	addMetric = `INSERT INTO "AuthzMetric" ("app", "bucket", "dimension", "subject", "metric", "count") VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT ("app", "bucket", "dimension", "subject", "metric") DO UPDATE SET "count" = "count" + excluded."count" RETURNING "count"`
	deleteMetrics = `DELETE FROM "AuthzMetric" WHERE "app" = ?1 AND ("bucket", "dimension", "subject", "metric") IN
		(SELECT "bucket", "dimension", "subject", "metric" FROM "AuthzMetric" WHERE "app" = ?1 AND "bucket" < ?2 LIMIT ?3)`
)

func (s *store) RecordMetrics(ctx context.Context, deltas []storage.MetricBucket) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	if err := seam.CheckCounters(deltas); err != nil {
		return err
	}
	if len(deltas) == 0 {
		return nil
	}
	return s.write(ctx, func(w *work) error {
		for _, d := range deltas {
			var count int64
			if _, err := w.one(addMetric, []any{s.app, d.Bucket, d.Dimension, d.Subject, d.Metric, d.Count}, &count); err != nil {
				return err
			}
			if !authz.ValidInstant(count) {
				return storage.Errorf(storage.CodeValidation, "a counter would pass 2^53−1")
			}
		}
		return nil
	})
}

func (s *store) ReadMetrics(ctx context.Context, f storage.MetricFilter) iter.Seq2[storage.MetricBucket, error] {
	if f.Dimension == "" {
		return refused[storage.MetricBucket](storage.Errorf(storage.CodeValidation, "a read of counters names a dimension"))
	}
	if f.Subjects != nil && len(f.Subjects) == 0 {
		return empty[storage.MetricBucket](ctx, s, 0, f)
	}
	subjects, err := listOf(f.Subjects)
	if err != nil {
		return refused[storage.MetricBucket](err)
	}
	itself := func(b storage.MetricBucket) storage.MetricBucket { return b }
	return stream(ctx, s, list[storage.MetricBucket, storage.MetricBucket]{
		arguments: []any{f}, after: storage.MetricBucket{Bucket: math.MinInt64}, key: itself,
		scan: func(scan relational.Scan) (b storage.MetricBucket, err error) {
			return b, scan(&b.Bucket, &b.Dimension, &b.Subject, &b.Metric, &b.Count)
		},
		chunk: func(after storage.MetricBucket, limit int) *query {
			q := s.selecting(`"bucket", "dimension", "subject", "metric", "count"`, relational.MetricTable, "dimension_subject")
			q.and(`"dimension" = ?`, f.Dimension)
			if f.Subjects != nil {
				q.and(inSubjects, subjects)
			}
			if f.Since != nil {
				q.and(`"bucket" >= ?`, *f.Since)
			}
			if f.Until != nil {
				q.and(`"bucket" < ?`, *f.Until)
			}
			if after.Bucket != math.MinInt64 {
				q.and(`("subject", "bucket", "metric") > (?, ?, ?)`, after.Subject, after.Bucket, after.Metric)
			}
			q.page(`"subject", "bucket", "metric"`, limit)
			return q
		},
	})
}

func (s *store) PruneMetrics(ctx context.Context, before int64) (deleted int64, err error) {
	if err := s.usable(ctx, before); err != nil {
		return 0, err
	}
	for {
		var n int64
		err := s.write(ctx, func(w *work) (err error) {
			n, err = w.exec(deleteMetrics, s.app, before, prunePiece)
			return err
		})
		if err != nil {
			return deleted, relational.Unsettled(err, deleted > 0)
		}
		if deleted += n; n < prunePiece {
			return deleted, nil
		}
	}
}
