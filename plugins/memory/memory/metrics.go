package memory

import (
	"context"
	"iter"
	"math"
	"slices"

	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func (s *store) RecordMetrics(ctx context.Context, deltas []storage.MetricBucket) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	if err := seam.CheckCounters(deltas); err != nil {
		return err
	}
	return s.partition.write(ctx, nil, func(d *draft) (bool, error) {
		for _, delta := range deltas {
			if old, found := d.metrics.get(&delta); found {
				delta.Count += old.Count
			}
			if !authz.ValidInstant(delta.Count) {
				return false, storage.Errorf(storage.CodeValidation, "a counter would pass 2^53−1")
			}
			d.metrics.set(d.edit, &delta)
		}
		return len(deltas) > 0, nil
	})
}

func (s *store) ReadMetrics(ctx context.Context, f storage.MetricFilter) iter.Seq2[storage.MetricBucket, error] {
	if f.Dimension == "" {
		return refused[storage.MetricBucket](storage.Errorf(storage.CodeValidation, "a read of counters names a dimension"))
	}
	subjects := distinct(f.Subjects)
	first := int64(math.MinInt64)
	if f.Since != nil {
		first = *f.Since
	}
	read := func(st *state, after storage.MetricBucket, n int) []*storage.MetricBucket {
		inRange := func(b *storage.MetricBucket) bool {
			return b.Bucket >= first && (f.Until == nil || b.Bucket < *f.Until)
		}
		if f.Subjects == nil {
			return take(while(st.metrics.after(&after), func(b *storage.MetricBucket) bool { return b.Dimension == f.Dimension }), n, inRange)
		}
		var rows []*storage.MetricBucket
		from, _ := slices.BinarySearch(subjects, after.Subject)
		for _, subject := range subjects[from:] {
			probe := after
			if subject != after.Subject {
				probe = storage.MetricBucket{Dimension: f.Dimension, Subject: subject, Bucket: math.MinInt64}
			}
			within := while(st.metrics.after(&probe), func(b *storage.MetricBucket) bool {
				return b.Dimension == f.Dimension && b.Subject == subject
			})
			if rows = append(rows, take(within, n-len(rows), inRange)...); len(rows) == n {
				break
			}
		}
		return rows
	}
	start := storage.MetricBucket{Dimension: f.Dimension, Bucket: math.MinInt64}
	return stream(ctx, s, []any{f}, start, 0, read,
		func(b *storage.MetricBucket) storage.MetricBucket { return *b },
		func(b *storage.MetricBucket) storage.MetricBucket { return *b })
}

func (s *store) PruneMetrics(ctx context.Context, before int64) (deleted int64, err error) {
	if err := s.usable(ctx, before); err != nil {
		return 0, err
	}
	err = s.partition.write(ctx, nil, func(d *draft) (bool, error) {
		old := take(d.metrics.all(), math.MaxInt, func(b *storage.MetricBucket) bool { return b.Bucket < before })
		for _, b := range old {
			d.metrics.remove(d.edit, b)
		}
		deleted = int64(len(old))
		return deleted > 0, nil
	})
	if err != nil {
		return 0, err
	}
	return deleted, nil
}
