package runner

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// deaf is a case that ends when it is let go, whatever becomes of its context, and
// then still wants something cleaned up.
func deaf(begun chan<- struct{}, let <-chan struct{}, late func()) Job {
	return Job{Case: Case{Suite: "s", ID: "A01"}, Run: func(_ context.Context, r *Record) {
		close(begun)
		<-let
		r.Cleanup(late)
	}}
}

func TestACaseThatHangsIsLeftBehind(t *testing.T) {
	for name, c := range map[string]struct {
		timeout time.Duration
		ended   bool // the run is, while the case hangs
		want    Outcome
	}{
		"its time is over": {50 * time.Millisecond, false, Failed},
		"the run is ended": {time.Hour, true, Skipped},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			begun, let := make(chan struct{}), make(chan struct{})
			var cleaned sync.WaitGroup
			cleaned.Add(1)
			p := Plan{Timeout: c.timeout, grace: 50 * time.Millisecond, Jobs: []Job{deaf(begun, let, func() { defer cleaned.Done(); panic("the case is over") })}}
			go func() {
				<-begun
				if c.ended {
					cancel()
				}
			}()
			report := p.Check(ctx, Selection{}, nil)
			if r := report.Results[0]; r.Outcome != c.want || report.Ended != c.ended || r.Duration > time.Minute {
				t.Errorf("%s after %v, ended %v: %+v", r.Outcome, r.Duration, report.Ended, r.Failure)
			}
			close(let)
			cleaned.Wait()
		})
	}
}

func TestRoundsEndWithTheirTime(t *testing.T) {
	for name, c := range map[string]struct {
		within, round time.Duration
		want          int // of 20
	}{
		"there is time for all":        {0, time.Second, 20},
		"a third of the case's time":   {0, 5 * time.Second, 8},
		"the plan's":                   {10 * time.Second, time.Second, 10},
		"the plan's is longer":         {time.Hour, 5 * time.Second, 8},
		"at least two are always made": {time.Millisecond, 5 * time.Second, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				made := 0
				job := Job{Case: Case{Suite: "s", ID: "A01"}, Run: func(ctx context.Context, r *Record) {
					r.Rounds(ctx, 20, func(int) { made++; time.Sleep(c.round) })
				}}
				Plan{RoundsWithin: c.within, Jobs: []Job{job}}.Check(t.Context(), Selection{}, nil)
				if made != c.want {
					t.Errorf("%d rounds, want %d", made, c.want)
				}
			})
		})
	}
}
