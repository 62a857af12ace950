package metrics_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/metrics"
)

// store is a reporter whose deliveries take as long as delay answers.
type store struct {
	mu       sync.Mutex
	got      []string // the permission of each batch's first check
	inFlight int
	most     int
	calls    int
	delay    func(ctx context.Context, call int) error
}

func (s *store) ReportMetrics(ctx context.Context, b metrics.Batch) error {
	s.mu.Lock()
	s.calls++
	call := s.calls
	s.inFlight++
	s.most = max(s.most, s.inFlight)
	s.mu.Unlock()
	var err error
	if s.delay != nil {
		err = s.delay(ctx, call)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
	if err == nil {
		s.got = append(s.got, b.Checks[0].Permission)
	}
	return err
}

func (s *store) received() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

func newSink(t *testing.T, r metrics.Reporter, o metrics.ProviderSinkOptions) *metrics.ProviderSink {
	t.Helper()
	s, err := metrics.NewProviderSink(r, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func observe(o metrics.Observer, permission string) {
	_ = o.Observe(metrics.CheckObservation{Shape: metrics.ShapeCan, Decision: metrics.Allow, Permission: permission, SampleRate: 1})
}

func sleep(d time.Duration) func(context.Context, int) error {
	return func(ctx context.Context, _ int) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func TestClosedWindowsAreDeliveredInOrderOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &store{delay: sleep(50 * time.Millisecond)}
		var also []metrics.Batch
		s := newSink(t, st, metrics.ProviderSinkOptions{AggregatorOptions: metrics.AggregatorOptions{
			Flush: func(b metrics.Batch) error { also = append(also, b); return nil }}})
		for _, p := range []string{"a", "b", "c"} {
			observe(s, p)
			s.Aggregator().Flush()
		}
		observe(s, "d")
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"a", "b", "c", "d"}, st.received()); diff != "" || st.most != 1 {
			t.Errorf("%d at a time, -want +got:\n%s", st.most, diff)
		}
		if len(also) != 4 {
			t.Errorf("the caller's own callback saw %d windows", len(also))
		}
		s.Stop()
	})
}

func TestWindowsAreClosedByTimeAndEmptyOnesNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &store{}
		s := newSink(t, st, metrics.ProviderSinkOptions{AggregatorOptions: metrics.AggregatorOptions{Window: time.Second}})
		observe(s, "a")
		time.Sleep(5500 * time.Millisecond)
		observe(s, "b")
		if diff := cmp.Diff([]string{"a"}, st.received()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		s.Stop()
		if diff := cmp.Diff([]string{"a", "b"}, st.received()); diff != "" || st.calls != 2 {
			t.Errorf("%d calls after stop, -want +got:\n%s", st.calls, diff)
		}
	})
}

// Each window has one place in a queue of few, however little it counted.
func TestTrafficAndTheTimerDoNotBothCloseAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var closed []metrics.Batch
		s := newSink(t, nil, metrics.ProviderSinkOptions{Interval: 1001 * time.Millisecond, AggregatorOptions: metrics.AggregatorOptions{Window: time.Second,
			Flush: func(b metrics.Batch) error {
				mu.Lock()
				defer mu.Unlock()
				closed = append(closed, b)
				return nil
			}}})
		const seconds = 20
		for range seconds * 100 {
			observe(s, "a")
			time.Sleep(10 * time.Millisecond)
		}
		// What is counted when traffic ends is closed by the timer.
		time.Sleep(2 * time.Second)
		s.Stop()
		var counted int64
		for _, b := range closed[:len(closed)-1] { // the stop closes the last
			for _, c := range b.Checks {
				counted += c.Observed
			}
			if lasted := b.WindowEnd - b.WindowStart; lasted < 500 || lasted > 1600 {
				t.Errorf("a window lasted %d ms", lasted)
			}
		}
		if counted != seconds*100 || !closed[len(closed)-1].Empty() {
			t.Errorf("%d windows of %d checks in %d seconds", len(closed), counted, seconds)
		}
	})
}

func TestASlowStoreDropsNewBatchesAndGrowsNoQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &store{delay: sleep(time.Minute)}
		s := newSink(t, st, metrics.ProviderSinkOptions{Interval: time.Hour, MaxPendingBatches: new(2)})
		start := time.Now()
		for _, p := range []string{"a", "b", "c", "d", "e"} {
			observe(s, p)
			s.Aggregator().Flush()
			synctest.Wait()
		}
		if waited := time.Since(start); waited != 0 || s.DroppedBatches() != 3 {
			t.Errorf("waited %v, dropped %d", waited, s.DroppedBatches())
		}
		time.Sleep(5 * time.Minute)
		observe(s, "f")
		s.Aggregator().Flush()
		time.Sleep(5 * time.Minute)
		if diff := cmp.Diff([]string{"a", "b", "f"}, st.received()); diff != "" || s.DroppedBatches() != 3 {
			t.Errorf("dropped %d, -want +got:\n%s", s.DroppedBatches(), diff)
		}
		s.Stop()
	})
}

func TestAFailedDeliveryIsALostBatchAndIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("down")
		st := &store{delay: func(_ context.Context, call int) error {
			switch call {
			case 1:
				return down
			case 2:
				panic(down)
			}
			return nil
		}}
		var reported []error
		s := newSink(t, st, metrics.ProviderSinkOptions{AggregatorOptions: metrics.AggregatorOptions{OnError: func(err error) { reported = append(reported, err) }}})
		for _, p := range []string{"a", "b", "c"} {
			observe(s, p)
			if err := s.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		var panicked *metrics.PanicError
		if len(reported) != 2 || !errors.Is(reported[0], down) || !errors.As(reported[1], &panicked) {
			t.Errorf("reported %v", reported)
		}
		if diff := cmp.Diff([]string{"c"}, st.received()); diff != "" || st.calls != 3 {
			t.Errorf("%d calls, -want +got:\n%s", st.calls, diff)
		}
		s.Stop()
	})
}

func TestTheCapabilityIsReadOnceBeforeTheFirstDelivery(t *testing.T) {
	cases := map[string]struct {
		answers []any // of each read: a bool or an error
		reads   int
		want    []string
	}{
		"true":                              {[]any{true}, 1, []string{"a", "b", "c"}},
		"false is a plain local aggregator": {[]any{false}, 1, nil},
		"a failed read loses its batch, not later": {[]any{errors.New("down"), true}, 2, []string{"b", "c"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reads := 0
				st := &store{}
				s := newSink(t, st, metrics.ProviderSinkOptions{Accepts: func(context.Context) (bool, error) {
					reads++
					switch answer := c.answers[reads-1].(type) {
					case error:
						return false, answer
					default:
						return answer.(bool), nil
					}
				}})
				if err := s.Flush(t.Context()); err != nil || reads != 0 {
					t.Fatalf("%v: an empty window read the capability %d times", err, reads)
				}
				for _, p := range []string{"a", "b", "c"} {
					observe(s, p)
					if err := s.Flush(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if diff := cmp.Diff(c.want, st.received()); diff != "" || reads != c.reads || s.DroppedBatches() != 0 {
					t.Errorf("%d reads, dropped %d, -want +got:\n%s", reads, s.DroppedBatches(), diff)
				}
				s.Stop()
			})
		})
	}
}

func TestStopGivesUpOnADeadStoreAfterTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &store{delay: sleep(1000 * time.Hour)}
		var mu sync.Mutex
		var reported []error
		s := newSink(t, st, metrics.ProviderSinkOptions{AggregatorOptions: metrics.AggregatorOptions{OnError: func(err error) {
			mu.Lock()
			defer mu.Unlock()
			reported = append(reported, err)
		}}})
		for _, p := range []string{"a", "b", "c"} {
			observe(s, p)
			s.Aggregator().Flush()
		}
		start := time.Now()
		s.Stop()
		s.Stop()
		if waited := time.Since(start); waited != 10*time.Second || s.DroppedBatches() != 2 {
			t.Errorf("waited %v, dropped %d", waited, s.DroppedBatches())
		}
		synctest.Wait() // the delivery under way was cut off; the bubble ends without a goroutine
		mu.Lock()
		defer mu.Unlock()
		if len(reported) != 2 || !slices.ContainsFunc(reported, func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }) {
			t.Errorf("reported %v", reported)
		}
	})
}

func TestAStoppedSinkCountsButSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &store{}
		s := newSink(t, st, metrics.ProviderSinkOptions{})
		observe(s, "a")
		s.Stop()
		observe(s, "b")
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if diff := cmp.Diff([]string{"a"}, st.received()); diff != "" || s.DroppedBatches() != 1 {
			t.Errorf("dropped %d, -want +got:\n%s", s.DroppedBatches(), diff)
		}
	})
}

func TestWithoutAReporterASinkIsALocalAggregator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed []metrics.Batch
		s := newSink(t, nil, metrics.ProviderSinkOptions{AggregatorOptions: metrics.AggregatorOptions{Flush: func(b metrics.Batch) error { closed = append(closed, b); return nil }}})
		observe(s, "a")
		s.Stop()
		if len(closed) != 1 || closed[0].Checks[0].Permission != "a" || s.DroppedBatches() != 0 {
			t.Errorf("%+v", closed)
		}
	})
}

func TestAFlushGoesOnlyAsFarAsItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSink(t, &store{delay: sleep(time.Minute)}, metrics.ProviderSinkOptions{})
		observe(s, "a")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		s.Stop()
	})
}

func TestASinkRefusesBadOptions(t *testing.T) {
	for name, o := range map[string]metrics.ProviderSinkOptions{
		"a negative interval": {Interval: -1},
		"a negative bound":    {MaxPendingBatches: new(-1)},
		"a negative window":   {AggregatorOptions: metrics.AggregatorOptions{Window: -1}},
	} {
		if s, err := metrics.NewProviderSink(&store{}, o); err == nil || s != nil {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}
