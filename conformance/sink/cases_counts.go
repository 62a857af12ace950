package sink

import (
	"fmt"
	"maps"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

// lateness is for what a sink might pass on although it has refused it.
const lateness = 300 * time.Millisecond

var countCases = []sinkCase{
	{ID: "W07", Rule: "the counts of windows that were taken reach the target system, added up, allowed and denied checks apart", Abilities: []Ability{Count}, Run: func(w *world) {
		w.take(w.sink, w.window("a", 1, map[string]int64{"read": 3, "write": 1}))
		w.take(w.sink, w.window("a", 2, map[string]int64{"read": 4}))
		denied := w.window("a", 5, map[string]int64{"read": 2})
		denied.Checks[0].Decision = metrics.Deny
		w.take(w.sink, denied)
		want := w.sums("read", 7, "write", 1)
		want[Key{w.name, w.permission("read"), metrics.Deny}] = 2
		w.settled(w.sink, want)
	}},
	{ID: "W08", Rule: "none of the counts that come from several origins at once is lost or counted twice", Abilities: []Ability{Count}, Run: func(w *world) {
		w.Each(5, func(i int) {
			for n := range 6 {
				w.take(w.sink, w.window(fmt.Sprint("o", i), uint64(n+1), map[string]int64{"read": 1}))
			}
		})
		w.settled(w.sink, w.sums("read", 30))
	}},
	{ID: "W09", Rule: "the counts of two applications stay apart", Abilities: []Ability{Count}, Run: func(w *world) {
		other := w.window("b", 1, map[string]int64{"read": 5})
		other.Application = w.name + "-other"
		w.take(w.sink, w.window("a", 1, map[string]int64{"read": 2}))
		w.take(w.sink, other)
		want := w.sums("read", 2)
		want[Key{other.Application, w.permission("read"), metrics.Allow}] = 5
		w.settled(w.sink, want)
	}},
	{ID: "W10", Rule: "a window that is sent again by its origin and sequence counts once", Needs: metrics.SinkRecognises, Abilities: []Ability{Count}, Run: func(w *world) {
		first, second := w.window("a", 1, map[string]int64{"read": 3}), w.window("a", 2, map[string]int64{"read": 4})
		for _, win := range []metrics.Window{first, first, second, second, second} {
			w.take(w.sink, win)
		}
		w.settled(w.sink, w.sums("read", 7))
	}},
	{ID: "W11", Rule: "a window of another origin is another window, whatever its sequence", Needs: metrics.SinkRecognises, Abilities: []Ability{Count}, Run: func(w *world) {
		w.take(w.sink, w.window("a", 1, map[string]int64{"read": 3}))
		w.take(w.sink, w.window("b", 1, map[string]int64{"read": 3}))
		w.take(w.sink, w.window("b", 2, map[string]int64{"read": 3}))
		w.take(w.sink, w.window("a", 2, map[string]int64{"read": 3}))
		w.settled(w.sink, w.sums("read", 12))
	}},
	{ID: "W12", Rule: "a window that is sent again after its sink was killed and started again counts once", Needs: metrics.SinkRecognises, Abilities: []Ability{Count, Kill}, Run: func(w *world) {
		for n := range 3 {
			win := w.window("a", uint64(n+1), map[string]int64{"read": 3})
			w.take(w.sink, win)
			w.kill()
			w.take(w.sink, win)
		}
		w.settled(w.sink, w.sums("read", 9))
	}},
	{ID: "W13", Rule: "a window that was taken is not lost when the sink is killed", Needs: metrics.SinkRecognises, Abilities: []Ability{Count, Kill}, Run: func(w *world) {
		for n := range 4 {
			w.take(w.sink, w.window("a", uint64(n+1), map[string]int64{"read": 1}))
			w.kill()
		}
		w.settled(w.sink, w.sums("read", 4))
	}},
	{ID: "W14", Rule: "when the sink is killed in the middle of a window and the window is sent again, it counts once", Needs: metrics.SinkRecognises, Abilities: []Ability{Count, Kill}, Run: func(w *world) {
		total, length := 0.0, 5*time.Millisecond
		w.Rounds(w.ctx, 8, func(round int) {
			win, s := w.window("a", uint64(round+1), map[string]int64{"read": 1}), w.sink
			w.Interrupt(&length, func() { _ = w.write(s, win, usual) }, w.crash)()
			w.sink = w.connect()
			w.take(w.sink, win)
			total++
		})
		w.settled(w.sink, map[Key]float64{w.key("read"): total})
	}},
	{ID: "W15", Rule: "what Write said of a window is what the target system counts, also of windows sent while it did not answer", Abilities: []Ability{Count, Stall}, Run: func(w *world) {
		w.take(w.sink, w.window("a", 1, map[string]int64{"before": 1}))
		s := w.backend.(Staller)
		if err := s.Stall(); err != nil {
			w.Want("the target system stalled", "%v", err)
		}
		want, open := w.sums("before", 1), map[Key]float64{}
		for n := range 4 {
			name := fmt.Sprint("during", n)
			switch err := w.write(w.sink, w.window("a", uint64(n+2), map[string]int64{name: 1}), 500*time.Millisecond); {
			case err == nil:
				want[w.key(name)] = 1
			case outcomeOf(err) != authz.OutcomeNotApplied:
				open[w.key(name)] = 1
			}
		}
		if err := s.Resume(); err != nil {
			w.Want("the target system answering again", "%v", err)
		}
		time.Sleep(lateness)
		w.settledBut(w.sink, want, open)
	}},
	{ID: "W16", Rule: "Close passes on what was taken", Abilities: []Ability{Count}, Run: func(w *world) {
		w.take(w.sink, w.window("a", 1, map[string]int64{"read": 3}))
		w.close(w.sink, usual)
		if _, err := w.counts(); err != nil {
			w.Skip("the counts cannot be read once the sink has ended")
		}
		w.counted(w.sums("read", 3))
	}},
}

// sums are counts of allowed checks: permission, number, permission, number…
func (w *world) sums(pairs ...any) map[Key]float64 {
	all := map[Key]float64{}
	for i := 0; i < len(pairs); i += 2 {
		all[w.key(pairs[i].(string))] = float64(pairs[i+1].(int))
	}
	return all
}

// settledBut is settled where those of open may be counted or not.
func (w *world) settledBut(s metrics.Sink, want, open map[Key]float64) {
	if len(open) > 0 {
		win := w.window("a", 1<<20, map[string]int64{"after": 1})
		w.take(s, win)
		w.waitFor(w.key("after"), 1)
		want[w.key("after")] = 1
		got, err := w.counts()
		if err != nil {
			w.Want("the counts", "%v", err)
		}
		want = maps.Clone(want)
		for key, n := range open {
			if got[key] > 0 {
				want[key] = n
			}
		}
	}
	w.settled(s, want)
}
