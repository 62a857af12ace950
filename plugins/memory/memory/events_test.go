package memory_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func TestEventLog(t *testing.T) { runCases(t, memoryFactory, eventCases) }

// emit commits events at an instant, one for each user id.
func (s *named) emit(at int64, users ...string) storage.CommitResult {
	s.w.Helper()
	c := storage.Commit{ID: commitID(), At: at}
	for _, u := range users {
		c.Events = append(c.Events, authz.UserEvent(u))
	}
	return s.do(c)
}

// since renders a page: the users of its events, then how far it goes.
func (s *named) since(seq int64, limit int) string {
	s.w.Helper()
	page, err := s.EventsSince(s.w.ctx, seq, limit)
	if err != nil {
		s.w.Fatalf("eventsSince: %v", err)
	}
	if page.Gap {
		s.w.same(storage.EventPage{Gap: true}, page)
		return "gap"
	}
	text := strings.Join(ids(page.Events, func(e authz.Event) string { return e.UserID }), " ")
	return strings.TrimSpace(fmt.Sprintf("%s →%d", text, page.UpTo))
}

func (s *named) prune(p storage.PruneEvents) int64 {
	s.w.Helper()
	n, err := s.PruneEvents(s.w.ctx, p)
	if err != nil {
		s.w.Fatalf("pruneEvents: %v", err)
	}
	return n
}

var eventCases = []contractCase{
	{"E01", "a new store has head 0 and an empty page", func(w *world) {
		w.same(int64(0), w.head())
		w.same("→0", w.since(0, 10))
	}},
	{"E02", "commits with one, then two events are numbered 1, 2, 3", func(w *world) {
		w.same(int64(1), w.emit(1, "a").UpTo)
		w.same(int64(3), w.emit(1, "b", "c").UpTo)
		w.same(int64(3), w.head())
	}},
	{"E03", "a page holds the events after the cursor, oldest first", func(w *world) {
		w.emit(1, "a", "b", "c")
		w.same("a b c →3", w.since(0, 10))
		w.same("b c →3", w.since(1, 10))
		w.same("→3", w.since(3, 10))
	}},
	{"E04", "a limit cuts a page, and the next goes on from it", func(w *world) {
		w.emit(1, "a", "b", "c")
		w.same("a b →2", w.since(0, 2))
		w.same("c →3", w.since(2, 2))
	}},
	{"E05", "each of the six kinds comes back equal", func(w *world) {
		want := []authz.Event{authz.UserEvent("u"), authz.SubjectEvent("group:é"), authz.RoleEvent("r"), authz.ScopeEvent("docs.doc:1"),
			{Type: authz.EventCatalog}, {Type: authz.EventAll}}
		w.do(storage.Commit{ID: "c", Events: want})
		page, err := w.EventsSince(w.ctx, 0, 10)
		if err != nil {
			w.Fatal(err)
		}
		w.same(want, page.Events)
	}},
	{"E06", "a limit of zero or less gives an empty page up to the cursor", func(w *world) {
		w.emit(1, "a", "b", "c")
		w.same("→1", w.since(1, 0))
		w.same("→1", w.since(1, -1))
	}},
	{"E07", "a negative number is a validation error", func(w *world) {
		for _, seq := range []int64{-1, authz.MaxInstant + 1} {
			_, err := w.EventsSince(w.ctx, seq, 1)
			w.code(storage.CodeValidation, err)
		}
	}},
	{"E08", "a cursor ahead of the head gives an empty page and no gap", func(w *world) {
		w.emit(1, "a")
		w.same("→9", w.since(9, 10))
	}},
	{"E10", "two stores appending at once share no number and leave none out", func(w *world) {
		stores := []*named{w.named, w.open("")}
		upTo := make([][]int64, 2)
		each(2, func(i int) {
			for n := range 100 {
				r, err := stores[i].Commit(w.ctx, storage.Commit{ID: fmt.Sprintf("%d-%d", i, n), Events: []authz.Event{authz.UserEvent(fmt.Sprint(i))}})
				if err != nil {
					w.Errorf("append: %v", err)
				}
				upTo[i] = append(upTo[i], r.UpTo)
			}
		})
		w.same(int64(200), w.head())
		seen := map[int64]bool{}
		for _, n := range append(upTo[0], upTo[1]...) {
			if seen[n] || n < 1 || n > 200 {
				w.Fatalf("number %d given twice or out of range", n)
			}
			seen[n] = true
		}
	}},
	{"E11", "pruning by age deletes exactly the older prefix; a cursor before the mark is a gap", func(w *world) {
		w.emit(10, "a")
		w.emit(20, "b")
		w.emit(30, "c")
		w.same(int64(1), w.prune(storage.PruneEvents{Before: ptr(int64(20))}))
		w.same("gap", w.since(0, 10))
		w.same("gap", w.since(0, 0))
		w.same("b c →3", w.since(1, 10))
	}},
	{"E12", "pruning by keepRows leaves only the newest, and the head", func(w *world) {
		w.emit(1, "a", "b", "c", "d")
		w.same(int64(2), w.prune(storage.PruneEvents{KeepRows: ptr(int64(2))}))
		w.same("gap", w.since(1, 10))
		w.same("c d →4", w.since(2, 10))
		w.same(int64(4), w.head())
		w.same(int64(0), w.prune(storage.PruneEvents{KeepRows: ptr(int64(3)), Before: ptr(int64(0))}))
	}},
	{"E13", "pruning that reaches nothing, or an empty log, deletes 0; a negative keepRows is refused", func(w *world) {
		w.same(int64(0), w.prune(storage.PruneEvents{KeepRows: ptr(int64(0)), Before: ptr(int64(5))}))
		w.emit(10, "a")
		for _, p := range []storage.PruneEvents{{}, {Before: ptr(int64(10))}, {KeepRows: ptr(int64(1))}, {KeepRows: ptr(authz.MaxInstant)}} {
			w.same(int64(0), w.prune(p))
		}
		w.same("a →1", w.since(0, 5))
		_, err := w.PruneEvents(w.ctx, storage.PruneEvents{KeepRows: ptr(int64(-1))})
		w.code(storage.CodeValidation, err)
	}},
	{"E14", "after everything was pruned the numbering goes on", func(w *world) {
		w.emit(1, "a", "b")
		w.same(int64(2), w.prune(storage.PruneEvents{KeepRows: ptr(int64(0))}))
		w.same(int64(2), w.head())
		w.same("→2", w.since(2, 10))
		w.same(int64(3), w.emit(1, "c").UpTo)
		w.same("c →3", w.since(2, 10))
	}},
	{"E15", "pruning never touches audit", func(w *world) {
		w.append(entry("a", 1))
		w.emit(1, "a")
		w.prune(storage.PruneEvents{Before: ptr(int64(100))})
		w.same("a", w.audit(storage.AuditFilter{}))
	}},
	{"E16", "a commit without events leaves the head and has no number", func(w *world) {
		w.emit(1, "a")
		w.same(int64(0), w.do(changes(storage.UpsertRole{Role: fullRole("r")})).UpTo)
		w.same(int64(1), w.head())
	}},
	{"E17", "whoever sees an event sees its rows, and the other way round through readAccess", func(w *world) {
		var reading sync.WaitGroup
		stop := make(chan struct{})
		reading.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				head, err := w.HeadSeq(w.ctx)
				n, countErr := w.CountGrants(w.ctx, storage.GrantFilter{})
				a, accessErr := w.ReadAccess(w.ctx, storage.AccessQuery{Subjects: []string{"user:u"}})
				if err != nil || countErr != nil || accessErr != nil || n < head || int64(len(a.Grants)) != a.Head {
					w.Errorf("head %d, %d grants; access head %d, %d grants", head, n, a.Head, len(a.Grants))
					return
				}
			}
		})
		for i := range 150 {
			c := changes(storage.InsertGrant{Grant: grant(fmt.Sprint(i), "user:u")})
			c.Events = []authz.Event{authz.SubjectEvent("user:u")}
			w.do(c)
		}
		close(stop)
		reading.Wait()
	}},
	{"E18", "reopening keeps head, events and mark", func(w *world) {
		w.emit(1, "a", "b", "c")
		w.prune(storage.PruneEvents{KeepRows: ptr(int64(1))})
		w.named = w.reopen()
		w.same(int64(3), w.head())
		w.same("gap", w.since(1, 9))
		w.same("c →3", w.since(2, 9))
	}},
	{"E19", "watch yields the head at once, and the new one while another store commits", func(w *world) {
		w.emit(1, "a")
		other := w.open("")
		ctx, cancel := context.WithCancel(w.ctx)
		defer cancel()
		heads := make(chan int64)
		ended := make(chan error, 1)
		go func() {
			for head, err := range w.Watch(ctx) {
				if err != nil {
					ended <- err
					return
				}
				heads <- head
			}
			ended <- nil
		}()
		w.same(int64(1), <-heads)
		other.emit(1, "b")
		w.same(int64(2), <-heads)
		other.write(storage.UpsertRole{Role: fullRole("r")}) // no movement
		other.prune(storage.PruneEvents{KeepRows: ptr(int64(0))})
		for range 50 { // nobody reads meanwhile: coalesced
			other.emit(1, "c")
		}
		last := int64(0)
		for last < 52 {
			select {
			case head := <-heads:
				if head < last {
					w.Fatalf("head fell from %d to %d", last, head)
				}
				last = head
			case <-time.After(10 * time.Second):
				w.Fatalf("stuck at head %d", last)
			}
		}
		cancel()
		if err := <-ended; err != nil {
			w.Fatalf("the end of the context is no error: %v", err)
		}
	}},
	{"E19", "a refused commit wakes no watcher, and closing the handle ends a watch", func(w *world) {
		ctx, cancel := context.WithCancel(w.ctx)
		defer cancel()
		watcher := w.open("")
		seen := make(chan int64, 100)
		ended := make(chan error, 1)
		go func() {
			for head, err := range watcher.Watch(ctx) {
				if err != nil {
					ended <- err
					return
				}
				seen <- head
			}
			ended <- nil
		}()
		w.same(int64(0), <-seen)
		for range 3 {
			w.refuse(storage.CodeStaleFence, storage.Commit{ID: commitID(), Fences: []storage.Fence{{Key: "k", Fence: 1}}, Events: []authz.Event{{Type: authz.EventAll}}})
		}
		w.emit(1, "a")
		w.same(int64(1), <-seen)
		if err := watcher.Close(); err != nil {
			w.Fatal(err)
		}
		w.code(storage.CodeUnavailable, <-ended)
		w.same(0, len(seen))
	}},
	{"E20", "a reader that pages while another prunes sees events in order or a gap, never a hole", func(w *world) {
		var writing sync.WaitGroup
		writing.Go(func() {
			for i := range 600 {
				if _, err := w.Commit(w.ctx, storage.Commit{ID: fmt.Sprint(i), Events: []authz.Event{authz.UserEvent(fmt.Sprint(i + 1))}}); err != nil {
					w.Errorf("append: %v", err)
				}
				if i%20 == 0 {
					if _, err := w.PruneEvents(w.ctx, storage.PruneEvents{KeepRows: ptr(int64(10))}); err != nil {
						w.Errorf("prune: %v", err)
					}
				}
			}
		})
		for seq := int64(0); seq < 600; {
			page, err := w.EventsSince(w.ctx, seq, 7)
			if err != nil {
				w.Fatal(err)
			}
			if page.Gap {
				seq = w.head() // as a reader does: everything is dropped
				continue
			}
			for i, e := range page.Events {
				if e.UserID != fmt.Sprint(seq+int64(i)+1) {
					w.Fatalf("event %s after %d", e.UserID, seq+int64(i))
				}
			}
			if page.UpTo != seq+int64(len(page.Events)) {
				w.Fatalf("page up to %d with %d events after %d", page.UpTo, len(page.Events), seq)
			}
			seq = page.UpTo
		}
		writing.Wait()
	}},
	{"E21", "among instants out of order the mark is the newest older one, and later calls never lower it", func(w *world) {
		for _, at := range []int64{10, 50, 20, 60} {
			w.emit(at, fmt.Sprint(at))
		}
		w.same(int64(3), w.prune(storage.PruneEvents{Before: ptr(int64(30))}))
		w.same("60 →4", w.since(3, 9))
		w.same(int64(0), w.prune(storage.PruneEvents{Before: ptr(int64(5)), KeepRows: ptr(int64(4))}))
		w.same("gap", w.since(2, 9))
		w.emit(1, "old")
		w.same(int64(2), w.prune(storage.PruneEvents{Before: ptr(int64(2)), KeepRows: ptr(int64(2))}))
		w.same("→5", w.since(5, 9))
	}},
}
