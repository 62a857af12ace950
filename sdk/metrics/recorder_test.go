package metrics_test

import (
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

func newRecorder(t *testing.T, o metrics.RecorderOptions) *metrics.Recorder {
	t.Helper()
	r, err := metrics.NewRecorder(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// direct is an observer that promises not to block.
type direct struct{ metrics.ObserverFunc }

func (direct) NonBlocking() {}

func ignore(metrics.CheckObservation) error { return nil }

func TestRatesOfADraw(t *testing.T) {
	const half = 0.5
	cases := map[string]struct {
		gate, visibility         *float64
		drawn                    float64 // what random answers
		wantGate, wantVisibility float64
		draws                    int
	}{
		"everything is observed unless configured, without a draw": {wantGate: 1, wantVisibility: 1},
		"visibility follows the gate's rate, not 1":                {gate: new(half), drawn: 0.4, wantGate: half, wantVisibility: half, draws: 2},
		"the two rates stand apart":                                {gate: new(1.0), visibility: new(0.25), drawn: 0.3, wantGate: 1, draws: 1},
		"a draw equal to the rate is not below it":                 {gate: new(half), drawn: half, draws: 2},
		"zero skips without a draw":                                {gate: new(0.0)},
		"visibility zero leaves the gates":                         {visibility: new(0.0), wantGate: 1},
		"rates are clamped":                                        {gate: new(7.0), visibility: new(-1.0), wantGate: 1},
		"a rate that is not a number means 1":                      {gate: new(math.NaN()), wantGate: 1, wantVisibility: 1},
		"an infinite rate means 1":                                 {gate: new(0.0), visibility: new(math.Inf(-1)), wantVisibility: 1},
		"a random that is not a number keeps nothing":              {gate: new(half), drawn: math.NaN(), draws: 2},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			draws := 0
			r := newRecorder(t, metrics.RecorderOptions{Observers: []metrics.Observer{metrics.ObserverFunc(ignore)},
				GateRate: c.gate, VisibilityRate: c.visibility, Random: func() float64 { draws++; return c.drawn }})
			if gate, visibility := r.DrawGate(), r.DrawVisibility(); gate != c.wantGate || visibility != c.wantVisibility {
				t.Errorf("drew %v for gates and %v for visibility", gate, visibility)
			}
			if draws != c.draws {
				t.Errorf("%d draws, want %d", draws, c.draws)
			}
		})
	}
}

func TestADrawFromTheProcessKeepsItsShare(t *testing.T) {
	r := newRecorder(t, metrics.RecorderOptions{Observers: []metrics.Observer{metrics.ObserverFunc(ignore)}, GateRate: new(0.25)})
	kept := 0
	for range 10_000 {
		if r.DrawGate() > 0 {
			kept++
		}
	}
	if kept < 2_000 || kept > 3_000 {
		t.Errorf("kept %d of 10,000 at a rate of 0.25", kept)
	}
}

func TestARandomThatPanicsKeepsNothingAndFailsNothing(t *testing.T) {
	var reported []error
	r := newRecorder(t, metrics.RecorderOptions{Observers: []metrics.Observer{metrics.ObserverFunc(ignore)}, GateRate: new(0.5),
		Random: func() float64 { panic("no entropy") }, OnError: func(err error) { reported = append(reported, err) }})
	if rate := r.DrawGate(); rate != 0 {
		t.Errorf("kept at %v", rate)
	}
	var panicked *metrics.PanicError
	if len(reported) != 1 || !errors.As(reported[0], &panicked) || panicked.Value != "no entropy" {
		t.Errorf("reported %v", reported)
	}
}

func TestWithoutARecorderNothingIsDrawn(t *testing.T) {
	var r *metrics.Recorder
	if r.DrawGate() != 0 || r.DrawVisibility() != 0 || r.Dropped() != 0 {
		t.Error("a nil recorder observes")
	}
}

func TestADrawDoesNotAllocate(t *testing.T) {
	never := newRecorder(t, metrics.RecorderOptions{Observers: []metrics.Observer{metrics.ObserverFunc(ignore)}, GateRate: new(1e-300)})
	for name, r := range map[string]*metrics.Recorder{"none": nil, "never kept": never} {
		if n := testing.AllocsPerRun(1000, func() { _ = r.DrawGate() + r.DrawVisibility() }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestCountingAKnownCounterDoesNotAllocate(t *testing.T) {
	a := newAggregator(t, metrics.AggregatorOptions{Window: time.Hour})
	r := newRecorder(t, metrics.RecorderOptions{Observers: []metrics.Observer{a}})
	o := metrics.CheckObservation{Shape: metrics.ShapeCan, Decision: metrics.Allow, Permission: "docs.files.read", ScopeType: "docs.doc",
		Principal: authz.UserPrincipal("u1"), MatchedGrantIDs: []string{"g1"}, SoleMatchGrantID: "g1", SampleRate: 1}
	if n := testing.AllocsPerRun(1000, func() { r.Deliver(o) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestScopesOfObservations(t *testing.T) {
	cases := map[string]struct {
		instances      []string
		scope          string
		wantType, want string
	}{
		"no scope is the global one":                          {scope: "", wantType: "*"},
		"the global scope never carries an instance":          {instances: []string{metrics.EveryScopeType}, scope: "*", wantType: "*"},
		"the instance is folded into its type":                {scope: "docs.doc:7", wantType: "docs.doc"},
		"a listed type carries the whole id":                  {instances: []string{"docs.doc"}, scope: "docs.doc:7:a", wantType: "docs.doc", want: "docs.doc:7:a"},
		"other types do not":                                  {instances: []string{"docs.doc"}, scope: "docs.folder:7", wantType: "docs.folder"},
		"instances of every type":                             {instances: []string{metrics.EveryScopeType}, scope: "nope.kind:7", wantType: "nope.kind", want: "nope.kind:7"},
		"an id without a type":                                {scope: "7", wantType: "(unparsed)"},
		"an id without a type is an instance of no type":      {instances: []string{"docs.doc"}, scope: ":7", wantType: "(unparsed)"},
		"an id without a type is an instance when all are so": {instances: []string{metrics.EveryScopeType}, scope: "7", wantType: "(unparsed)", want: "7"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRecorder(t, metrics.RecorderOptions{Observers: []metrics.Observer{metrics.ObserverFunc(ignore)}, ScopeInstances: c.instances})
			if gotType, got := r.ScopeOf(c.scope); gotType != c.wantType || got != c.want {
				t.Errorf("type %q, scope %q", gotType, got)
			}
		})
	}
}

func TestAnObserverThatFailsDoesNotKeepOthersFromTheObservation(t *testing.T) {
	metrics.Patient(t)
	failure := errors.New("full")
	broken := map[string]metrics.ObserverFunc{
		"returns an error": func(metrics.CheckObservation) error { return failure },
		"panics":           func(metrics.CheckObservation) error { panic(failure) },
	}
	for name, f := range broken {
		for kind, first := range map[string]metrics.Observer{"direct": direct{f}, "bounded": f} {
			t.Run(name+", "+kind, func(t *testing.T) {
				var reported []error
				var seen []metrics.CheckObservation
				r := newRecorder(t, metrics.RecorderOptions{
					Observers: []metrics.Observer{first, metrics.ObserverFunc(func(o metrics.CheckObservation) error { seen = append(seen, o); return nil })},
					OnError:   func(err error) { reported = append(reported, err); panic("OnError fails too") },
				})
				o := metrics.CheckObservation{At: 1, Shape: metrics.ShapeHolds}
				r.Deliver(o)
				if diff := cmp.Diff([]metrics.CheckObservation{o}, seen); diff != "" {
					t.Errorf("the second observer, -want +got:\n%s", diff)
				}
				if len(reported) != 1 {
					t.Fatalf("reported %v", reported)
				}
				var panicked *metrics.PanicError
				if isPanic := errors.As(reported[0], &panicked); isPanic != (name == "panics") || !isPanic && !errors.Is(reported[0], failure) {
					t.Errorf("reported %v", reported[0])
				}
			})
		}
	}
}

func TestAnObserverThatHangsLosesCountsAndHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var mu sync.Mutex
		slow, other := 0, 0
		var reported []error
		r := newRecorder(t, metrics.RecorderOptions{
			Observers: []metrics.Observer{
				metrics.ObserverFunc(func(metrics.CheckObservation) error {
					<-release
					mu.Lock()
					defer mu.Unlock()
					slow++
					return nil
				}),
				metrics.ObserverFunc(func(metrics.CheckObservation) error { other++; return nil }),
			},
			OnError: func(err error) { reported = append(reported, err) },
		})
		start := time.Now()
		r.Deliver(metrics.CheckObservation{})
		if waited := time.Since(start); waited != 10*time.Millisecond {
			t.Errorf("the first check waited %v", waited)
		}
		start = time.Now()
		for range 5 {
			r.Deliver(metrics.CheckObservation{})
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("later checks waited %v", waited)
		}
		var overdue *metrics.OverdueError
		if len(reported) != 1 || !errors.As(reported[0], &overdue) || !strings.Contains(overdue.In, "observer 0") {
			t.Errorf("reported %v", reported)
		}
		if other != 6 || r.Dropped() != 5 {
			t.Errorf("the other observer saw %d of 6, %d were counted as dropped, want 5", other, r.Dropped())
		}
		close(release)
		synctest.Wait()
		r.Deliver(metrics.CheckObservation{})
		if slow != 2 || other != 7 || r.Dropped() != 5 {
			t.Errorf("after its return it saw %d, the other %d, dropped %d", slow, other, r.Dropped())
		}
	})
}

func TestManyChecksAtOnceAreHeldUpByAHangingObserverOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		reports := make(chan error, 100)
		r := newRecorder(t, metrics.RecorderOptions{
			Observers: []metrics.Observer{metrics.ObserverFunc(func(metrics.CheckObservation) error { <-release; return nil })},
			OnError:   func(err error) { reports <- err },
		})
		var checks sync.WaitGroup
		for range 50 {
			checks.Go(func() { r.Deliver(metrics.CheckObservation{}) })
		}
		checks.Wait()
		if len(reports) != 1 {
			t.Errorf("%d reports", len(reports))
		}
		close(release)
	})
}

func TestAnObserverThatEndsItsGoroutineIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(t, metrics.RecorderOptions{Observers: []metrics.Observer{metrics.ObserverFunc(func(metrics.CheckObservation) error {
			runtime.Goexit()
			return nil
		})}})
		start := time.Now()
		r.Deliver(metrics.CheckObservation{})
		if waited := time.Since(start); waited != 0 {
			t.Errorf("waited %v", waited)
		}
	})
}

func TestAnOnErrorThatHangsHoldsUpACheckOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := newRecorder(t, metrics.RecorderOptions{
			Observers: []metrics.Observer{direct{func(metrics.CheckObservation) error { return errors.New("full") }}},
			OnError:   func(error) { <-release },
		})
		start := time.Now()
		for range 5 {
			r.Deliver(metrics.CheckObservation{})
		}
		if waited := time.Since(start); waited != 10*time.Millisecond {
			t.Errorf("five checks waited %v", waited)
		}
		close(release)
	})
}

func TestANonBlockingObserverIsCalledInTheCheckItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(t, metrics.RecorderOptions{Observers: []metrics.Observer{
			direct{func(metrics.CheckObservation) error { time.Sleep(time.Second); return nil }}}})
		start := time.Now()
		r.Deliver(metrics.CheckObservation{})
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("waited %v", waited)
		}
	})
}

func TestTheShippedObserversAreNonBlocking(t *testing.T) {
	for _, o := range []metrics.Observer{(*metrics.Aggregator)(nil), (*metrics.ProviderSink)(nil)} {
		if _, ok := o.(metrics.NonBlocking); !ok {
			t.Errorf("%T is bounded", o)
		}
	}
}

func TestARecorderRefusesOptionsThatObserveNothing(t *testing.T) {
	for name, o := range map[string]metrics.RecorderOptions{
		"no observer":        {},
		"a nil observer":     {Observers: []metrics.Observer{nil}},
		"a negative timeout": {Observers: []metrics.Observer{metrics.ObserverFunc(ignore)}, ObserverTimeout: -1},
	} {
		if r, err := metrics.NewRecorder(o); err == nil || r != nil {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
}
