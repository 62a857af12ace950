package metrics_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

// drawObservation draws from few values, so that counters meet.
func drawObservation() *rapid.Generator[metrics.CheckObservation] {
	ids := func(prefix string) *rapid.Generator[[]string] {
		return rapid.SliceOfNDistinct(rapid.Map(rapid.IntRange(1, 6), func(n int) string { return fmt.Sprint(prefix, n) }), 0, 3, rapid.ID[string])
	}
	return rapid.Custom(func(t *rapid.T) metrics.CheckObservation {
		shapes := []metrics.Shape{metrics.ShapeCan, metrics.ShapeRequire, metrics.ShapeCanAny, metrics.ShapeRequireAny, metrics.ShapeHolds, metrics.ShapeHeldKeys}
		o := metrics.CheckObservation{
			Shape:            rapid.SampledFrom(shapes).Draw(t, "shape"),
			Decision:         metrics.Decided(rapid.Bool().Draw(t, "allowed")),
			Permission:       rapid.SampledFrom([]string{"", "a.b", "a.c", "a.*"}).Draw(t, "permission"),
			ScopeType:        rapid.SampledFrom([]string{"*", "a.doc", "(unparsed)"}).Draw(t, "scopeType"),
			Scope:            rapid.SampledFrom([]string{"", "a.doc:1", "a.doc:2"}).Draw(t, "scope"),
			Principal:        authz.UserPrincipal(rapid.SampledFrom([]string{"u1", "u2", "u3", "u4", "u5", "u6", "u7"}).Draw(t, "user")),
			MatchedGrantIDs:  ids("g").Draw(t, "grants"),
			MatchedRevokeIDs: ids("r").Draw(t, "revokes"),
			RoleIDs:          ids("role").Draw(t, "roles"),
			SampleRate:       rapid.SampledFrom([]float64{1, 0.5, 0.3, 0.1, 0.01}).Draw(t, "rate"),
		}
		if rapid.Bool().Draw(t, "service") {
			o.Principal = authz.ServicePrincipal(o.Principal.UserID)
		}
		if len(o.MatchedGrantIDs) == 1 && o.Decision == metrics.Allow {
			o.SoleMatchGrantID = o.MatchedGrantIDs[0]
		}
		return o
	})
}

// naive is the fold (spec: metrics §4), written without bounds.
func naive(stream []metrics.CheckObservation, start, end int64, recent int) metrics.Batch {
	b := metrics.Batch{InstanceID: "default", WindowStart: start, WindowEnd: end}
	principals := map[string]bool{}
	row := func(list *[]metrics.RowCounter, id, principal string, sole bool, w float64) {
		i := slices.IndexFunc(*list, func(r metrics.RowCounter) bool { return r.RowID == id })
		if i < 0 {
			i = len(*list)
			*list = append(*list, metrics.RowCounter{RowID: id})
		}
		r := &(*list)[i]
		r.Matched++
		r.EstimatedMatched += w
		if sole {
			r.SoleMatch++
			r.EstimatedSoleMatch += w
		}
		if !slices.Contains(r.RecentPrincipals, principal) && len(r.RecentPrincipals) < recent {
			r.RecentPrincipals = append(r.RecentPrincipals, principal)
		}
	}
	for _, o := range stream {
		w := 1 / o.SampleRate
		c := metrics.CheckCounter{Permission: o.Permission, Decision: o.Decision, Shape: o.Shape, Gate: o.Shape == "can" || o.Shape == "require", ScopeType: o.ScopeType, Scope: o.Scope}
		if c.Permission == "" {
			c.Permission = "(any)"
		}
		i := slices.IndexFunc(b.Checks, func(x metrics.CheckCounter) bool { return checkOrder(x) == checkOrder(c) })
		if i < 0 {
			i = len(b.Checks)
			b.Checks = append(b.Checks, c)
		}
		b.Checks[i].Observed++
		b.Checks[i].Estimated += w
		p := o.Principal.Subject()
		principals[p] = true
		if o.Decision == metrics.Allow {
			for _, id := range o.MatchedGrantIDs {
				row(&b.Grants, id, p, id == o.SoleMatchGrantID, w)
			}
			for _, id := range o.RoleIDs {
				row(&b.Roles, id, p, o.SoleMatchGrantID != "", w)
			}
		}
		for _, id := range o.MatchedRevokeIDs {
			row(&b.Revokes, id, p, true, w)
		}
	}
	for i := range b.Checks {
		b.Checks[i].Estimated = math.Floor(b.Checks[i].Estimated + 0.5)
	}
	for _, list := range [][]metrics.RowCounter{b.Grants, b.Revokes, b.Roles} {
		for i := range list {
			list[i].EstimatedMatched = math.Floor(list[i].EstimatedMatched + 0.5)
			list[i].EstimatedSoleMatch = math.Floor(list[i].EstimatedSoleMatch + 0.5)
		}
	}
	b.Principals.Distinct = int64(len(principals))
	return b
}

// Order included: lists are in first-seen order.
func TestTheAggregatorEqualsTheUnboundedFoldWhileNoCapIsHit(t *testing.T) {
	metrics.Patient(t)
	rapid.Check(t, func(t *rapid.T) {
		const length = 1000
		now := int64(1_700_000_000_000)
		var got []metrics.Batch
		a, err := metrics.NewAggregator(metrics.AggregatorOptions{Window: length * time.Millisecond, Clock: func() int64 { return now },
			Flush: func(b metrics.Batch) error { got = append(got, b); return nil }})
		if err != nil {
			t.Fatal(err)
		}
		var want []metrics.Batch
		var stream []metrics.CheckObservation
		start := now
		shut := func() {
			want = append(want, naive(stream, start, max(now, start), 5))
			start, stream = now, nil
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				now += rapid.SampledFrom([]int64{1, length - 1, length, 5 * length}).Draw(t, "advance")
			case 1:
				now -= rapid.SampledFrom([]int64{1, length}).Draw(t, "step back")
			case 2:
				a.Flush()
				shut()
			default:
				o := drawObservation().Draw(t, "observation")
				if now < start || now-start >= length {
					shut()
				}
				stream = append(stream, o)
				if err := a.Observe(o); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(naive(stream, start, max(now, start), 5), a.Snapshot(), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("open window, -want +got:\n%s", diff)
			}
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("closed windows, -want +got:\n%s", diff)
		}
	})
}

func TestCapsHoldUnderAnyStreamAndWhatTheyRefuseIsCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := func(name string) int { return rapid.IntRange(0, 4).Draw(t, name) }
		checks, rows, principals, recent := limit("checks"), limit("rows"), limit("principals"), limit("recent")
		a, err := metrics.NewAggregator(metrics.AggregatorOptions{Window: time.Hour, MaxCheckKeys: &checks, MaxRowKeys: &rows,
			MaxPrincipals: &principals, MaxRecentPrincipalsPerRow: &recent, Clock: func() int64 { return 0 }})
		if err != nil {
			t.Fatal(err)
		}
		stream := rapid.SliceOfN(drawObservation(), 0, 80).Draw(t, "stream")
		for _, o := range stream {
			_ = a.Observe(o) // always nil
		}
		got, free := a.Snapshot(), naive(stream, 0, 0, recent)
		if len(got.Checks) > checks || len(got.Grants) > rows || len(got.Revokes) > rows || len(got.Roles) > rows || got.Principals.Distinct > int64(principals) {
			t.Fatalf("past a cap: %+v", got)
		}
		// The first keys are kept with their full counts, every refused count is in Dropped.
		want := metrics.Batch{InstanceID: "default", Checks: free.Checks[:min(checks, len(free.Checks))], Grants: free.Grants[:min(rows, len(free.Grants))],
			Revokes: free.Revokes[:min(rows, len(free.Revokes))], Roles: free.Roles[:min(rows, len(free.Roles))],
			Principals: metrics.PrincipalsCount{Distinct: min(free.Principals.Distinct, int64(principals)), Overflowed: free.Principals.Distinct > int64(principals)}}
		for _, c := range free.Checks[len(want.Checks):] {
			want.Dropped += c.Observed
		}
		for _, rest := range [][]metrics.RowCounter{free.Grants[len(want.Grants):], free.Revokes[len(want.Revokes):], free.Roles[len(want.Roles):]} {
			for _, r := range rest {
				want.Dropped += r.Matched
			}
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
	})
}

func TestMergingPartsEqualsFoldingTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawObservation().Filter(func(o metrics.CheckObservation) bool { return o.SampleRate != 0.3 }) // whole weights add without rounding
		parts := rapid.SliceOfN(rapid.SliceOfN(o, 0, 15), 1, 4).Draw(t, "parts")
		var batches []metrics.Batch
		withPrincipals := 0
		distinct := int64(0)
		for i, part := range parts {
			b := naive(part, int64(10-i), int64(20+i), 2)
			batches = append(batches, b)
			if len(part) > 0 {
				withPrincipals++
			}
			distinct = max(distinct, b.Principals.Distinct)
		}
		want := naive(slices.Concat(parts...), int64(11-len(parts)), int64(19+len(parts)), 2)
		want.Principals = metrics.PrincipalsCount{Distinct: distinct, Overflowed: withPrincipals > 1}
		if diff := cmp.Diff(want, metrics.Merge(2, batches...), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
	})
}

func TestMergeKeepsWhatInstancesAgreeOn(t *testing.T) {
	a := metrics.Batch{InstanceID: "a", Dropped: 2, Principals: metrics.PrincipalsCount{Overflowed: true}}
	b := metrics.Batch{InstanceID: "b", Dropped: 3}
	if m := metrics.Merge(5, a, a); m.InstanceID != "a" || m.Dropped != 4 || !m.Principals.Overflowed {
		t.Errorf("%+v", m)
	}
	if m := metrics.Merge(5, a, b, a); m.InstanceID != "" || m.Dropped != 7 {
		t.Errorf("%+v", m)
	}
	if m := metrics.Merge(5); !m.Empty() || m.Checks == nil {
		t.Errorf("%+v", m)
	}
}

func TestADenialByAConditionIsNoUseOfItsRows(t *testing.T) {
	a := newAggregator(t, metrics.AggregatorOptions{})
	_ = a.Observe(metrics.CheckObservation{Shape: metrics.ShapeCan, Decision: metrics.Deny, MatchedGrantIDs: []string{"g1"}, RoleIDs: []string{"r1"}, SampleRate: 1})
	if b := a.Snapshot(); len(b.Grants) != 0 || len(b.Roles) != 0 || len(b.Checks) != 1 {
		t.Errorf("%+v", b)
	}
}

func TestTextOfCallersIsBoundedBeforeItIsKept(t *testing.T) {
	long := strings.Repeat("ä", 600)
	a := newAggregator(t, metrics.AggregatorOptions{})
	_ = a.Observe(metrics.CheckObservation{Shape: metrics.ShapeCan, Decision: metrics.Allow, Permission: long, ScopeType: "x" + long, Scope: "x:" + long,
		Principal: authz.UserPrincipal(long), MatchedGrantIDs: []string{long}, RoleIDs: []string{"a\xffb"}, SampleRate: 1})
	b := a.Snapshot()
	want := metrics.CheckCounter{Permission: long[:256] + "…", Decision: metrics.Allow, Shape: metrics.ShapeCan, Gate: true,
		ScopeType: "x" + long[:254] + "…", Scope: "x:" + long[:1022] + "…", Observed: 1, Estimated: 1}
	if diff := cmp.Diff([]metrics.CheckCounter{want}, b.Checks); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if b.Grants[0].RowID != long[:1024]+"…" || b.Grants[0].RecentPrincipals[0] != "user:"+long[:1024]+"…" || b.Roles[0].RowID != "a\uFFFDb" {
		t.Errorf("%+v %+v", b.Grants, b.Roles)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringN(-1, -1, 600).Draw(t, "s")
		once := metrics.BoundName(s)
		if len(once) > 256+len("…") || metrics.BoundName(once) != once || len(s) <= 256 && once != s {
			t.Fatalf("%q became %q", s, once)
		}
	})
}

func TestAnImpossibleRateCountsOnce(t *testing.T) {
	a := newAggregator(t, metrics.AggregatorOptions{})
	for _, rate := range []float64{0, -1, 2, math.NaN(), math.Inf(1)} {
		_ = a.Observe(metrics.CheckObservation{SampleRate: rate})
	}
	if c := a.Snapshot().Checks[0]; c.Observed != 5 || c.Estimated != 5 {
		t.Errorf("%+v", c)
	}
	_ = a.Observe(metrics.CheckObservation{SampleRate: 5e-324})
	if c := a.Snapshot().Checks[0]; c.Observed != 6 || c.Estimated != float64(authz.MaxInstant) {
		t.Errorf("%+v", c)
	}
}

// On virtual time: on a machine that is busy enough, a window closed by a check
// passes over a Flush that is still running, as it should.
func TestConcurrentRecordingLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var closed []metrics.Batch
		a := newAggregator(t, metrics.AggregatorOptions{Window: time.Millisecond, Flush: func(b metrics.Batch) error {
			mu.Lock()
			defer mu.Unlock()
			closed = append(closed, b)
			return nil
		}})
		const writers, each = 8, 500
		o := metrics.CheckObservation{Shape: metrics.ShapeCan, Decision: metrics.Allow, Permission: "a.b", ScopeType: "*",
			Principal: authz.UserPrincipal("u"), MatchedGrantIDs: []string{"g"}, SoleMatchGrantID: "g", SampleRate: 1}
		var work sync.WaitGroup
		for range writers {
			work.Go(func() {
				for n := range each {
					if n%50 == 0 {
						time.Sleep(time.Millisecond) // lets the window end
					}
					_ = a.Observe(o)
					if b := a.Snapshot(); len(b.Grants) == 1 && b.Grants[0].SoleMatch > b.Grants[0].Matched {
						t.Errorf("%+v", b)
					}
				}
			})
		}
		work.Wait()
		a.Flush()
		if m := metrics.Merge(5, closed...); len(closed) < 5 || m.Checks[0].Observed != writers*each || m.Grants[0].SoleMatch != writers*each {
			t.Errorf("counted %+v of %d in %d windows", m, writers*each, len(closed))
		}
	})
}

func TestAFlushThatFailsIsToldAndLosesNothingElse(t *testing.T) {
	metrics.Patient(t)
	for name, f := range map[string]func(metrics.Batch) error{
		"error": func(metrics.Batch) error { return errors.New("disk full") },
		"panic": func(metrics.Batch) error { panic("disk full") },
	} {
		t.Run(name, func(t *testing.T) {
			now := int64(0)
			var reported []error
			a := newAggregator(t, metrics.AggregatorOptions{Flush: f, OnError: func(err error) { reported = append(reported, err) }, Clock: func() int64 { return now }})
			now = 60_000
			if err := a.Observe(metrics.CheckObservation{SampleRate: 1}); err != nil {
				t.Fatal(err)
			}
			if b := a.Flush(); len(b.Checks) != 1 || len(reported) != 2 || !strings.Contains(reported[0].Error(), "disk full") {
				t.Errorf("%+v, reported %v", b, reported)
			}
		})
	}
}

func TestAFlushThatHangsHoldsUpACheckOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var reported []error
		a := newAggregator(t, metrics.AggregatorOptions{Window: time.Second, Flush: func(metrics.Batch) error { <-release; return nil },
			OnError: func(err error) { reported = append(reported, err) }})
		var waited time.Duration
		for range 3 {
			time.Sleep(time.Second)
			start := time.Now()
			_ = a.Observe(metrics.CheckObservation{SampleRate: 1})
			waited += time.Since(start)
		}
		var overdue *metrics.OverdueError
		if waited != 10*time.Millisecond || len(reported) != 1 || !errors.As(reported[0], &overdue) {
			t.Errorf("checks waited %v, reported %v", waited, reported)
		}
		close(release)
	})
}

func TestAFlusherClosesWindowsWithoutTraffic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed []metrics.Batch
		a := newAggregator(t, metrics.AggregatorOptions{Window: time.Hour, Flush: func(b metrics.Batch) error { closed = append(closed, b); return nil }})
		stop := a.StartFlusher(0)
		time.Sleep(150 * time.Second)
		stop()
		stop()
		time.Sleep(time.Hour)
		if len(closed) != 2 || closed[1].WindowEnd-closed[1].WindowStart != 60_000 {
			t.Errorf("%+v", closed)
		}
	})
}

func TestAStoppedFlusherDoesNotWaitForAHangingFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		a := newAggregator(t, metrics.AggregatorOptions{Flush: func(metrics.Batch) error { <-release; return nil }})
		stop := a.StartFlusher(time.Second)
		time.Sleep(time.Minute)
		start := time.Now()
		stop()
		if waited := time.Since(start); waited != 0 {
			t.Errorf("waited %v", waited)
		}
		close(release)
	})
}

func TestAnAggregatorRefusesBadOptions(t *testing.T) {
	for name, o := range map[string]metrics.AggregatorOptions{
		"a negative window":          {Window: -time.Second},
		"less than a millisecond":    {Window: time.Microsecond},
		"a negative check cap":       {MaxCheckKeys: new(-1)},
		"a negative row cap":         {MaxRowKeys: new(-1)},
		"a negative principals cap":  {MaxPrincipals: new(-1)},
		"a negative cap of the rows": {MaxRecentPrincipalsPerRow: new(-1)},
	} {
		if a, err := metrics.NewAggregator(o); err == nil || a != nil {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
}
