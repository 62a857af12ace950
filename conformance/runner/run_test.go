package runner

import (
	"context"
	"sync"
	"testing"
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
