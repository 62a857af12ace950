package sink

import (
	"context"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

// Back-pressure is seen in what a sink's process comes to hold.
const (
	warming  = 10        // windows after which a process has the memory that it works with
	pressing = 40        // windows that are pressed on a target system that does not answer
	mayHold  = 256 << 20 // bytes that the sink may hold of them, which are more
)

var contextCases = []sinkCase{
	{ID: "W20", Rule: "Write returns soon when its context has already ended, and the sink goes on", Run: func(w *world) {
		ctx, cancel := context.WithCancel(w.ctx)
		cancel()
		w.within(0, "write a window", func() error { return w.sink.Write(ctx, w.window("a", 1, map[string]int64{"read": 1})) })
		w.take(w.sink, w.window("a", 2, map[string]int64{"read": 1}))
	}},
	{ID: "W21", Rule: "Write returns soon after its context ends, also while the target system does not answer", Abilities: []Ability{Stall}, Run: func(w *world) {
		w.stall()
		for n := range 6 {
			if err := w.write(w.sink, w.window("a", uint64(n+1), map[string]int64{"read": 1}), 300*time.Millisecond); err != nil {
				w.unavailable(err, either...)
			}
		}
	}},
	{ID: "W22", Rule: "while a target system does not answer, Write waits or refuses; what the sink holds does not grow with the windows", Large: true,
		Abilities: []Ability{Stall, Weigh}, Run: func(w *world) {
			weigh := func() int64 {
				n, err := w.backend.(Weigher).Weigh(w.sink)
				if err != nil {
					w.Skip("the memory of the sink's process cannot be told: " + err.Error())
				}
				return n
			}
			full := w.large("a", 1)
			for n := range warming {
				full.Sequence = uint64(n + 1)
				w.takeWithin(unhurried, w.sink, full)
			}
			w.stall()
			before, taken := weigh(), 0
			for n := range pressing {
				full.Sequence = uint64(warming + n + 1)
				if err := w.write(w.sink, full, time.Second); err == nil {
					taken++
				} else if w.unavailable(err, either...); taken+4 < n {
					break // it pushes back
				}
				if after := weigh(); after-before > mayHold {
					w.Want("a sink that holds no more and more of what it cannot pass on", "%d MB more after %d windows, %d of them taken", (after-before)>>20, n+1, taken)
				}
			}
		}},
	{ID: "W23", Rule: "Close returns soon after its context ends, also while the target system does not answer", Abilities: []Ability{Stall}, Run: func(w *world) {
		w.stall()
		if err := w.write(w.sink, w.window("a", 1, map[string]int64{"read": 1}), 300*time.Millisecond); err != nil {
			w.unavailable(err, either...)
		}
		w.close(w.sink, 500*time.Millisecond)
	}},
	{ID: "W24", Rule: "after Close Write is unavailable and has taken nothing", Run: func(w *world) {
		w.take(w.sink, w.window("a", 1, map[string]int64{"read": 1}))
		w.close(w.sink, usual)
		w.unavailable(w.write(w.sink, w.window("a", 2, map[string]int64{"read": 1}), usual), authz.OutcomeNotApplied)
	}},
}

// stall keeps the target system from answering until the case ends.
func (w *world) stall() {
	s := w.backend.(Staller)
	w.Step("the target system stops answering")
	if err := s.Stall(); err != nil {
		w.Want("the target system stalled", "%v", err)
	}
	w.Cleanup(func() { _ = s.Resume() })
}

// within expects that a call ends soon after the limit that its context has.
func (w *world) within(limit time.Duration, what string, f func() error) error {
	start := time.Now()
	err := f()
	took := time.Since(start)
	w.Step("%s, within %v → %s after %v", what, limit, told(err), took.Round(time.Millisecond))
	if took > limit+soon && w.ctx.Err() == nil {
		w.Want("an end soon after the context's", "it took %v", took.Round(time.Millisecond))
	}
	return err
}

// close closes a sink; an error of it is no failure: what was taken may not have
// been passed on in time.
func (w *world) close(s metrics.Sink, limit time.Duration) {
	_ = w.closing(s, limit)
}

func (w *world) closing(s metrics.Sink, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(w.ctx, limit)
	defer cancel()
	return w.within(limit, "close the sink", func() error { return s.Close(ctx) })
}
