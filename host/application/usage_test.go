package application_test

import (
	"context"
	"encoding/json"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/internal/scripts"
	"github.com/authzhost/authz/internal/lacking"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

func TestVectorsUsage(t *testing.T) {
	// Steps of the other kinds have other shapes; sdk/metrics and sdk/client replay them.
	vectors.Replay(t, "metrics.jsonl", scripts.IsUsage, func(t *testing.T, raw json.RawMessage) {
		must(t, vectors.Known[scripts.Usage](raw))
		var c scripts.Usage
		must(t, json.Unmarshal(raw, &c))
		s := scripts.Script{Case: scripts.Case{Options: c.Options, Catalog: json.RawMessage(testCatalog)}}
		on := inProcess(t, s)
		scripts.RunUsage(t, c, on.Now, on.Provider)
	})
}

var usageOps = []string{"reportMetrics", "getGrantUsage", "getRevokeUsage", "getRoleUsage", "getPermissionUsage", "getScopeTypeUsage"}

func counted(at int64, rows ...metrics.RowCounter) metrics.Batch {
	return metrics.Batch{InstanceID: "i", WindowStart: at, WindowEnd: at + 1, Grants: rows}
}

func matched(id string, n float64) metrics.RowCounter {
	return metrics.RowCounter{RowID: id, EstimatedMatched: n}
}

func grantUsage(t testing.TB, app *application.Application, q provider.UsageQuery) map[string]int64 {
	t.Helper()
	found, err := app.GetGrantUsage(context.Background(), q)
	must(t, err)
	counts := map[string]int64{}
	for _, u := range found {
		counts[u.RowID] = u.Matched
	}
	return counts
}

func TestWithMetricsOffEveryOperationIsUnsupported(t *testing.T) {
	app := newApp(t, application.Options{})
	for _, op := range usageOps {
		_, err := scripts.AskUsage(t.Context(), app, op, metrics.Batch{}, provider.UsageQuery{})
		isRefused(authz.CodeUnsupported)(t, err)
		if err != nil && err.Error()[:len("metrics are not enabled on this Application")] != "metrics are not enabled on this Application" {
			t.Errorf("%s: %v", op, err)
		}
	}
	c, err := app.Capabilities(t.Context())
	must(t, err)
	if c.Metrics {
		t.Error("metrics are a capability")
	}
	if c, err = newApp(t, application.Options{Metrics: &application.Metrics{}}).Capabilities(t.Context()); err != nil || !c.Metrics {
		t.Errorf("metrics are no capability: %v", err)
	}
}

func TestMetricsNeedADriverThatKeepsThem(t *testing.T) {
	store := lacking.Store(openStore(t), storage.CapMetrics)
	_, err := application.New(t.Context(), application.Options{Catalog: testCatalogBuilt(t), Store: store, Metrics: &application.Metrics{}})
	isRefused(authz.CodeUnsupported)(t, err)
	if want := `metrics requires a storage driver with the capability "metrics"`; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	newApp(t, application.Options{Store: store})
	for _, m := range []application.Metrics{{Bucket: -1}, {Retention: -1}, {Bucket: time.Millisecond + 1}, {Retention: time.Microsecond}} {
		_, err := application.New(t.Context(), application.Options{Catalog: testCatalogBuilt(t), Store: openStore(t), Metrics: &m})
		isRefused(authz.CodeValidation)(t, err)
	}
}

func TestARefusedBatchStoresNothingOfIt(t *testing.T) {
	check := metrics.CheckCounter{Permission: "docs.files.read", Decision: metrics.Allow, ScopeType: "*", Estimated: 1}
	for sentence, spoil := range map[string]func(*metrics.Batch){
		"a count that is no number":          func(b *metrics.Batch) { b.Grants[1].EstimatedMatched = math.NaN() },
		"an infinite count":                  func(b *metrics.Batch) { b.Grants[1].EstimatedSoleMatch = math.Inf(1) },
		"an infinite count below zero":       func(b *metrics.Batch) { b.Checks[0].Estimated = math.Inf(-1) },
		"counts beyond 2^53−1":               func(b *metrics.Batch) { b.Grants[1].EstimatedMatched = 1e17 },
		"a decision that is neither":         func(b *metrics.Batch) { b.Checks[0].Decision = "maybe" },
		"an id that cannot be stored":        func(b *metrics.Batch) { b.Grants[1].RowID = "a\x00b" },
		"a permission that cannot be stored": func(b *metrics.Batch) { b.Checks[0].Permission = "a\x00b" },
		"a window that is no instant":        func(b *metrics.Batch) { b.WindowStart = authz.MaxInstant + 1 },
	} {
		t.Run(sentence, func(t *testing.T) {
			app := newApp(t, application.Options{Metrics: &application.Metrics{}})
			b := counted(now, matched("g1", 1), matched("g2", 1))
			b.Checks = []metrics.CheckCounter{check}
			spoil(&b)
			isRefused(authz.CodeValidation)(t, app.ReportMetrics(t.Context(), b))
			if got := grantUsage(t, app, provider.UsageQuery{Until: ptr(authz.MaxInstant), Since: ptr(int64(0))}); len(got) > 0 {
				t.Errorf("stored %v", got)
			}
		})
	}
}

func TestCountersThatWouldOverflowAreRefusedAndKept(t *testing.T) {
	app := newApp(t, application.Options{Metrics: &application.Metrics{}})
	must(t, app.ReportMetrics(t.Context(), counted(now, matched("g1", float64(authz.MaxInstant)))))
	isRefused(authz.CodeValidation)(t, app.ReportMetrics(t.Context(), counted(now, matched("g1", 1), matched("g2", 1))))
	if diff := cmp.Diff(map[string]int64{"g1": authz.MaxInstant}, grantUsage(t, app, provider.UsageQuery{Until: ptr(now + 1)})); diff != "" {
		t.Error(diff)
	}
}

func TestEstimatesAreMergedThenRoundedHalfUp(t *testing.T) {
	app := newApp(t, application.Options{Metrics: &application.Metrics{}})
	must(t, app.ReportMetrics(t.Context(), counted(now, matched("half", 0.5), matched("thirds", 0.75), matched("less", 0.4),
		matched("thirds", 0.75), matched("minus", -3), matched("none", 0), matched("gone", 2), matched("gone", -2))))
	want := map[string]int64{"half": 1, "thirds": 2, "gone": 2}
	if diff := cmp.Diff(want, grantUsage(t, app, provider.UsageQuery{Until: ptr(now + 1)})); diff != "" {
		t.Error(diff)
	}
}

func TestWindowsOfUsage(t *testing.T) {
	const hour = 3_600_000
	app := newApp(t, application.Options{Metrics: &application.Metrics{Bucket: time.Hour, Retention: 2 * time.Hour}, Clock: func() int64 { return 10*hour + 5 }})
	for at, id := range map[int64]string{7*hour + 1: "7", 8*hour + 9: "8", 9 * hour: "9", 10*hour + 5: "10", -1: "before 1970"} {
		must(t, app.ReportMetrics(t.Context(), counted(at, matched(id, 1))))
	}
	for sentence, c := range map[string]struct {
		query provider.UsageQuery
		want  map[string]int64
	}{
		"by default the retention up to now, the first bucket whole": {provider.UsageQuery{}, map[string]int64{"8": 1, "9": 1, "10": 1}},
		"until is exclusive":                        {provider.UsageQuery{Until: ptr(int64(9 * hour))}, map[string]int64{"7": 1, "8": 1}},
		"a bucket begins before until and is whole": {provider.UsageQuery{Until: ptr(int64(9*hour + 1))}, map[string]int64{"7": 1, "8": 1, "9": 1}},
		"since is aligned down":                     {provider.UsageQuery{Since: ptr(int64(9*hour + 1))}, map[string]int64{"9": 1, "10": 1}},
		"buckets before 1970 are aligned down too":  {provider.UsageQuery{Since: ptr(int64(-hour)), Until: ptr(int64(0))}, map[string]int64{"before 1970": 1}},
		"the whole of time":                         {provider.UsageQuery{Since: ptr(-authz.MaxInstant), Until: ptr(authz.MaxInstant), IDs: &[]string{"7", "ghost"}}, map[string]int64{"7": 1}},
		"the retention of the first instant":        {provider.UsageQuery{Until: ptr(-authz.MaxInstant)}, map[string]int64{}},
		"since past until":                          {provider.UsageQuery{Since: ptr(int64(11 * hour))}, map[string]int64{}},
		"no ids, nothing":                           {provider.UsageQuery{IDs: &[]string{}}, map[string]int64{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, grantUsage(t, app, c.query)); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, q := range []provider.UsageQuery{{Since: ptr(authz.MaxInstant + 1)}, {Until: ptr(authz.MaxInstant + 1)}, {IDs: &[]string{"\x00"}}} {
		_, err := app.GetGrantUsage(t.Context(), q)
		isRefused(authz.CodeValidation)(t, err)
	}
}

func TestUsageIsOrderedByName(t *testing.T) {
	app := newApp(t, application.Options{Metrics: &application.Metrics{}})
	b := metrics.Batch{InstanceID: "i", WindowStart: now}
	for _, name := range []string{"b", "a.z", "(any)", "a"} {
		b.Checks = append(b.Checks, metrics.CheckCounter{Permission: name, ScopeType: name, Decision: metrics.Deny, Estimated: 1})
		b.Roles = append(b.Roles, matched(name, 1))
	}
	must(t, app.ReportMetrics(t.Context(), b))
	want := []string{"(any)", "a", "a.z", "b"}
	q := provider.UsageQuery{Until: ptr(now + 1)}
	permissions, err := app.GetPermissionUsage(t.Context(), q)
	must(t, err)
	types, err := app.GetScopeTypeUsage(t.Context(), q)
	must(t, err)
	roles, err := app.GetRoleUsage(t.Context(), q)
	must(t, err)
	var got [3][]string
	for i := range want {
		got[0] = append(got[0], permissions[i].Permission)
		got[1] = append(got[1], types[i].Permission)
		got[2] = append(got[2], roles[i].RowID)
	}
	if diff := cmp.Diff([3][]string{want, want, want}, got); diff != "" {
		t.Error(diff)
	}
}

func TestConcurrentReportsLoseNoCounts(t *testing.T) {
	store := openStore(t)
	apps := []*application.Application{newApp(t, application.Options{Store: store, Metrics: &application.Metrics{}}),
		newApp(t, application.Options{Store: store, Metrics: &application.Metrics{}})}
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			if err := apps[i%2].ReportMetrics(context.Background(), counted(now, matched("g", 3))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := grantUsage(t, apps[0], provider.UsageQuery{Until: ptr(now + 1)}); got["g"] != 120 {
		t.Errorf("counted %v", got)
	}
}

// metered counts prunes, and fails them or reports when told to.
type metered struct {
	storage.Store
	prunes chan int64
	report error
}

func (s *metered) PruneMetrics(_ context.Context, before int64) (int64, error) {
	s.prunes <- before
	return 0, storage.Unavailable("", nil, driverText)
}

func (s *metered) RecordMetrics(ctx context.Context, deltas []storage.MetricBucket) error {
	if s.report != nil {
		return s.report
	}
	return s.Store.RecordMetrics(ctx, deltas)
}

func TestEvery32ndReportThatHoldsSomethingPrunes(t *testing.T) {
	store := &metered{Store: openStore(t), prunes: make(chan int64, 8)}
	app := newApp(t, application.Options{Store: store, Metrics: &application.Metrics{Bucket: time.Second, Retention: 5500 * time.Millisecond}, Clock: func() int64 { return 10_400 }})
	for range 31 {
		must(t, app.ReportMetrics(t.Context(), counted(now, matched("g", 1))))
		must(t, app.ReportMetrics(t.Context(), counted(now))) // empty
	}
	if len(store.prunes) > 0 {
		t.Fatal("pruned early")
	}
	must(t, app.ReportMetrics(t.Context(), counted(now, matched("g", 1)))) // the failing prune is nobody's affair
	select {
	case before := <-store.prunes:
		if before != 4_000 {
			t.Errorf("pruned before %d", before)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("never pruned")
	}
}

func TestAReportOverAnOutageSaysWhatItKnows(t *testing.T) {
	for _, c := range []struct {
		fault error
		want  authz.Outcome
	}{
		{storage.Unavailable(authz.OutcomeNotApplied, nil, driverText), authz.OutcomeNotApplied},
		{storage.Unavailable(authz.OutcomeUnknown, nil, driverText), authz.OutcomeUnknown},
		{context.DeadlineExceeded, authz.OutcomeUnknown},
	} {
		app := newApp(t, application.Options{Store: &metered{Store: openStore(t), report: c.fault}, Metrics: &application.Metrics{}})
		isUnavailable(c.want)(t, app.ReportMetrics(t.Context(), counted(now, matched("g", 1))))
	}
}
