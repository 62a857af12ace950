package conformance

import (
	"context"
	"fmt"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// patience is how long a call may take while another process is stopped: it may
// hold a lock of the database, so that no answer is no failure.
const patience = 2 * time.Second

// ask calls f with patience, and reports whether there was an answer.
func (w *world) ask(f func(ctx context.Context) error) (answered bool) {
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	switch err := f(ctx); storage.CodeOf(err) {
	case "":
		w.code("", err)
		return true
	case storage.CodeUnavailable:
		return false
	default:
		w.Want("an answer, or unavailable", "%v", err)
		return false
	}
}

// whileStopped runs f while the process behind s is stopped, and lets it go on
// whatever becomes of f.
func (w *world) whileStopped(s *named, f func()) {
	defer w.proceed(s)
	f()
}

var frozenCases = []storageCase{
	{ID: "B25f", Rule: "a role is never missing while a process that upserts it is stopped in the middle", Abilities: []Ability{Freeze, Processes}, run: func(w *world) {
		role := fullRole("r")
		for i := range 3000 {
			role.Patterns = append(role.Patterns, fmt.Sprintf("docs.p%d", i))
		}
		start := time.Now()
		w.write(storage.UpsertRole{Role: role})
		length := time.Since(start)
		s, answers := w.victim(""), 0
		w.Rounds(w.ctx, 12, func(int) {
			answered := w.Interrupt(&length, func() { s.write(storage.UpsertRole{Role: role}) }, func() { w.stop(s) })
			w.whileStopped(s, func() {
				for range 10 {
					if w.ask(func(ctx context.Context) error {
						_, found, err := w.GetRole(ctx, "r")
						if err == nil && !found {
							w.Want("the role", "none")
						}
						return err
					}) {
						answers++
					}
				}
			})
			answered()
		})
		w.same(role, w.role("r"))
		if answers == 0 {
			w.Skip("no read was answered while a process was stopped")
		}
	}},
	{ID: "B74f", Rule: "a section whose holder's process is stopped for longer than the lease is stolen, and its commit is refused when it goes on", Abilities: []Ability{Freeze, Processes, CrossLocks}, run: func(w *world) {
		w = w.fresh(Options{Lease: shortLease})
		holder := w.victim("")
		lost := holder.acquire("k")
		waited := w.waiter("k")
		var thief storage.Section
		w.stop(holder)
		w.whileStopped(holder, func() {
			thief = w.granted(2*lost.Lease()+atOnce, waited)
			w.do(fenced(thief, putCounter("n", 7)))
		})
		holder.refuse(storage.CodeStaleFence, fenced(lost, putCounter("n", 1)))
		w.codes(lost.Renew(w.ctx), storage.CodeStaleFence, storage.CodeUnavailable)
		w.renew(thief)
		w.counted("n", 7)
		w.release(thief)
	}},
	{ID: "B79f", Rule: "a commit paused between comparing its fence and its end is whole before the section's thief looks, or is stale_fence", Abilities: []Ability{Freeze, Processes, CrossLocks}, run: func(w *world) {
		w = w.fresh(Options{Lease: shortLease})
		w.crashLength("warm")
		length := w.crashLength("first")
		w.Rounds(w.ctx, 12, func(round int) {
			name, key := fmt.Sprint("u", round), fmt.Sprint("k", round)
			holder := w.victim("")
			section := holder.acquire(key)
			c := w.crashCommit(name)
			c.Fences = []storage.Fence{section.Fence()}
			var answer error
			answered := w.Interrupt(&length, func() { _, answer = holder.Commit(w.ctx, c) }, func() { w.stop(holder) })
			var thief storage.Section
			first, waited := int64(-1), w.waiter(key)
			w.whileStopped(holder, func() {
				// The stopped process may hold the very row, so that the theft waits
				// for it: it is then no theft in the middle.
				select {
				case thief = <-waited:
					w.ask(func(ctx context.Context) (err error) {
						n, err := w.CountGrants(ctx, storage.GrantFilter{Subject: ptr("user:" + name)})
						if err == nil {
							first = n
						}
						return err
					})
				case <-time.After(section.Lease() + section.Lease()/2):
				}
			})
			if thief == nil {
				thief = w.granted(2*section.Lease()+atOnce, waited)
			}
			if first < 0 {
				first = w.grantsOf("user:" + name)
			}
			answered()
			second := w.grantsOf("user:" + name)
			w.release(thief)
			if storage.CodeOf(answer) == storage.CodeUnavailable { // its fate is what a resend says
				_, answer = w.Commit(w.ctx, c)
				second = w.grantsOf("user:" + name)
			}
			w.wholeOrStale(answer, first, second, crashRows)
			_ = holder.driver.Close()
		})
	}},
	{ID: "B86", Rule: "a section whose host does not renew it, though the process that holds it is well, is stolen after the lease, and its commit is stale_fence", Abilities: []Ability{Processes, CrossLocks}, run: func(w *world) {
		w = w.fresh(Options{Lease: shortLease})
		holder := w.another("")
		lost := holder.acquire("k")
		stop := w.meanwhile(func() bool {
			time.Sleep(20 * time.Millisecond)
			_, err := holder.counter(w.ctx, "n")
			return err == nil
		})
		thief := w.granted(2*lost.Lease()+atOnce, w.waiter("k"))
		stop()
		holder.refuse(storage.CodeStaleFence, fenced(lost, putCounter("n", 1)))
		w.do(fenced(thief, putCounter("n", 2)))
		w.counted("n", 2)
	}},
	{ID: "E09", Rule: "while several processes append, a reader's cursor never passes an event that it was not given", Needs: storage.Capabilities{storage.CapEvents}, run: func(w *world) {
		writers := []*named{w.named, w.another(""), w.open(""), w.open("")}
		reader := w.another("")
		var followed []authz.Event
		follow := func() { followed = reader.follow(w.ctx, followed) }
		stop := w.meanwhile(func() bool { follow(); return true })
		w.Each(len(writers), func(i int) {
			for n := range 40 {
				c := storage.Commit{ID: fmt.Sprintf("%d-%d", i, n), Events: []authz.Event{authz.UserEvent(fmt.Sprintf("%d-%d", i, n)), authz.RoleEvent("r")}}
				if _, err := writers[i].Commit(w.ctx, c); err != nil {
					w.Fatalf("append: %v", err)
				}
			}
		})
		stop()
		follow()
		w.sameLog(followed, len(writers)*80)
	}},
	{ID: "E09f", Rule: "while a process that appends is stopped in the middle, a reader's cursor never passes an event that it was not given", Needs: storage.Capabilities{storage.CapEvents}, Abilities: []Ability{Freeze, Processes}, run: func(w *world) {
		s := w.victim("")
		length := s.crashLength("first")
		total := 2
		var followed []authz.Event
		w.Rounds(w.ctx, 10, func(round int) {
			c := w.crashCommit(fmt.Sprint("u", round))
			answered := w.Interrupt(&length, func() { s.do(c) }, func() { w.stop(s) })
			w.whileStopped(s, func() {
				own := storage.Commit{ID: fmt.Sprint("own", round), Events: []authz.Event{authz.UserEvent("own")}}
				if w.ask(func(ctx context.Context) error { _, err := w.Commit(ctx, own); return err }) {
					total++
				} else {
					defer func() { w.do(own); total++ }() // sent again until its fate is known
					defer w.proceed(s)
				}
				w.ask(func(ctx context.Context) error {
					followed = w.follow(ctx, followed)
					return nil
				})
			})
			answered()
			total += 2
			followed = w.follow(w.ctx, followed)
		})
		w.sameLog(followed, total)
	}},
}

// follow reads the log from where a reader stands, in small pages, until its end
// or until there is no answer.
func (s *named) follow(ctx context.Context, so []authz.Event) []authz.Event {
	w := s.w
	for {
		seq := int64(len(so))
		page, err := s.EventsSince(ctx, authz.Position{Seq: seq}, 7)
		if storage.CodeOf(err) == storage.CodeUnavailable {
			return so // sameLog tells whether that was too early
		}
		w.code("", err)
		if page.Gap || page.UpTo.Seq != seq+int64(len(page.Events)) {
			w.Want(fmt.Sprintf("events that follow %d without a hole", seq), "gap %v, %d events up to %d", page.Gap, len(page.Events), page.UpTo.Seq)
		}
		if len(page.Events) == 0 {
			return so
		}
		so = append(so, page.Events...)
	}
}

// sameLog compares what a reader was given with the log as it is in the end.
func (w *world) sameLog(given []authz.Event, total int) {
	w.same(int64(total), w.head())
	page, err := w.EventsSince(w.ctx, authz.Position{}, total+10)
	w.code("", err)
	w.same(total, len(page.Events))
	w.same(page.Events, given)
}
