package importer

import (
	"context"
	"slices"
	"time"

	"github.com/authzhost/authz/sdk/directory"
)

var readerCases = []importerCase{
	{ID: "D10", Rule: "several readings at once are each whole", Run: func(w *world) {
		first := w.full(w.importer).told()
		open := w.begun(w.ctx, w.importer)
		w.Each(4, func(int) { w.sameTold(first, w.full(w.importer).told()) })
		w.sameTold(first, w.whole(w.rest(open)).told())
	}},
	{ID: "D11", Rule: "a reader that stops early ends its reading soon, and the next reading is whole", Run: func(w *world) {
		first := w.full(w.importer)
		before := first.told()
		for _, stop := range []int{1, 2, 3, len(first.entries) / 2, len(first.entries) - 1} {
			w.stopped(stop)
			w.sameTold(before, w.full(w.importer).told())
		}
	}},
	{ID: "D12", Rule: "once its reader has stopped nothing more of a reading is handed out", Abilities: []Ability{Tell}, Run: func(w *world) {
		w.read(w.ctx, w.importer, "", func(n int) bool { return n < 2 })
		stopped := w.handed()
		time.Sleep(300 * time.Millisecond)
		if later := w.handed(); later != stopped {
			w.Want("nothing handed out any more", "%d entries more", later-stopped)
		}
	}},
	{ID: "D13", Rule: "a reading with a context that has already ended ends unavailable, without an End", Run: func(w *world) {
		ctx, cancel := context.WithCancel(w.ctx)
		cancel()
		w.within(0, "the reading", func() { w.broken(w.read(ctx, w.importer, "", nil)) })
		w.full(w.importer)
	}},
	{ID: "D14", Rule: "when the context of a reading ends in the middle, the reading ends soon and unavailable, without an End", Run: func(w *world) {
		first := w.full(w.importer)
		ctx, cancel := context.WithCancel(w.ctx)
		defer cancel()
		next := w.begun(ctx, w.importer)
		cancel()
		late := false
		w.within(0, "the reading", func() { late = w.cutOff(first, w.rest(next)) })
		w.same(first, w.full(w.importer))
		w.skipLate(late)
	}},
	{ID: "D15", Rule: "a slow reader gets the whole reading", Run: func(w *world) {
		first := w.full(w.importer)
		pause := max(1, len(first.entries)/20)
		w.same(first, w.whole(w.read(w.ctx, w.importer, "", func(n int) bool {
			if n == 1 {
				time.Sleep(time.Second)
			} else if n%pause == 0 {
				time.Sleep(50 * time.Millisecond)
			}
			return true
		})))
	}},
	{ID: "D16", Rule: "while its reader pauses an importer runs ahead by no more than what is in transit", Abilities: []Ability{Tell}, Run: func(w *world) {
		before := w.handed()
		w.begun(w.ctx, w.importer)
		time.Sleep(500 * time.Millisecond)
		if ahead := w.handed() - before; ahead > inFlight {
			w.Want("a reading that waits for its reader", "%d entries handed out, 1 read", ahead)
		}
	}},
}

// stopped reads so many entries and expects that the reading ends soon then, however
// long it took to come so far.
func (w *world) stopped(after int) {
	var at time.Time
	w.read(w.ctx, w.importer, "", func(n int) bool {
		if n < after {
			return true
		}
		at = time.Now()
		return false
	})
	if took := time.Since(at); !at.IsZero() && took > soon && w.ctx.Err() == nil {
		w.Want("a reading that its reader stops to end soon", "it took %v", took.Round(time.Millisecond))
	}
}

func (w *world) handed() int64 {
	n, err := w.backend.(Teller).Handed(w.importer)
	if err != nil {
		w.Want("the number of entries handed out", "%v", err)
	}
	return n
}

// next pulls a reading's entries.
type next func() (directory.Entry, error, bool)

// begun begins a full reading and reads its first entry.
func (w *world) begun(ctx context.Context, i directory.Importer) next {
	pull, _ := w.importing(ctx, i)
	entry, err, ok := pull()
	w.Step("import, and read one entry%s", told(err))
	if _, begins := entry.(directory.Begin); !ok || err != nil || !begins {
		w.Want("a Begin", "%s%s", shown(entry), told(err))
	}
	return pull
}

// rest reads on what begun has begun; its Begin is part of it.
func (w *world) rest(pull next) reading {
	r := reading{entries: []directory.Entry{directory.Begin{}}}
	for {
		entry, err, ok := pull()
		switch {
		case !ok:
			w.Step("read on → %d entries%s%s", len(r.entries), r.ending(), told(r.err))
			return r
		case r.err != nil:
			r.after++
		case err != nil:
			r.err = err
		default:
			r.entries = append(r.entries, entry)
		}
	}
}

// cutOff expects that a reading of what first has read was cut off soon after its
// first entry. late says that it was not because all of it was on its way already.
func (w *world) cutOff(first, r reading) (late bool) {
	if len(r.entries) > inFlight {
		w.Want("no more entries than were on their way", "%d%s", len(r.entries), r.ending())
	}
	return w.brokenOrLate(first, r)
}

// brokenOrLate is cutOff for what may have been on its way in any number.
func (w *world) brokenOrLate(first, r reading) (late bool) {
	if r.err == nil && r.ended() && slices.Equal(first.told(), r.told()) {
		return true
	}
	w.broken(r)
	return false
}

// skipLate is for a case that could not cut off what it wanted to.
func (w *world) skipLate(late bool) {
	if late {
		w.Skip("the directory is too small: a reading is over before anything can happen in its middle")
	}
}
