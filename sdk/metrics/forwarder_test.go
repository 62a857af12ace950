package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

// sink takes windows as answer says; a nil answer takes all. It notes what it took
// and recognises repeats if it says so.
type sink struct {
	recognises bool
	answer     func(ctx context.Context, call int, take func()) error

	mu       sync.Mutex
	calls    int
	inFlight int
	most     int
	asked    []string // "origin/sequence" of each call
	taken    []metrics.Window
}

func (s *sink) Info() metrics.SinkInfo {
	if s.recognises {
		return metrics.SinkInfo{Capabilities: metrics.SinkCapabilities()}
	}
	return metrics.SinkInfo{}
}

func (s *sink) Close(context.Context) error { return nil }

func (s *sink) Write(ctx context.Context, w metrics.Window) error {
	s.mu.Lock()
	s.calls++
	call := s.calls
	s.inFlight++
	s.most = max(s.most, s.inFlight)
	s.asked = append(s.asked, fmt.Sprint(w.Origin, "/", w.Sequence))
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.inFlight--
		s.mu.Unlock()
	}()
	take := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		known := slices.ContainsFunc(s.taken, func(t metrics.Window) bool { return t.Origin == w.Origin && t.Sequence == w.Sequence })
		if !known || !s.recognises {
			s.taken = append(s.taken, w)
		}
	}
	if s.answer == nil {
		take()
		return nil
	}
	return s.answer(ctx, call, take)
}

// seen is what the sink was asked, what it took, and how many calls there were at a
// time.
func (s *sink) seen() (asked []string, taken []metrics.Window, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked), slices.Clone(s.taken), s.most
}

func (s *sink) checks() (n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.taken {
		for _, c := range w.Checks {
			n += uint64(c.Observed)
		}
	}
	return n
}

func batchOf(checks int) metrics.Batch {
	return metrics.Batch{Checks: []metrics.CheckCounter{{Permission: "a", Decision: metrics.Allow, Observed: int64(checks - checks/2)},
		{Permission: "a", Decision: metrics.Deny, Observed: int64(checks / 2)}}}
}

func newForwarder(t *testing.T, s metrics.Sink, o metrics.ForwarderOptions) *metrics.Forwarder {
	t.Helper()
	f, err := metrics.NewForwarder(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func sameCounts(t *testing.T, want, got metrics.Forwarded) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

var (
	down    = &authz.UnavailableError{Message: "down", Outcome: authz.OutcomeNotApplied}
	unclear = &authz.UnavailableError{Message: "the answer was lost", Outcome: authz.OutcomeUnknown}
)

func TestWindowsAreForwardedInOrderUnderTheirSequence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{answer: func(_ context.Context, _ int, take func()) error { time.Sleep(time.Second); take(); return nil }}
		f := newForwarder(t, s, metrics.ForwarderOptions{Application: "docs", Origin: "o", MaxPending: new(2)})
		start := time.Now()
		for n := 1; n <= 4; n++ {
			f.Forward(batchOf(n))
			f.Forward(metrics.Batch{Dropped: 3}) // empty: nothing to tell
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("waited %v", waited)
		}
		sameCounts(t, metrics.Forwarded{Full: metrics.Tally{Windows: 2, Checks: 7}, Pending: 2}, f.Counts())
		if why, at := f.LastDropped(); why != metrics.OutcomeFull || !at.Equal(start) {
			t.Errorf("the last one was dropped as %q at %v", why, at)
		}
		if err := f.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.Forward(batchOf(5))
		f.Stop(t.Context())
		f.Stop(t.Context())
		f.Forward(batchOf(6))
		asked, taken, most := s.seen()
		if diff := cmp.Diff([]string{"o/1", "o/2", "o/5"}, asked); diff != "" || most != 1 || taken[0].Application != "docs" {
			t.Errorf("%d at a time, -want +got:\n%s", most, diff)
		}
		sameCounts(t, metrics.Forwarded{Delivered: metrics.Tally{Windows: 3, Checks: 8}, Full: metrics.Tally{Windows: 2, Checks: 7},
			Stopped: metrics.Tally{Windows: 1, Checks: 6}}, f.Counts())
	})
}

func TestEachLifeOfAForwarderIsAnotherOrigin(t *testing.T) {
	s := &sink{}
	for range 2 {
		f := newForwarder(t, s, metrics.ForwarderOptions{})
		f.Forward(batchOf(1))
		f.Stop(t.Context())
	}
	_, taken, _ := s.seen()
	a, b := taken[0].Origin, taken[1].Origin
	if a == b || len(a) < 16 || len(a) > 64 || strings.Trim(a, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		t.Errorf("%q and %q", a, b)
	}
}

func TestASinkThatIsDownIsAskedAgainUntilThePatienceEnds(t *testing.T) {
	cases := map[string]struct {
		recognises bool
		answers    func(call int, take func()) error
		want       metrics.Forwarded
		calls      [2]int // at least and at most
		took       time.Duration
	}{
		"down for a while":      {false, func(call int, take func()) error { return after(3, call, down, take) }, metrics.Forwarded{Delivered: one, Repeated: 3}, [2]int{4, 4}, 350 * time.Millisecond},
		"down for ever":         {false, func(int, func()) error { return down }, metrics.Forwarded{Unavailable: one, Repeated: 8}, [2]int{6, 12}, 5 * time.Second},
		"refused":               {true, func(int, func()) error { return authz.Validation("no") }, metrics.Forwarded{Refused: one}, [2]int{1, 1}, 0},
		"unknown":               {false, func(int, func()) error { return unclear }, metrics.Forwarded{Unknown: one}, [2]int{1, 1}, 0},
		"an untyped error":      {false, func(int, func()) error { return errors.New("?") }, metrics.Forwarded{Unknown: one}, [2]int{1, 1}, 0},
		"a panic":               {false, func(int, func()) error { panic("?") }, metrics.Forwarded{Unknown: one}, [2]int{1, 1}, 0},
		"unknown, recognised":   {true, func(call int, take func()) error { take(); return after(2, call, unclear, take) }, metrics.Forwarded{Delivered: one, Repeated: 2}, [2]int{3, 3}, 150 * time.Millisecond},
		"unknown, then down":    {true, func(call int, _ func()) error { return after(1, call, unclear, nil, down) }, metrics.Forwarded{Unknown: one, Repeated: 8}, [2]int{6, 12}, 5 * time.Second},
		"unknown, then refused": {true, func(call int, _ func()) error { return after(1, call, unclear, nil, authz.Validation("no")) }, metrics.Forwarded{Unknown: one, Repeated: 1}, [2]int{2, 2}, 50 * time.Millisecond},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &sink{recognises: c.recognises, answer: func(_ context.Context, call int, take func()) error { return c.answers(call, take) }}
				var told []error
				f := newForwarder(t, s, metrics.ForwarderOptions{Origin: "o", OnError: func(err error) { told = append(told, err) }})
				start := time.Now()
				f.Forward(batchOf(10))
				if err := f.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
				if why, at := f.LastDropped(); why == "" != (c.want.Dropped().Windows == 0) || why != "" && (*c.want.Of(why) != one || !at.Equal(time.Now())) {
					t.Errorf("the last one was dropped as %q at %v", why, at)
				}
				sameCounts(t, c.want, f.Counts())
				asked, taken, _ := s.seen()
				if len(asked) < c.calls[0] || len(asked) > c.calls[1] || len(slices.Compact(asked)) != 1 {
					t.Errorf("asked %v", asked)
				}
				if lost := c.want.Dropped().Windows; uint64(len(told)) != lost || uint64(len(taken)) != c.want.Delivered.Windows {
					t.Errorf("told %v, taken %v", told, taken)
				}
				f.Stop(t.Context())
			})
		})
	}
}

var one = metrics.Tally{Windows: 1, Checks: 10}

// after answers err up to that many calls, then takes, or fails as last says.
func after(calls, call int, err error, take func(), last ...error) error {
	if call <= calls {
		return err
	}
	if len(last) > 0 {
		return last[0]
	}
	take()
	return nil
}

func TestARestartIsWaitedForWithoutAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := make(chan struct{})
		s := &sink{answer: func(_ context.Context, call int, take func()) error { return after(1, call, down, take) }}
		f := newForwarder(t, s, metrics.ForwarderOptions{Await: func(ctx context.Context) error {
			select {
			case <-back:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}})
		f.Forward(batchOf(10))
		time.Sleep(3 * time.Second)
		if asked, _, _ := s.seen(); len(asked) != 1 {
			t.Errorf("asked %v", asked)
		}
		close(back)
		synctest.Wait()
		sameCounts(t, metrics.Forwarded{Delivered: one, Repeated: 1}, f.Counts())
		f.Stop(t.Context())
	})
}

func TestASinkThatHangsGetsOneWindowAtATimeAndItsStopIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := &sink{answer: func(_ context.Context, call int, take func()) error {
			if call == 1 {
				<-release
			}
			take()
			return nil
		}}
		var told []error
		f := newForwarder(t, s, metrics.ForwarderOptions{OnError: func(err error) { told = append(told, err) }})
		f.Forward(batchOf(10))
		f.Forward(batchOf(10))
		if err := f.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		var overdue *metrics.OverdueError
		asked, _, _ := s.seen()
		if len(asked) != 1 || len(told) != 2 || !errors.As(told[0], &overdue) || !errors.As(told[1], &overdue) {
			t.Errorf("asked %v, told %v", asked, told)
		}
		sameCounts(t, metrics.Forwarded{Unknown: one, Unavailable: one}, f.Counts())
		for range 5 {
			f.Forward(batchOf(10))
		}
		start := time.Now()
		f.Stop(t.Context())
		if waited := time.Since(start); waited > 10*time.Second+time.Second {
			t.Errorf("the stop took %v", waited)
		}
		if c := f.Counts(); c.Pending != 0 || c.Delivered.Windows+c.Dropped().Windows != 7 {
			t.Errorf("%+v", c)
		}
		close(release)
	})
}

func TestAHangingSinkSlowsNoOtherAndNoCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hanging := &sink{answer: func(ctx context.Context, _ int, _ func()) error { <-ctx.Done(); return ctx.Err() }}
		well := &sink{}
		st := &store{}
		a := newForwarder(t, hanging, metrics.ForwarderOptions{})
		b := newForwarder(t, well, metrics.ForwarderOptions{})
		p := newSink(t, st, metrics.ProviderSinkOptions{AggregatorOptions: metrics.AggregatorOptions{Window: time.Second, Forwarders: []*metrics.Forwarder{a, b}}})
		const seconds = 30
		for range seconds {
			time.Sleep(time.Second)
			start := time.Now()
			observe(p, "a")
			if waited := time.Since(start); waited != 0 {
				t.Fatalf("a check waited %v", waited)
			}
		}
		p.Aggregator().Flush()
		synctest.Wait()
		if len(st.received()) < seconds-1 || well.checks() != seconds {
			t.Errorf("stored %d windows, the other sink was told %d checks", len(st.received()), well.checks())
		}
		p.Stop()
		a.Stop(t.Context())
		b.Stop(t.Context())
		if c := a.Counts(); c.Delivered.Windows != 0 || c.Dropped().Checks != seconds || c.Full.Windows == 0 || c.Unknown.Windows == 0 {
			t.Errorf("%+v", c)
		}
	})
}

// Whatever a sink does, every window is counted once, and what is counted as
// delivered was taken.
func TestDeliveredAndDroppedAreWhatWasMade(t *testing.T) {
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			var mu sync.Mutex
			draw := func(n int) int {
				mu.Lock()
				defer mu.Unlock()
				return rng.IntN(n)
			}
			s := &sink{recognises: seed%2 == 0, answer: func(ctx context.Context, _ int, take func()) error {
				switch draw(9) {
				case 0:
					return down
				case 1:
					return unclear
				case 2:
					take()
					return unclear
				case 3:
					return authz.Validation("no")
				case 4:
					if draw(2) == 0 {
						take()
					}
					panic("?")
				case 5: // until it is told to stop
					<-ctx.Done()
					return ctx.Err()
				case 6: // beyond what it was told
					time.Sleep(time.Duration(draw(8000)) * time.Millisecond)
				}
				take()
				return nil
			}}
			f := newForwarder(t, s, metrics.ForwarderOptions{MaxPending: new(draw(5))})
			var made metrics.Tally
			for range draw(60) {
				n := 1 + draw(50)
				f.Forward(batchOf(n))
				made.Windows++
				made.Checks += uint64(n)
				time.Sleep(time.Duration(draw(3000)) * time.Millisecond)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(draw(12_000))*time.Millisecond)
			defer cancel()
			start := time.Now()
			f.Stop(ctx)
			if waited := time.Since(start); waited > 11*time.Second {
				t.Errorf("seed %d: the stop took %v", seed, waited)
			}
			c := f.Counts()
			dropped := c.Dropped()
			if got := (metrics.Tally{Windows: c.Delivered.Windows + dropped.Windows, Checks: c.Delivered.Checks + dropped.Checks}); got != made || c.Pending != 0 {
				t.Errorf("seed %d: made %+v, counted %+v", seed, made, c)
			}
			time.Sleep(time.Minute) // calls that were given up return
			if taken := s.checks(); taken < c.Delivered.Checks || taken > c.Delivered.Checks+c.Unknown.Checks {
				t.Errorf("seed %d: %d taken, counted %+v", seed, taken, c)
			}
			if _, _, most := s.seen(); most > 1 {
				t.Errorf("seed %d: %d windows at a time", seed, most)
			}
		})
		if t.Failed() {
			return
		}
	}
}

func TestAForwarderRefusesBadOptions(t *testing.T) {
	for name, o := range map[string]metrics.ForwarderOptions{"a negative bound": {MaxPending: new(-1)}, "a negative patience": {Patience: -1}} {
		if f, err := metrics.NewForwarder(&sink{}, o); err == nil || f != nil {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	if f, err := metrics.NewForwarder(nil, metrics.ForwarderOptions{}); err == nil || f != nil {
		t.Errorf("no sink: %v, %v", f, err)
	}
}
