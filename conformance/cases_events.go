package conformance

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// emit commits events at an instant, one for each user id.
func (s *named) emit(at int64, users ...string) storage.CommitResult {
	c := storage.Commit{ID: commitID(), At: at}
	for _, u := range users {
		c.Events = append(c.Events, authz.UserEvent(u))
	}
	return s.do(c)
}

// since renders a page: the users of its events, then how far it goes.
func (s *named) since(seq int64, limit int) string {
	page, err := s.EventsSince(s.w.ctx, authz.Position{Seq: seq}, limit)
	if err != nil {
		s.w.Fatalf("eventsSince: %v", err)
	}
	if page.Gap {
		s.w.same(storage.EventPage{Gap: true}, page)
		return "gap"
	}
	text := strings.Join(ids(page.Events, func(e authz.Event) string { return e.UserID }), " ")
	return strings.TrimSpace(fmt.Sprintf("%s →%d", text, page.UpTo.Seq))
}

// page is what follows a position.
func (s *named) page(after authz.Position) storage.EventPage {
	page, err := s.EventsSince(s.w.ctx, after, 10)
	if err != nil {
		s.w.Fatalf("eventsSince: %v", err)
	}
	return page
}

func (s *named) prune(p storage.PruneEvents) int64 {
	n, err := s.PruneEvents(s.w.ctx, p)
	if err != nil {
		s.w.Fatalf("pruneEvents: %v", err)
	}
	return n
}

// watch collects heads in the background until the watch ends.
func (s *named) watch(ctx context.Context, heads chan int64) (<-chan int64, <-chan error) {
	ended := make(chan error, 1)
	s.w.Background(func() {
		for head, err := range s.Watch(ctx) {
			if err != nil {
				ended <- err
				return
			}
			select {
			case heads <- head:
			case <-ctx.Done():
			}
		}
		ended <- nil
	})
	return heads, ended
}

// nextHead is the next head of a watch, due at once.
func (w *world) nextHead(heads <-chan int64) int64 {
	select {
	case head := <-heads:
		return head
	case <-time.After(2 * atOnce):
		w.Want("a head", "none within %v", 2*atOnce)
	}
	return 0
}

// headUpTo reads heads, which must not fall, up to one.
func (w *world) headUpTo(want int64, heads <-chan int64) {
	for last := int64(0); last < want; {
		head := w.nextHead(heads)
		if head < last || head > want {
			w.Want(fmt.Sprintf("heads that grow up to %d", want), "%d after %d", head, last)
		}
		last = head
	}
}

var eventCases = []storageCase{
	{ID: "E01", Rule: "a new store has head 0 and an empty page", Needs: storage.Capabilities{storage.CapEvents}, run: func(w *world) {
		w.same(int64(0), w.head())
		w.same("→0", w.since(0, 10))
	}},
	{ID: "E02", Rule: "commits with one, then two events are numbered 1, 2, 3", Needs: storage.Capabilities{storage.CapEvents}, run: func(w *world) {
		w.same(int64(1), w.emit(1, "a").UpTo.Seq)
		w.same(int64(3), w.emit(1, "b", "c").UpTo.Seq)
		w.same(int64(3), w.head())
	}},
	{ID: "E03", Rule: "a page holds the events after the cursor, oldest first", Needs: storage.Capabilities{storage.CapEvents}, run: func(w *world) {
		w.emit(1, "a", "b", "c")
		w.same("a b c →3", w.since(0, 10))
		w.same("b c →3", w.since(1, 10))
		w.same("→3", w.since(3, 10))
	}},
	{ID: "E04", Rule: "a limit cuts a page, and the next goes on from it", Needs: storage.Capabilities{storage.CapEvents}, run: func(w *world) {
		w.emit(1, "a", "b", "c")
		w.same("a b →2", w.since(0, 2))
		w.same("c →3", w.since(2, 2))
	}},
	{ID: "E05", Rule: "each of the six kinds comes back equal", Needs: storage.Capabilities{storage.CapEvents}, run: func(w *world) {
		want := []authz.Event{authz.UserEvent("u"), authz.SubjectEvent("group:é"), authz.RoleEvent("r"), authz.ScopeEvent("docs.doc:1"),
			{Type: authz.EventCatalog}, {Type: authz.EventAll}}
		w.do(storage.Commit{ID: "c", Events: want})
		page, err := w.EventsSince(w.ctx, authz.Position{}, 10)
		if err != nil {
			w.Fatalf("%v", err)
		}
		w.same(want, page.Events)
	}},
	{ID: "E06", Rule: "a limit of zero or less gives an empty page up to the cursor", Needs: storage.Capabilities{storage.CapEvents}, run: func(w *world) {
		w.emit(1, "a", "b", "c")
		w.same("→1", w.since(1, 0))
		w.same("→1", w.since(1, -1))
	}},
	{ID: "E07", Rule: "a negative number is a validation error", Needs: storage.Capabilities{storage.CapEvents}, run: func(w *world) {
		for _, seq := range []int64{-1, authz.MaxInstant + 1} {
			_, err := w.EventsSince(w.ctx, authz.Position{Seq: seq}, 1)
			w.code(storage.CodeValidation, err)
		}
	}},
	{ID: "E08", Rule: "a cursor ahead of the head gives an empty page and no gap", Needs: storage.Capabilities{storage.CapEvents}, run: func(w *world) {
		w.emit(1, "a")
		w.same("→9", w.since(9, 10))
	}},
	{ID: "E10", Rule: "two stores appending at once share no number and leave none out", Needs: storage.Capabilities{storage.CapEvents}, run: func(w *world) {
		stores := []*named{w.named, w.another("")}
		upTo := make([][]int64, 2)
		w.Each(2, func(i int) {
			for n := range 100 {
				r, err := stores[i].Commit(w.ctx, storage.Commit{ID: fmt.Sprintf("%d-%d", i, n), Events: []authz.Event{authz.UserEvent(fmt.Sprint(i))}})
				if err != nil {
					w.Errorf("append: %v", err)
				}
				upTo[i] = append(upTo[i], r.UpTo.Seq)
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
	{ID: "E11", Rule: "pruning by age deletes exactly the older prefix; a cursor before the mark is a gap", Needs: storage.Capabilities{storage.CapEvents}, run: func(w *world) {
		w.emit(10, "a")
		w.emit(20, "b")
		w.emit(30, "c")
		w.same(int64(1), w.prune(storage.PruneEvents{Before: ptr(int64(20))}))
		w.same("gap", w.since(0, 10))
		w.same("gap", w.since(0, 0))
		w.same("b c →3", w.since(1, 10))
	}},
	{ID: "E12", Rule: "pruning by keepRows leaves only the newest, and the head", Needs: storage.Capabilities{storage.CapEvents}, run: func(w *world) {
		w.emit(1, "a", "b", "c", "d")
		w.same(int64(2), w.prune(storage.PruneEvents{KeepRows: ptr(int64(2))}))
		w.same("gap", w.since(1, 10))
		w.same("c d →4", w.since(2, 10))
		w.same(int64(4), w.head())
		w.same(int64(0), w.prune(storage.PruneEvents{KeepRows: ptr(int64(3)), Before: ptr(int64(0))}))
	}},
	{ID: "E13", Rule: "pruning that reaches nothing, or an empty log, deletes 0; a negative keepRows is refused", Needs: storage.Capabilities{storage.CapEvents}, run: func(w *world) {
		w.same(int64(0), w.prune(storage.PruneEvents{KeepRows: ptr(int64(0)), Before: ptr(int64(5))}))
		w.emit(10, "a")
		for _, p := range []storage.PruneEvents{{}, {Before: ptr(int64(10))}, {KeepRows: ptr(int64(1))}, {KeepRows: ptr(authz.MaxInstant)}} {
			w.same(int64(0), w.prune(p))
		}
		w.same("a →1", w.since(0, 5))
		_, err := w.PruneEvents(w.ctx, storage.PruneEvents{KeepRows: ptr(int64(-1))})
		w.code(storage.CodeValidation, err)
	}},
	{ID: "E14", Rule: "after everything was pruned the numbering goes on", Needs: storage.Capabilities{storage.CapEvents}, run: func(w *world) {
		w.emit(1, "a", "b")
		w.same(int64(2), w.prune(storage.PruneEvents{KeepRows: ptr(int64(0))}))
		w.same(int64(2), w.head())
		w.same("→2", w.since(2, 10))
		w.same(int64(3), w.emit(1, "c").UpTo.Seq)
		w.same("c →3", w.since(2, 10))
	}},
	{ID: "E15", Rule: "pruning never touches audit", Needs: storage.Capabilities{storage.CapEvents}, run: func(w *world) {
		w.append(entry("a", 1))
		w.emit(1, "a")
		w.prune(storage.PruneEvents{Before: ptr(int64(100))})
		w.same("a", w.audit(storage.AuditFilter{}))
	}},
	{ID: "E16", Rule: "a commit without events leaves the head and has no number", Needs: storage.Capabilities{storage.CapEvents}, run: func(w *world) {
		w.emit(1, "a")
		w.same(int64(0), w.do(changes(storage.UpsertRole{Role: fullRole("r")})).UpTo.Seq)
		w.same(int64(1), w.head())
	}},
	{ID: "E17", Rule: "whoever sees an event sees its rows, and the other way round through readAccess", Needs: storage.Capabilities{storage.CapEvents}, run: func(w *world) {
		reader := w.another("")
		w.against(func() bool {
			head, err := reader.Head(w.ctx)
			n, countErr := reader.CountGrants(w.ctx, storage.GrantFilter{})
			a, accessErr := reader.ReadAccess(w.ctx, storage.AccessQuery{Subjects: []string{"user:u"}})
			if err != nil || countErr != nil || accessErr != nil || n < head.Seq || int64(len(a.Grants)) != a.Head.Seq {
				w.Errorf("head %s, %d grants; access head %s, %d grants", head, n, a.Head, len(a.Grants))
				return false
			}
			return true
		}, 150, func(i int) {
			c := changes(storage.InsertGrant{Grant: grant(fmt.Sprint(i), "user:u")})
			c.Events = []authz.Event{authz.SubjectEvent("user:u")}
			w.do(c)
		})
	}},
	{ID: "E18", Rule: "reopening keeps head, events and mark", Needs: storage.Capabilities{storage.CapEvents}, run: func(w *world) {
		w.emit(1, "a", "b", "c")
		w.prune(storage.PruneEvents{KeepRows: ptr(int64(1))})
		w.named = w.reopen()
		w.same(int64(3), w.head())
		w.same("gap", w.since(1, 9))
		w.same("c →3", w.since(2, 9))
	}},
	{ID: "E19", Rule: "watch yields the head at once, and the new one while another process commits; polling sees it too", Needs: storage.Capabilities{storage.CapEvents}, run: func(w *world) {
		w.emit(1, "a")
		other := w.another("")
		w.same(int64(1), w.head())
		other.emit(1, "b")
		w.same(int64(2), w.head())
		if !w.has(storage.CapWatch) {
			return
		}
		ctx, cancel := context.WithCancel(w.ctx)
		defer cancel()
		heads, ended := w.watch(ctx, make(chan int64))
		w.same(int64(2), w.nextHead(heads))
		other.emit(1, "c")
		w.headUpTo(3, heads)
		other.write(storage.UpsertRole{Role: fullRole("r")}) // no movement
		other.prune(storage.PruneEvents{KeepRows: ptr(int64(0))})
		for range 50 { // nobody reads meanwhile: coalesced
			other.emit(1, "d")
		}
		w.headUpTo(53, heads)
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				w.Want("the end of the context is no error of a watch", "%v", err)
			}
		case <-time.After(atOnce):
			w.Want("the watch ends with its context", "it goes on")
		}
	}},
	{ID: "E19b", Rule: "a refused commit moves no watcher on, and closing the handle ends a watch", Needs: storage.Capabilities{storage.CapEvents, storage.CapWatch}, run: func(w *world) {
		ctx, cancel := context.WithCancel(w.ctx)
		defer cancel()
		watcher := w.open("")
		heads, ended := watcher.watch(ctx, make(chan int64, 1000))
		w.same(int64(0), w.nextHead(heads))
		for range 3 {
			w.refuse(storage.CodeStaleFence, storage.Commit{ID: commitID(), Fences: []storage.Fence{{Key: "k", Fence: 1}}, Events: []authz.Event{{Type: authz.EventAll}}})
		}
		w.emit(1, "a")
		w.headUpTo(1, heads)
		if err := watcher.Close(); err != nil {
			w.Fatalf("%v", err)
		}
		select {
		case err := <-ended:
			w.code(storage.CodeUnavailable, err)
		case <-time.After(atOnce):
			w.Want("the watch of a closed handle ends", "it goes on")
		}
	}},
	{ID: "E20", large: true, Rule: "a reader that pages while another prunes sees events in order or a gap, never a hole", Needs: storage.Capabilities{storage.CapEvents}, run: func(w *world) {
		const ahead = 40 // of the reader, from the beginning
		c := storage.Commit{ID: "ahead"}
		for i := range ahead {
			c.Events = append(c.Events, authz.UserEvent(fmt.Sprint(i+1)))
		}
		w.do(c)
		written := w.Background(func() {
			for i := ahead; i < 600; i++ {
				if _, err := w.Commit(w.ctx, storage.Commit{ID: fmt.Sprint(i), Events: []authz.Event{authz.UserEvent(fmt.Sprint(i + 1))}}); err != nil {
					w.Fatalf("append: %v", err)
				}
				if i%20 == 0 {
					if _, err := w.PruneEvents(w.ctx, storage.PruneEvents{KeepRows: ptr(int64(10))}); err != nil {
						w.Fatalf("prune: %v", err)
					}
				}
			}
		})
		for seq := int64(0); seq < 600 && !w.Failed(); {
			page, err := w.EventsSince(w.ctx, authz.Position{Seq: seq}, 7)
			if err != nil {
				w.Fatalf("%v", err)
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
			if page.UpTo.Seq != seq+int64(len(page.Events)) {
				w.Fatalf("page up to %s with %d events after %d", page.UpTo, len(page.Events), seq)
			}
			seq = page.UpTo.Seq
		}
		written()
	}},
	{ID: "E21", Rule: "among instants out of order the mark is the newest older one, and later calls never lower it", Needs: storage.Capabilities{storage.CapEvents}, run: func(w *world) {
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
	{ID: "E22", Rule: "the events of a commit have the identity that its id and last number give over the identity before, wherever it is told", Needs: storage.Capabilities{storage.CapEvents}, run: func(w *world) {
		w.same(authz.Position{}, w.headAt())
		var before authz.Position
		for i, users := range [][]string{{"a"}, {"b", "c"}, {"d"}} {
			c := storage.Commit{ID: fmt.Sprintf("c%d", i), At: 1}
			for _, u := range users {
				c.Events = append(c.Events, authz.UserEvent(u))
			}
			at := authz.Position{Seq: before.Seq + int64(len(users))}
			at.Identity = storage.Follow(before.Identity, c.ID, at.Seq)
			w.same(at, w.do(c).UpTo)
			w.same(at, w.headAt())
			w.same(at, w.access(storage.AccessQuery{Subjects: []string{"everyone"}}).Head)
			w.same(at, w.page(before).UpTo)
			before = at
		}
		w.named = w.reopen()
		w.same(before, w.headAt())
		again := w.do(storage.Commit{ID: "c2", At: 1, Events: []authz.Event{authz.UserEvent("d")}})
		w.same(storage.CommitResult{Replayed: true, UpTo: before}, storage.CommitResult{Replayed: again.Replayed, UpTo: again.UpTo})
		w.same(before, w.page(authz.Position{Seq: 3}).UpTo) // asked by the number alone
	}},
	{ID: "E23", Rule: "a position whose number is another event's, or above the head, is a reset; one below the mark is a gap", Needs: storage.Capabilities{storage.CapEvents}, run: func(w *world) {
		first, second := w.emit(1, "a", "b").UpTo, w.emit(2, "c").UpTo
		reset, gap := storage.EventPage{Reset: true}, storage.EventPage{Gap: true}
		other := func(p authz.Position) authz.Position { return authz.Position{Seq: p.Seq, Identity: "another"} }
		w.same(second, w.page(first).UpTo)
		w.same(second, w.page(authz.Position{Seq: 1, Identity: first.Identity}).UpTo)
		for _, p := range []authz.Position{other(first), other(second), {Seq: 1, Identity: second.Identity}, {Seq: 2, Identity: second.Identity}, {Seq: 4, Identity: second.Identity}} {
			w.same(reset, w.page(p))
		}
		w.same(storage.EventPage{UpTo: second}, w.page(second))
		w.same(int64(2), w.prune(storage.PruneEvents{KeepRows: ptr(int64(1))}))
		w.same(second, w.page(first).UpTo) // at the mark, whose event is gone
		w.same(reset, w.page(other(first)))
		w.same(gap, w.page(authz.Position{Seq: 1, Identity: first.Identity}))
		w.same(int64(1), w.prune(storage.PruneEvents{KeepRows: ptr(int64(0))}))
		w.named = w.reopen()
		w.same(storage.EventPage{UpTo: second}, w.page(second))
		w.same(reset, w.page(other(second)))
		w.same(storage.Follow(second.Identity, "next", 4), w.do(storage.Commit{ID: "next", Events: []authz.Event{{Type: authz.EventAll}}}).UpTo.Identity)
	}},
	{ID: "E24", Rule: "a required head with another identity is a conflict", Needs: storage.Capabilities{storage.CapEvents}, run: func(w *world) {
		head := w.emit(1, "a").UpTo
		on := func(head authz.Position, id string) storage.Commit {
			c := changes(insertGrants(grant(id, "user:u"))...)
			c.Requires = []storage.Requirement{storage.RequireHead(head)}
			return c
		}
		w.refuse(storage.CodeConflict, on(authz.Position{Seq: 1, Identity: "another"}, "g"))
		none[authz.Grant](w)(w.GetGrant(w.ctx, "g"))
		w.do(on(head, "g"))
	}},
}
