package postgres

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// RecordMetrics adds up the batch first, so that each counter is one row of one
// statement, in an order that no other batch can meet head on.
func (s *store) RecordMetrics(ctx context.Context, deltas []storage.MetricBucket) error {
	if err := s.able(ctx, storage.CapMetrics); err != nil {
		return err
	}
	if err := seam.CheckBatch(deltas); err != nil {
		return err
	}
	sums := map[storage.MetricBucket]int64{}
	for _, delta := range deltas {
		if err := seam.CheckCounter(delta); err != nil {
			return err
		}
		key := delta
		key.Count = 0
		if sums[key] += delta.Count; !authz.ValidInstant(sums[key]) {
			return errCounter()
		}
	}
	if len(sums) == 0 {
		return nil
	}
	batch := make([]storage.MetricBucket, 0, len(sums))
	for key, sum := range sums {
		key.Count = sum
		batch = append(batch, key)
	}
	slices.SortFunc(batch, func(a, b storage.MetricBucket) int {
		return cmp.Or(cmp.Compare(a.Bucket, b.Bucket), strings.Compare(a.Dimension, b.Dimension),
			strings.Compare(a.Subject, b.Subject), strings.Compare(a.Metric, b.Metric))
	})
	var dimensions, subjects, metrics []string
	var buckets, counts []int64
	for _, b := range batch {
		buckets, dimensions, subjects = append(buckets, b.Bucket), append(dimensions, b.Dimension), append(subjects, b.Subject)
		metrics, counts = append(metrics, b.Metric), append(counts, b.Count)
	}
	return s.driver.transact(ctx, &transaction{steps: []step{{
		sql: `with added as (
				insert into "AuthzMetric" as t ("app", "bucket", "dimension", "subject", "metric", "count")
				select $1, n.* from unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[]) n
				on conflict ("app", "bucket", "dimension", "subject", "metric") do update set "count" = t."count" + excluded."count"
				where t."count" + excluded."count" <= $7::bigint
				returning 1)
			select 1 / (case when count(*) = $8::bigint then 1 else 0 end) from added`,
		args:    []any{s.partition, buckets, dimensions, subjects, metrics, counts, authz.MaxInstant, len(batch)},
		refused: func(context.Context) error { return errCounter() },
	}}})
}

func errCounter() error {
	return storage.Errorf(storage.CodeValidation, "a counter would pass 2^53−1")
}

func (s *store) ReadMetrics(ctx context.Context, f storage.MetricFilter) iter.Seq2[storage.MetricBucket, error] {
	check := s.able(ctx, storage.CapMetrics, f)
	if check == nil && f.Dimension == "" {
		check = storage.Errorf(storage.CodeValidation, "a read of counters names a dimension")
	}
	type bucket = storage.MetricBucket
	return stream(ctx, s, check, listing[bucket, bucket]{after: bucket{Bucket: math.MinInt64}, first: chunkRows,
		key: func(b bucket) bucket { return b },
		fetch: func(ctx context.Context, after bucket, n int) (chunk[bucket], error) {
			w := inPartition()
			w.and(`"dimension" = ?`, f.Dimension)
			if f.Subjects != nil {
				w.and(`"subject" = any(?::text[])`, f.Subjects)
			}
			if f.Since != nil {
				w.and(`"bucket" >= ?`, *f.Since)
			}
			if f.Until != nil {
				w.and(`"bucket" < ?`, *f.Until)
			}
			w.and(`("subject", "bucket", "metric") > (?, ?, ?)`, after.Subject, after.Bucket, after.Metric)
			w.then(`order by "subject", "bucket", "metric" limit ?`, n)
			return several(ctx, s, true, func(scan relational.Scan) (b bucket, err error) {
				return b, scan(&b.Bucket, &b.Dimension, &b.Subject, &b.Metric, &b.Count)
			}, `select "bucket", "dimension", "subject", "metric", "count" from "AuthzMetric"`+w.String(), w.args...)
		}})
}

// pruneRows is how many rows one statement of a prune deletes.
const pruneRows = 5000

func (s *store) PruneMetrics(ctx context.Context, before int64) (deleted int64, err error) {
	if err := s.able(ctx, storage.CapMetrics, before); err != nil {
		return 0, err
	}
	for {
		var n int64
		err := s.driver.transact(ctx, &transaction{steps: []step{{
			sql: `delete from "AuthzMetric" where "app" = $1 and "bucket" < $2 and ("bucket", "dimension", "subject", "metric") in
				(select "bucket", "dimension", "subject", "metric" from "AuthzMetric" where "app" = $1 and "bucket" < $2
				order by "bucket", "dimension", "subject", "metric" limit $3)`,
			args:     []any{s.partition, before, pruneRows},
			affected: func(rows int64) error { n = rows; return nil },
		}}})
		if deleted += n; err != nil || n < pruneRows {
			return deleted, relational.Unsettled(err, deleted > 0)
		}
	}
}
