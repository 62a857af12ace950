package eventlog_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/authzhost/authz/host/mesh/eventlog"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"pgregory.net/rapid"
)

var keys = []string{"a", "b", "c"}

// told is a log and everything that it ever held in its present life, pruned or not.
type told struct {
	*memLog
	kind eventlog.Kind
	all  []logged
}

// truth is the newest event that concerns a user, with the life that it is of.
func (l *told) truth(key string) string {
	for _, e := range slices.Backward(l.all) {
		if e.UserID == key || e.Type == authz.EventSubject {
			return fmt.Sprint(l.life, e.Position)
		}
	}
	return l.life
}

// meshWorld is some logs, and what has been true of them since the last look began.
type meshWorld struct {
	*rapid.T
	logs    []*told
	lives   int
	allowed []map[string]map[string]bool // by log, user and truth
	looking bool
	readers [2]*reader
	stats   *propertyStats
}

type propertyStats struct{ kept, dropped, drained, resets, gaps int }

func (w *meshWorld) note(afresh bool) {
	if afresh {
		w.allowed = make([]map[string]map[string]bool, len(w.logs))
	}
	for i, l := range w.logs {
		if w.allowed[i] == nil {
			w.allowed[i] = map[string]map[string]bool{}
		}
		for _, key := range keys {
			if w.allowed[i][key] == nil {
				w.allowed[i][key] = map[string]bool{}
			}
			w.allowed[i][key][l.truth(key)] = true
		}
	}
}

// change does one thing to one log.
func (w *meshWorld) change() {
	l := rapid.SampledFrom(w.logs).Draw(w.T, "log")
	switch rapid.SampledFrom([]string{"append", "append", "append", "lose", "lose and grow", "prune", "replace", "hole"}).Draw(w.T, "change") {
	case "append":
		w.append(l, rapid.IntRange(1, 4).Draw(w.T, "events"))
	case "lose":
		w.lose(l)
	case "lose and grow":
		lost := w.lose(l)
		w.note(false)
		w.append(l, lost+rapid.IntRange(0, 2).Draw(w.T, "more"))
	case "prune":
		l.prune(rapid.IntRange(1, 3).Draw(w.T, "pruned"))
	case "replace":
		w.lives++
		l.replace(fmt.Sprint("life", w.lives))
	case "hole":
		l.set(func() { l.hole = max(0, l.head().Seq-1) * int64(rapid.IntRange(0, 1).Draw(w.T, "hole")) })
	}
	w.note(false)
}

func (w *meshWorld) append(l *told, n int) {
	for range n {
		e := authz.UserEvent(rapid.SampledFrom(keys).Draw(w.T, "user"))
		if l.kind == eventlog.Owner && rapid.IntRange(0, 4).Draw(w.T, "of a group") == 0 {
			e = authz.SubjectEvent("group:g") // no closure here names it
		}
		l.append(e)
		l.all = append(l.all, l.events[len(l.events)-1])
	}
}

func (w *meshWorld) lose(l *told) (lost int) {
	lost = min(rapid.IntRange(1, 3).Draw(w.T, "lost"), len(l.events))
	l.lose(lost)
	for _, e := range l.all[len(l.all)-lost:] {
		for _, r := range w.readers {
			r.forget(slices.Index(w.logs, l), e, fmt.Sprint(l.life, e.Position))
		}
	}
	l.all = l.all[:len(l.all)-lost]
	return lost
}

// forget drops entries that hold an event which was lost before the reader accounted for
// it. Its log cannot tell it of those; where a store is lost, all caches are emptied.
func (r *reader) forget(log int, lost logged, truth string) {
	if c, ok := r.known.Composite(); ok && c.Terms[log].Seq < lost.Seq {
		maps.DeleteFunc(r.entries, func(_ string, of []string) bool { return of[log] == truth })
	}
}

// state is all that a stamp must tell apart.
func (w *meshWorld) state() (s string) {
	for _, l := range w.logs {
		s += fmt.Sprintln(l.kind, l.life, l.all)
	}
	return s
}

// reader keeps entries by the rules of a client (spec: caching §6).
type reader struct {
	log     *eventlog.Log
	known   provider.EventLogHead
	begun   bool
	entries map[string][]string // by user, the truth in each log
}

func (w *meshWorld) fetch(r *reader, key string) {
	if r.entries[key] != nil {
		return
	}
	for _, l := range w.logs {
		r.entries[key] = append(r.entries[key], l.truth(key))
	}
}

// look brings the entries up to date; not done when a hole stopped it.
func (w *meshWorld) look(r *reader) (done bool) {
	ctx := context.Background()
	head, err := r.log.Head(ctx)
	if err != nil {
		w.Fatal(err)
	}
	was := r.known
	switch {
	case !r.begun:
		r.begun, r.entries = true, map[string][]string{}
	case head.Log != was.Log, head.Seq < was.Seq, head.Seq == was.Seq && !head.Is(was.Position):
		w.stats.resets++
		clear(r.entries)
	default:
		for !was.Covers(head.Position) {
			page, err := r.log.Since(ctx, was.Position, rapid.IntRange(1, 6).Draw(w.T, "limit"))
			if err != nil {
				w.Fatal(err)
			}
			if page.Gap || page.Reset {
				w.stats.gaps++
				clear(r.entries)
				if r.known, err = r.log.Head(ctx); err != nil {
					w.Fatal(err)
				}
				return true
			}
			for _, e := range page.Events {
				w.stats.drained++
				switch e.Type {
				case authz.EventUser:
					delete(r.entries, e.UserID)
				case authz.EventAll:
					clear(r.entries)
				}
			}
			if len(page.Events) == 0 || page.UpTo.Seq <= was.Seq {
				r.known = was
				return false
			}
			was.Position = page.UpTo
		}
		head = was
	}
	r.known = head
	return true
}

func TestWhoFollowsTheCompositeMissesNoEvent(t *testing.T) {
	stats := new(propertyStats)
	rapid.Check(t, func(rt *rapid.T) {
		w := &meshWorld{T: rt, stats: stats, readers: [2]*reader{{}, {}}}
		var parts []eventlog.Part
		for i := range rapid.IntRange(1, 4).Draw(rt, "logs") {
			l := &told{memLog: newMemLog(fmt.Sprint("first", i)), kind: eventlog.Owner}
			if i == 0 {
				l.kind = eventlog.Own
			}
			l.before = func() {
				if w.looking && rapid.IntRange(0, 3).Draw(rt, "meanwhile") == 0 {
					w.change()
				}
			}
			w.logs = append(w.logs, l)
			w.append(l, rapid.IntRange(0, 3).Draw(rt, "events at first"))
			parts = append(parts, eventlog.Part{Kind: l.kind, Partition: fmt.Sprint("p", i), Log: l})
		}
		for _, r := range w.readers {
			r.log = eventlog.Compose(eventlog.Fixed(rapid.Permutation(parts).Draw(rt, "order")...))
		}
		states, stamps := map[string]string{}, map[string]string{}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			w.note(true)
			for range rapid.IntRange(0, 3).Draw(rt, "changes") {
				w.change()
			}
			state := w.state()
			for _, r := range w.readers {
				h, err := r.log.Head(context.Background())
				if err != nil {
					rt.Fatal(err)
				}
				stamp := fmt.Sprint(h)
				if before, ok := states[stamp]; ok && before != state {
					rt.Fatalf("%s is of two states:\n%s\n%s", stamp, before, state)
				}
				if before, ok := stamps[state]; ok && before != stamp {
					rt.Fatalf("one state has two stamps: %s, %s\n%s", before, stamp, state)
				}
				states[stamp], stamps[state] = state, stamp
			}
			r := rapid.SampledFrom(w.readers[:]).Draw(rt, "reader")
			had := len(r.entries)
			w.note(true)
			w.looking = true
			done := w.look(r)
			w.looking = false
			if done {
				for _, key := range slices.Sorted(maps.Keys(r.entries)) {
					for i, truth := range r.entries[key] {
						if !w.allowed[i][key][truth] {
							rt.Fatalf("the entry of %s is of %s in log %d, which has been past it since the look began: %v", key, truth, i, w.allowed[i][key])
						}
					}
				}
				stats.kept += len(r.entries)
				stats.dropped += had - len(r.entries)
			}
			w.fetch(r, rapid.SampledFrom(keys).Draw(rt, "fetched"))
		}
	})
	t.Logf("%+v", *stats)
	if stats.kept == 0 || stats.dropped == 0 || stats.drained == 0 || stats.resets == 0 || stats.gaps == 0 {
		t.Error("a way of the readers was never gone: this proves nothing")
	}
}
