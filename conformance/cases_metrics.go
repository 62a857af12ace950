package conformance

import (
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func bucket(at int64, dimension, subject, metric string, count int64) storage.MetricBucket {
	return storage.MetricBucket{Bucket: at, Dimension: dimension, Subject: subject, Metric: metric, Count: count}
}

func (s *named) count(deltas ...storage.MetricBucket) {
	if err := s.RecordMetrics(s.w.ctx, deltas); err != nil {
		s.w.Fatalf("recordMetrics: %v", err)
	}
}

// metrics compares an answer whatever its order.
func (s *named) metrics(f storage.MetricFilter, want ...storage.MetricBucket) {
	less := func(a, b storage.MetricBucket) bool {
		return a.Subject+"\x00"+a.Metric < b.Subject+"\x00"+b.Metric || a.Subject == b.Subject && a.Metric == b.Metric && a.Bucket < b.Bucket
	}
	if diff := cmp.Diff(want, rows(s.w, s.ReadMetrics(s.w.ctx, f)), cmpopts.SortSlices(less), cmpopts.EquateEmpty()); diff != "" {
		s.w.Fatalf("differs (-want +got):\n%s", diff)
	}
}

func (s *named) pruneMetrics(before int64) int64 {
	n, err := s.PruneMetrics(s.w.ctx, before)
	if err != nil {
		s.w.Fatalf("pruneMetrics: %v", err)
	}
	return n
}

var metricCases = []storageCase{
	{ID: "M01", Rule: "recording 3, then 4 under one key gives 7, also within one batch", Needs: storage.Capabilities{storage.CapMetrics}, run: func(w *world) {
		w.count(bucket(0, "grant", "g", "matched", 3))
		w.count(bucket(0, "grant", "g", "matched", 4))
		w.metrics(storage.MetricFilter{Dimension: "grant"}, bucket(0, "grant", "g", "matched", 7))
		w.count(bucket(0, "role", "r", "matched", 1), bucket(0, "role", "r", "matched", 1))
		w.metrics(storage.MetricFilter{Dimension: "role"}, bucket(0, "role", "r", "matched", 2))
	}},
	{ID: "M02", Rule: "another metric, bucket, dimension or subject is another counter", Needs: storage.Capabilities{storage.CapMetrics}, run: func(w *world) {
		w.count(bucket(0, "grant", "g", "matched", 1), bucket(0, "grant", "g", "soleMatch", 2), bucket(5, "grant", "g", "matched", 3),
			bucket(0, "role", "g", "matched", 4), bucket(0, "grant", "h", "matched", 5))
		w.metrics(storage.MetricFilter{Dimension: "grant"}, bucket(0, "grant", "g", "matched", 1), bucket(0, "grant", "g", "soleMatch", 2),
			bucket(5, "grant", "g", "matched", 3), bucket(0, "grant", "h", "matched", 5))
		w.metrics(storage.MetricFilter{Dimension: "role"}, bucket(0, "role", "g", "matched", 4))
	}},
	{ID: "M03", Rule: "reads by dimension and subjects are exact; an empty list selects nothing", Needs: storage.Capabilities{storage.CapMetrics}, run: func(w *world) {
		w.count(bucket(0, "grant", "a", "matched", 1), bucket(0, "grant", "b", "matched", 2), bucket(0, "grant", "c", "matched", 3), bucket(9, "grant", "c", "matched", 4))
		w.metrics(storage.MetricFilter{Dimension: "grant", Subjects: []string{"c", "a", "c", "x"}},
			bucket(0, "grant", "a", "matched", 1), bucket(0, "grant", "c", "matched", 3), bucket(9, "grant", "c", "matched", 4))
		w.metrics(storage.MetricFilter{Dimension: "grant", Subjects: []string{}})
		w.metrics(storage.MetricFilter{Dimension: "gran"})
		w.code(storage.CodeValidation, listError(w.ReadMetrics(w.ctx, storage.MetricFilter{})))
	}},
	{ID: "M03b", Rule: "reads go on beyond one chunk", Needs: storage.Capabilities{storage.CapMetrics}, run: func(w *world) {
		var want []storage.MetricBucket
		for i := range int64(2500) {
			want = append(want, bucket(i, "grant", []string{"a", "b", "c"}[i%3], "matched", i))
		}
		w.count(want...)
		w.metrics(storage.MetricFilter{Dimension: "grant"}, want...)
		w.metrics(storage.MetricFilter{Dimension: "grant", Subjects: []string{"c", "b", "a"}}, want...)
	}},
	{ID: "M04", Rule: "since is inclusive and until exclusive", Needs: storage.Capabilities{storage.CapMetrics}, run: func(w *world) {
		for _, at := range []int64{-10, 0, 10, 20} {
			w.count(bucket(at, "grant", "g", "matched", 1))
		}
		w.metrics(storage.MetricFilter{Dimension: "grant", Since: ptr(int64(0)), Until: ptr(int64(20))},
			bucket(0, "grant", "g", "matched", 1), bucket(10, "grant", "g", "matched", 1))
		w.metrics(storage.MetricFilter{Dimension: "grant", Subjects: []string{"g"}, Since: ptr(int64(20))}, bucket(20, "grant", "g", "matched", 1))
	}},
	{ID: "M05", Rule: "pruning at a boundary deletes earlier buckets only and counts them", Needs: storage.Capabilities{storage.CapMetrics}, run: func(w *world) {
		for _, at := range []int64{0, 10, 20} {
			w.count(bucket(at, "grant", "g", "matched", 1), bucket(at, "role", "g", "matched", 1))
		}
		w.same(int64(0), w.pruneMetrics(0))
		w.same(int64(2), w.pruneMetrics(10))
		w.same(int64(0), w.pruneMetrics(10))
		w.metrics(storage.MetricFilter{Dimension: "grant"}, bucket(10, "grant", "g", "matched", 1), bucket(20, "grant", "g", "matched", 1))
	}},
	{ID: "M06", Rule: "two stores incrementing one key 100 times each reach 200", Needs: storage.Capabilities{storage.CapMetrics}, run: func(w *world) {
		stores := []*named{w.named, w.another("")}
		w.Each(2, func(i int) {
			for range 100 {
				if err := stores[i].RecordMetrics(w.ctx, []storage.MetricBucket{bucket(0, "grant", "g", "matched", 1)}); err != nil {
					w.Errorf("record: %v", err)
				}
			}
		})
		w.metrics(storage.MetricFilter{Dimension: "grant"}, bucket(0, "grant", "g", "matched", 200))
	}},
	{ID: "M07", Rule: "keys whose texts concatenate alike are never merged", Needs: storage.Capabilities{storage.CapMetrics}, run: func(w *world) {
		for _, sep := range []string{":", "|", "/"} {
			w.count(bucket(0, "grant", "a", "b"+sep+"c", 1), bucket(0, "grant", "a"+sep+"b", "c", 2))
		}
		w.same(6, len(rows(w, w.ReadMetrics(w.ctx, storage.MetricFilter{Dimension: "grant"}))))
		w.metrics(storage.MetricFilter{Dimension: "grant", Subjects: []string{"a:b"}}, bucket(0, "grant", "a:b", "c", 2))
	}},
	{ID: "M08", Rule: "a batch with a negative count, an instant out of range or an overflow is refused whole", Needs: storage.Capabilities{storage.CapMetrics}, run: func(w *world) {
		good := bucket(0, "grant", "g", "matched", authz.MaxInstant)
		w.count(good)
		for _, bad := range []storage.MetricBucket{bucket(0, "grant", "h", "matched", -1), bucket(authz.MaxInstant+1, "grant", "h", "matched", 1),
			bucket(0, "grant", "h\x00", "matched", 1), bucket(0, "", "h", "matched", 1), bucket(0, "grant", "g", "matched", 1)} {
			w.code(storage.CodeValidation, w.RecordMetrics(w.ctx, []storage.MetricBucket{bucket(0, "grant", "first", "matched", 1), bad}))
		}
		w.metrics(storage.MetricFilter{Dimension: "grant"}, good)
	}},
}
