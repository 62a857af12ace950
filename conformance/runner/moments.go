package runner

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// Each runs f n times at once, from one moment on, and waits.
func (r *Record) Each(n int, f func(i int)) {
	var all, ready sync.WaitGroup
	ready.Add(n)
	start := make(chan struct{})
	for i := range n {
		all.Go(func() {
			ready.Done()
			<-start
			r.Guard(func() { f(i) })
		})
	}
	ready.Wait()
	close(start)
	all.Wait()
}

// Background runs f until it returns; wait waits for that.
func (r *Record) Background(f func()) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Guard(f)
	}()
	return func() { <-done }
}

// RoundsWithin is the shorter of limit and Plan.RoundsWithin.
func (r *Record) RoundsWithin(limit time.Duration) time.Duration {
	if r.roundsWithin > 0 {
		return min(limit, r.roundsWithin)
	}
	return limit
}

// Rounds repeats f up to n times while the case has time for it: at least twice,
// and at most for Plan.RoundsWithin and a third of its time.
func (r *Record) Rounds(ctx context.Context, n int, f func(round int)) {
	limit := DefaultTimeout / 3
	if deadline, ok := ctx.Deadline(); ok {
		limit = time.Until(deadline) / 3
	}
	end := time.Now().Add(r.RoundsWithin(limit))
	for round := range n {
		if round >= 2 && !time.Now().Before(end) {
			r.Step("%d of %d rounds for want of time", round, n)
			return
		}
		f(round)
	}
}

// Interrupt begins act and calls stop at a random moment, about as often before
// the end of act as after it: length, a first guess of how long act takes, follows
// what happens. The result waits for act.
func (r *Record) Interrupt(length *time.Duration, act, stop func()) (wait func()) {
	done := make(chan struct{})
	wait = r.Background(func() {
		defer close(done)
		act()
	})
	time.Sleep(rand.N(max(*length, 200*time.Microsecond)))
	select {
	case <-done:
		*length = *length * 3 / 4
	default:
		*length = *length * 5 / 4
	}
	stop()
	return wait
}
