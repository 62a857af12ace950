package importer

import "time"

// The line to the directory.
var lineCases = []importerCase{
	{ID: "D20", Rule: "a directory that cannot be reached is unavailable, never an empty reading. When it is back it is read again", Abilities: []Ability{Cut}, Run: func(w *world) {
		first := w.full(w.importer)
		w.cut()
		ctx, cancel := w.limited(usual)
		defer cancel()
		w.within(usual, "the reading", func() { w.broken(w.read(ctx, w.importer, "", nil)) })
		w.resume()
		w.same(first, w.full(w.importer))
	}},
	{ID: "D21", Rule: "when the line is cut in the middle of a reading, the reading ends unavailable, without an End", Abilities: []Ability{Cut}, Run: func(w *world) {
		first := w.full(w.importer)
		ctx, cancel := w.limited(usual)
		defer cancel()
		next := w.begun(ctx, w.importer)
		w.cut()
		late := w.brokenOrLate(first, w.rest(next))
		w.resume()
		w.same(first, w.full(w.importer))
		w.skipLate(late && !w.cutMidway(first, 3))
	}},
	{ID: "D22", Rule: "a reading of a directory that does not answer ends with its deadline and unavailable, without an End", Abilities: []Ability{Stall}, Run: func(w *world) {
		first := w.full(w.importer)
		s := w.backend.(Staller)
		w.Step("the directory stops answering")
		if err := s.Stall(); err != nil {
			w.Want("the directory stalled", "%v", err)
		}
		w.Cleanup(func() { _ = s.Resume() })
		const limit = 700 * time.Millisecond
		ctx, cancel := w.limited(limit)
		defer cancel()
		w.within(limit, "the reading", func() { w.broken(w.read(ctx, w.importer, "", nil)) })
		if err := s.Resume(); err != nil {
			w.Want("the directory answering again", "%v", err)
		}
		w.same(first, w.full(w.importer))
	}},
}

// cutMidway cuts the line while an importer reads that tells nothing before it has
// read everything. It reports whether the backend could.
func (w *world) cutMidway(first reading, readings int) bool {
	b, can := w.backend.(MidCutter)
	if !can {
		return false
	}
	w.Step("cut the line to the directory in the middle of the next reading")
	cut, err := b.CutMidway(readings)
	if err != nil {
		w.Want("the line cut midway", "%v", err)
	}
	w.Cleanup(func() { _ = w.backend.(Cutter).Resume() })
	ctx, cancel := w.limited(usual)
	defer cancel()
	r := w.read(ctx, w.importer, "", nil)
	if !cut() {
		return false
	}
	w.broken(r)
	w.resume()
	w.same(first, w.full(w.importer))
	return true
}

// usual bounds a reading that something keeps from its end.
const usual = 20 * time.Second

func (w *world) cut() {
	w.Step("cut the line to the directory")
	if err := w.backend.(Cutter).Cut(); err != nil {
		w.Want("the line cut", "%v", err)
	}
	w.Cleanup(func() { _ = w.backend.(Cutter).Resume() })
}

func (w *world) resume() {
	w.Step("the line is back")
	if err := w.backend.(Cutter).Resume(); err != nil {
		w.Want("the line back", "%v", err)
	}
}
