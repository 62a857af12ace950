package importer

import "time"

var processCases = []importerCase{
	{ID: "D23", Rule: "when the process is killed in the middle of a reading, the reading ends unavailable, without an End, and another process reads the whole", Abilities: []Ability{Kill}, Run: func(w *world) {
		first := w.full(w.importer)
		next := w.begun(w.ctx, w.importer)
		w.kill()
		late := false
		w.within(0, "the reading", func() { late = w.cutOff(first, w.rest(next)) })
		w.same(first, w.full(w.connect()))
		w.skipLate(late)
	}},
	{ID: "D24", Rule: "a reading by a dead process is unavailable at once", Abilities: []Ability{Kill}, Run: func(w *world) {
		w.kill()
		w.within(0, "the reading", func() { w.broken(w.read(w.ctx, w.importer, "", nil)) })
	}},
	{ID: "D25", Rule: "a reading by a stopped process ends with its deadline and unavailable, and the process reads the whole when it goes on", Abilities: []Ability{Freeze}, Run: func(w *world) {
		first := w.full(w.importer)
		f := w.backend.(Freezer)
		w.Step("stop the process behind the importer")
		if err := f.Stop(w.importer); err != nil {
			w.Want("the process stopped", "%v", err)
		}
		w.Cleanup(func() { _ = f.Continue(w.importer) })
		const limit = 700 * time.Millisecond
		ctx, cancel := w.limited(limit)
		defer cancel()
		w.within(limit, "the reading", func() { w.broken(w.read(ctx, w.importer, "", nil)) })
		w.Step("continue the process behind the importer")
		if err := f.Continue(w.importer); err != nil {
			w.Want("the process continued", "%v", err)
		}
		w.same(first, w.full(w.importer))
	}},
	{ID: "D26", Rule: "after Close a reading is unavailable", Run: func(w *world) {
		w.full(w.importer)
		w.close()
		w.within(0, "the reading", func() { w.broken(w.read(w.ctx, w.importer, "", nil)) })
	}},
	{ID: "D27", Rule: "Close ends a reading that is under way, soon and without an End", Run: func(w *world) {
		first := w.full(w.importer)
		next := w.begun(w.ctx, w.importer)
		w.close()
		late := false
		w.within(0, "the reading", func() { late = w.cutOff(first, w.rest(next)) })
		w.skipLate(late)
	}},
}

func (w *world) kill() {
	w.Step("kill the process behind the importer")
	if err := w.backend.(Crasher).Kill(w.importer); err != nil {
		w.Want("the process killed", "%v", err)
	}
}

// close closes the importer, which must not take long.
func (w *world) close() {
	w.within(0, "Close", func() {
		if err := w.importer.Close(); err != nil {
			w.Want("the importer closed", "%v", err)
		}
	})
	w.Step("close the importer")
}
