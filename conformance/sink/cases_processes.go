package sink

import (
	"errors"
	"time"

	"github.com/authzhost/authz/sdk/authz"
)

var processCases = []sinkCase{
	{ID: "W25", Rule: "when the sink's process dies in the middle of a Write, the Write ends soon, taken or unavailable, and the next process takes windows", Abilities: []Ability{Kill}, Run: func(w *world) {
		length := 5 * time.Millisecond
		sequence := uint64(0)
		w.Rounds(w.ctx, 6, func(int) {
			sequence++
			win, s := w.window("a", sequence, map[string]int64{"read": 1}), w.sink
			w.Interrupt(&length, func() {
				if err := w.write(s, win, 5*time.Second); err != nil {
					w.unavailable(err, either...)
				}
			}, w.crash)()
			w.sink = w.connect()
			sequence++
			w.take(w.sink, w.window("a", sequence, map[string]int64{"read": 1}))
		})
	}},
	{ID: "W26", Rule: "Write to a process that is dead is unavailable at once, and another process takes the window", Abilities: []Ability{Kill}, Run: func(w *world) {
		w.take(w.sink, w.window("a", 1, map[string]int64{"read": 1}))
		w.crash()
		dead := w.sink
		win := w.window("a", 2, map[string]int64{"read": 1})
		w.unavailable(w.within(0, "write to a dead process", func() error { return dead.Write(w.ctx, win) }), either...)
		w.take(w.connect(), win)
	}},
	{ID: "W27", Rule: "Write to a process that is stopped ends with its deadline, and the process takes windows when it goes on", Abilities: []Ability{Freeze}, Run: func(w *world) {
		w.take(w.sink, w.window("a", 1, map[string]int64{"read": 1}))
		w.freeze()
		w.unavailable(w.write(w.sink, w.window("a", 2, map[string]int64{"read": 1}), 500*time.Millisecond), authz.OutcomeUnknown)
		w.thaw()
		w.take(w.sink, w.window("a", 3, map[string]int64{"read": 1}))
	}},
	{ID: "W28", Rule: "Close of a process that is stopped ends with its deadline", Abilities: []Ability{Freeze}, Run: func(w *world) {
		w.take(w.sink, w.window("a", 1, map[string]int64{"read": 1}))
		w.freeze()
		w.close(w.sink, 500*time.Millisecond)
		w.thaw()
	}},
}

// crash ends the process behind the world's sink.
func (w *world) crash() {
	w.Step("kill the process behind the sink")
	if err := w.backend.(Crasher).Kill(w.sink); err != nil {
		w.Want("the process killed", "%v", err)
	}
}

// kill is crash, and another process in its place.
func (w *world) kill() {
	w.crash()
	w.sink = w.connect()
}

func (w *world) freeze() {
	w.Step("stop the process behind the sink")
	if err := w.backend.(Freezer).Stop(w.sink); err != nil {
		w.Want("the process stopped", "%v", err)
	}
	w.Cleanup(func() { _ = w.backend.(Freezer).Continue(w.sink) })
}

func (w *world) thaw() {
	w.Step("continue the process behind the sink")
	if err := w.backend.(Freezer).Continue(w.sink); err != nil {
		w.Want("the process continued", "%v", err)
	}
}

func outcomeOf(err error) authz.Outcome {
	var gone *authz.UnavailableError
	if errors.As(err, &gone) {
		return gone.Outcome
	}
	return ""
}
