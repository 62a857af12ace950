package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// atOnce is how long a thing may take that is to be had at once.
const atOnce = 3 * time.Second

// acquire takes a section that must be to be had at once.
func (s *named) acquire(key string) storage.Section {
	ctx, cancel := context.WithTimeout(s.w.ctx, atOnce)
	defer cancel()
	section, err := s.Acquire(ctx, key)
	if err != nil {
		s.w.Want(fmt.Sprintf("section %q at once", key), "%v", err)
	}
	return section
}

// acquireWithin takes a section that may have to be waited for.
func (s *named) acquireWithin(limit time.Duration, key string) storage.Section {
	ctx, cancel := context.WithTimeout(s.w.ctx, limit)
	defer cancel()
	section, err := s.Acquire(ctx, key)
	if err != nil {
		s.w.Want(fmt.Sprintf("section %q within %v", key, limit), "%v", err)
	}
	return section
}

// busy expects that the section is not to be had.
func (s *named) busy(key string) {
	ctx, cancel := context.WithTimeout(s.w.ctx, 100*time.Millisecond)
	defer cancel()
	_, err := s.Acquire(ctx, key)
	s.w.code(storage.CodeUnavailable, err)
}

// waiter acquires in the background; the section arrives when it is granted.
func (s *named) waiter(key string) <-chan storage.Section {
	granted := make(chan storage.Section, 1)
	s.w.Background(func() {
		section, err := s.Acquire(s.w.ctx, key)
		if err != nil {
			s.w.Errorf("the waiter for section %q got %v", key, err)
			return
		}
		granted <- section
	})
	return granted
}

// granted expects a waiter's section within a time.
func (w *world) granted(within time.Duration, waiter <-chan storage.Section) storage.Section {
	select {
	case section := <-waiter:
		return section
	case <-time.After(within):
		w.Want(fmt.Sprintf("the waiter holds within %v", within), "it still waits")
	}
	return nil
}

func (w *world) release(s storage.Section) {
	if err := s.Release(w.ctx); err != nil {
		w.Want("the section released", "%v", err)
	}
}

// otherLife expects the refusal of a commit that was judged against content that is gone.
func (w *world) otherLife(err error) {
	var e *storage.Error
	if !errors.As(err, &e) || !storage.IsLost(err) || e.Outcome != authz.OutcomeNotApplied {
		w.Want("unavailable, lost and not applied", "%v", err)
	}
}

func (n *named) notCommitted(id string) {
	_, found, err := n.GetCommit(n.w.ctx, id)
	n.w.code("", err)
	n.w.same(false, found)
}

func (w *world) renew(s storage.Section) {
	if err := s.Renew(w.ctx); err != nil {
		w.Want("the section renewed", "%v", err)
	}
}

func fenced(section storage.Section, c ...storage.Change) storage.Commit {
	commit := changes(c...)
	commit.Fences = []storage.Fence{section.Fence()}
	return commit
}

// counter reads a number kept in a role's name.
func (s *named) counter(ctx context.Context, id string) (int64, error) {
	row, found, err := s.GetRole(ctx, "count-"+id)
	if err != nil || !found {
		return 0, err
	}
	return strconv.ParseInt(row.Name, 10, 64)
}

func (s *named) counted(id string, want int64) {
	n, err := s.counter(s.w.ctx, id)
	if n != want || err != nil {
		s.w.Want(fmt.Sprintf("counter %s at %d", id, want), "%d, %v", n, err)
	}
}

func putCounter(id string, n int64) storage.UpsertRole {
	return storage.UpsertRole{Role: authz.Role{ID: "count-" + id, Name: fmt.Sprint(n)}}
}

var sectionCases = []storageCase{
	{ID: "B68", Rule: "of two bodies on one key the second starts after the first ends", run: func(w *world) {
		other := w.another("")
		first := w.acquire("k")
		w.busy("k")
		var ended atomic.Bool
		second := other.waiter("k")
		time.Sleep(50 * time.Millisecond)
		select {
		case <-second:
			w.Fatalf("the second holds before the first has released")
		default:
		}
		ended.Store(true)
		w.release(first)
		w.release(w.granted(atOnce, second))
	}},
	{ID: "B69", Rule: "after a body that failed the section is granted at once", run: func(w *world) {
		failure := errors.New("body")
		if err := storage.RunExclusive(w.ctx, w, "k", func(context.Context) error { return failure }); !errors.Is(err, failure) {
			w.Want("the body's own error", "%v", err)
		}
		w.release(w.acquire("k"))
	}},
	{ID: "B70", Rule: "sections on two keys overlap", run: func(w *world) {
		a, b := w.acquire("a"), w.acquire("b")
		c := w.another("").acquire("c")
		w.release(a)
		w.release(b)
		w.release(c)
	}},
	{ID: "B71", Rule: "fences strictly grow over releases and reopening, from the clock's milliseconds", run: func(w *world) {
		const skew = 60_000 // the database's clock may differ from this one
		now := time.Now().UnixMilli()
		last := int64(0)
		for i := range 20 {
			section := w.acquire("k")
			fence := section.Fence()
			if fence.Key != "k" || fence.Fence <= last || i == 0 && (fence.Fence < now-skew || fence.Fence > now+skew) {
				w.Want(fmt.Sprintf("a fence of k above %d, the first one near %d", last, now), "%+v", fence)
			}
			last = fence.Fence
			w.release(section)
			w.release(section)
			if i%7 == 3 {
				w.named = w.reopen()
			}
		}
	}},
	{ID: "B72", Rule: "a commit under a fence after another holder took the key is stale_fence and writes nothing", run: func(w *world) {
		other := w.another("")
		first := w.acquire("k")
		w.do(fenced(first, putCounter("n", 1)))
		w.release(first)
		second := other.acquire("k")
		w.refuse(storage.CodeStaleFence, fenced(first, putCounter("n", 2)))
		w.counted("n", 1)
		third := other.acquire("other")
		both := fenced(second, putCounter("n", 3))
		both.Fences = append(both.Fences, storage.Fence{Key: "other", Fence: third.Fence().Fence + 1})
		w.refuse(storage.CodeStaleFence, both)
		both.Fences[1].Fence -= 2
		w.refuse(storage.CodeStaleFence, both)
		both.Fences = []storage.Fence{{Key: "never taken", Fence: 1}}
		w.refuse(storage.CodeStaleFence, both)
		w.counted("n", 1)
		both.Fences = []storage.Fence{second.Fence(), third.Fence()}
		w.do(both)
		w.counted("n", 3)
		w.codes(first.Renew(w.ctx), storage.CodeStaleFence, storage.CodeUnavailable)
	}},
	{ID: "B73", Rule: "when the holder's handle ends, the next waiter holds within a second", run: func(w *world) {
		holder := w.another("")
		lost := holder.acquire("k")
		waited := w.waiter("k")
		time.Sleep(50 * time.Millisecond)
		if err := holder.Close(); err != nil {
			w.Fatalf("%v", err)
		}
		section := w.granted(time.Second, waited)
		w.codes(lost.Renew(w.ctx), storage.CodeStaleFence, storage.CodeUnavailable)
		w.refuse(storage.CodeStaleFence, fenced(lost, putCounter("n", 1)))
		_ = lost.Release(w.ctx) // harmless
		w.renew(section)
		w.release(section)
	}},
	{ID: "B74", Rule: "a section not renewed for its lease is stolen, its old holder's commit is refused, and a renewed one is kept", run: func(w *world) {
		w = w.fresh(Options{Lease: shortLease})
		kept, lost := w.acquire("kept"), w.acquire("lost")
		lease := kept.Lease()
		start := time.Now()
		waited := w.another("").waiter("lost")
		var thief storage.Section
		for thief == nil {
			select {
			case thief = <-waited:
			case <-time.After(lease / 10):
				w.renew(kept)
			}
			if since := time.Since(start); since > 2*lease+atOnce {
				w.Want(fmt.Sprintf("the section stolen soon after its lease of %v", lease), "not stolen after %v", since)
			}
		}
		if since := time.Since(start); since < lease/2 {
			w.Want(fmt.Sprintf("the section held for its lease of %v", lease), "stolen after %v", since)
		}
		if thief.Fence().Fence <= lost.Fence().Fence {
			w.Want(fmt.Sprintf("a fence above %d", lost.Fence().Fence), "%d", thief.Fence().Fence)
		}
		w.codes(lost.Renew(w.ctx), storage.CodeStaleFence, storage.CodeUnavailable)
		w.refuse(storage.CodeStaleFence, fenced(lost, putCounter("n", 1)))
		_ = lost.Release(w.ctx)
		if err := thief.Renew(w.ctx); err != nil {
			w.Want("the thief's section untouched by its old holder's release", "%v", err)
		}
		w.renew(kept)
		w.busy("kept")
		w.do(fenced(kept, putCounter("n", 1)))
	}},
	{ID: "B74b", Rule: "an expired section that nobody took still commits, and is renewed", run: func(w *world) {
		w = w.fresh(Options{Lease: shortLease})
		section := w.acquire("k")
		time.Sleep(section.Lease() + section.Lease()/5)
		w.do(fenced(section, putCounter("n", 2)))
		w.renew(section)
		w.busy("k")
	}},
	{ID: "B74c", Rule: "a section whose lease ends years ahead, written by a clock that ran ahead, is stolen after one lease without a renewal; a renewed one is kept", Abilities: []Ability{Forge, Processes, CrossLocks}, run: func(w *world) {
		w = w.fresh(Options{Lease: shortLease})
		kept, lost := w.acquire("kept"), w.acquire("lost")
		w.aheadOf("kept")
		w.aheadOf("lost")
		lease, other := kept.Lease(), w.another("")
		robbed, keepers := other.waiter("lost"), other.waiter("kept")
		var thief storage.Section
		for start := time.Now(); thief == nil; {
			select {
			case thief = <-robbed:
			case <-time.After(lease / 10):
				w.renew(kept)
				w.aheadOf("kept")
			}
			if since := time.Since(start); since > 2*lease+atOnce {
				w.Want(fmt.Sprintf("the section stolen after a lease of %v", lease), "not stolen after %v", since)
			}
		}
		if thief.Fence().Fence <= lost.Fence().Fence {
			w.Want(fmt.Sprintf("a fence above %d", lost.Fence().Fence), "%d", thief.Fence().Fence)
		}
		w.refuse(storage.CodeStaleFence, fenced(lost, putCounter("n", 1)))
		w.codes(lost.Renew(w.ctx), storage.CodeStaleFence, storage.CodeUnavailable)
		w.do(fenced(thief, putCounter("n", 2)))
		select {
		case <-keepers:
			w.Want("the section that was renewed kept", "it was stolen")
		default:
		}
		w.do(fenced(kept, putCounter("n", 3)))
		w.release(kept)
		w.release(w.granted(atOnce, keepers))
	}},
	{ID: "B75", Rule: "two processes counting 100 times each under one key reach 200", Abilities: []Ability{CrossLocks}, run: func(w *world) {
		stores := []*named{w.named, w.another("")}
		w.Each(2, func(i int) {
			s := stores[i]
			for range 100 {
				err := storage.RunExclusive(w.ctx, s, "k", func(ctx context.Context) error {
					n, err := s.counter(ctx, "n")
					if err != nil {
						return err
					}
					time.Sleep(rand.N(time.Millisecond))
					c := changes(putCounter("n", n+1))
					c.Fences = storage.Held(ctx, s)
					_, err = s.Commit(ctx, c)
					return err
				})
				if err != nil {
					w.Fatalf("body: %v", err)
				}
			}
		})
		w.counted("n", 200)
	}},
	{ID: "B76", Rule: "a cancelled waiter returns at once and leaves its place; acquiring twice in one operation is an error", run: func(w *world) {
		held := w.acquire("k")
		ctx, cancel := context.WithCancel(w.ctx)
		defer cancel()
		time.AfterFunc(50*time.Millisecond, cancel)
		start := time.Now()
		_, err := w.Acquire(ctx, "k")
		w.code(storage.CodeUnavailable, err)
		if took := time.Since(start); took > atOnce {
			w.Want("a cancelled waiter returns at once", "after %v", took)
		}
		w.release(held)
		err = storage.RunExclusive(w.ctx, w, "k", func(ctx context.Context) error {
			return storage.RunExclusive(ctx, w, "k", func(context.Context) error { return nil })
		})
		w.code(storage.CodeConflict, err)
		w.release(w.acquire("k"))
	}},
	{ID: "B76b", Rule: "opening with a context that has ended is unavailable", run: func(w *world) {
		ctx, cancel := context.WithCancel(w.ctx)
		cancel()
		_, err := w.driver.Open(ctx, w.partition("a"))
		w.code(storage.CodeUnavailable, err)
	}},
	{ID: "B77", Rule: "of two group edges that together close a cycle, written by two processes under one section, one is refused", run: func(w *world) {
		stores := []*named{w.named, w.another("")}
		var refused atomic.Int64
		for round := range 20 {
			a, b := fmt.Sprintf("a%d", round), fmt.Sprintf("b%d", round)
			w.Each(2, func(i int) {
				s, child, parent := stores[i], []string{a, b}[i], []string{b, a}[i]
				err := storage.RunExclusive(w.ctx, s, "groups", func(ctx context.Context) error {
					if above, found, err := s.GetGroup(ctx, parent); err != nil || found && len(above.Parents) > 0 {
						if err == nil {
							refused.Add(1)
						}
						return err
					}
					time.Sleep(rand.N(time.Millisecond))
					c := changes(storage.UpsertGroup{Group: authz.Group{ID: child, Parents: []string{parent}}})
					c.Fences = storage.Held(ctx, s)
					_, err := s.Commit(ctx, c)
					return err
				})
				if err != nil {
					w.Errorf("edge: %v", err)
				}
			})
		}
		w.same(int64(20), refused.Load())
	}},
	{ID: "B78", Rule: "an applied commit sent again after its section changed hands is replayed, not stale_fence", run: func(w *world) {
		section := w.acquire("k")
		c := fenced(section, putCounter("n", 1), storage.DeleteGrant{ID: "none"})
		first := w.do(c)
		w.release(section)
		w.release(w.another("").acquire("k"))
		first.Replayed = true
		w.same(first, w.do(c))
	}},
	{ID: "B79", large: true, Rule: "a commit racing a change of hands is whole before the next holder looks, or is stale_fence", run: func(w *world) {
		const rows = 1500
		var length time.Duration // of a commit that nobody disturbs
		for round := range 16 {
			id := fmt.Sprint(round)
			holder := w.open("")
			section := holder.acquire("k" + id)
			c := fenced(section)
			for i := range rows {
				c.Changes = append(c.Changes, storage.InsertGrant{Grant: grant(fmt.Sprintf("%d-%d", round, i), "user:u"+id)})
			}
			if round == 0 {
				start := time.Now()
				w.do(c)
				length = time.Since(start)
				continue
			}
			var answer error
			answered := w.Background(func() { _, answer = w.Commit(w.ctx, c) })
			time.Sleep(length * time.Duration(round) / 14)
			if err := holder.Close(); err != nil && storage.CodeOf(err) != storage.CodeUnavailable {
				w.Fatalf("%v", err)
			}
			// The commit may be waited for, and one over many rows take long.
			thief := w.acquireWithin(changeOfHands, "k"+id)
			first := w.grantsOf("user:u" + id)
			answered()
			second := w.grantsOf("user:u" + id)
			w.release(thief)
			w.wholeOrStale(answer, first, second, rows)
		}
	}},
}

// changeOfHands is how long the next holder may wait for a commit of the last one: as
// long as a call may take, or a lease where a busy database kept a handle from closing.
const changeOfHands = 70 * time.Second

// shortLease is what cases about leases ask for.
const shortLease = time.Second

func (s *named) grantsOf(subject string) int64 {
	n, err := s.CountGrants(s.w.ctx, storage.GrantFilter{Subject: &subject})
	if err != nil {
		s.w.Want("countGrants answers", "%v", err)
	}
	return n
}

// wholeOrStale judges two reads of a section's next holder and the answer to a
// commit of the holder before.
func (w *world) wholeOrStale(answer error, first, second, rows int64) {
	switch {
	case first != second:
		w.Want("two equal reads under one section", "%d rows, then %d", first, second)
	case answer == nil && first == rows, storage.CodeOf(answer) == storage.CodeStaleFence && first == 0:
	default:
		w.Want(fmt.Sprintf("%d rows and no error, or no rows and stale_fence", rows), "%d rows, %v", first, answer)
	}
}

var lifeCases = []storageCase{
	{ID: "B67", Rule: "reopening keeps rows and incarnation, over every handle and process", run: func(w *world) {
		w.write(storage.UpsertRole{Role: fullRole("r")})
		before := w.Info().Incarnation
		if before == "" {
			w.Want("an incarnation", "none")
		}
		w.named = w.reopen()
		w.same(fullRole("r"), w.role("r"))
		w.same(before, w.Info().Incarnation)
		w.same(before, w.open("").Info().Incarnation)
		w.same(before, w.another("").Info().Incarnation)
		if a := w.open("a").Info().Incarnation; a == before || a == "" {
			w.Want("an incarnation of each partition's own", "%q for two", a)
		}
	}},
	{ID: "B67b", Rule: "a driver that is not durable has another incarnation and no rows in its next life", Abilities: []Ability{Volatile}, run: func(w *world) {
		w.write(storage.UpsertRole{Role: fullRole("r")})
		before := w.Info().Incarnation
		next := w.nextLife()
		if after := next.Info().Incarnation; after == before || after == "" {
			w.Want("another incarnation than "+before, "%q", after)
		}
		none[authz.Role](w)(next.GetRole(w.ctx, "r"))
	}},
	{ID: "B87", Rule: "after the end of a life that was not durable the old handle answers unavailable, not applied, and new fences are above all earlier ones", Abilities: []Ability{Volatile}, run: func(w *world) {
		old := w.named
		section := old.acquire("k")
		c := changes(storage.UpsertRole{Role: fullRole("r")})
		old.do(c)
		next := w.nextLife()
		_, _, err := old.GetRole(w.ctx, "r")
		w.code(storage.CodeUnavailable, err)
		if refusal := old.refuse(storage.CodeUnavailable, c); refusal.Outcome != authz.OutcomeNotApplied {
			w.Want("the outcome not_applied", "%q", refusal.Outcome)
		}
		w.code(storage.CodeUnavailable, listError(old.ListRoles(w.ctx, storage.Page{})))
		_, err = old.Acquire(w.ctx, "k")
		w.code(storage.CodeUnavailable, err)
		if fence := next.acquire("k").Fence().Fence; fence <= section.Fence().Fence {
			w.Want(fmt.Sprintf("a fence above %d", section.Fence().Fence), "%d", fence)
		}
	}},
	{ID: "B87b", Rule: "a closed driver and its stores answer unavailable, not applied", run: func(w *world) {
		d := w.connect()
		old := w.openOver(d, "a")
		c := changes(storage.UpsertRole{Role: fullRole("r")})
		old.do(c)
		if err := d.Close(); err != nil {
			w.Fatalf("%v", err)
		}
		_, _, err := old.GetRole(w.ctx, "r")
		w.code(storage.CodeUnavailable, err)
		if refusal := old.refuse(storage.CodeUnavailable, c); refusal.Outcome != authz.OutcomeNotApplied {
			w.Want("the outcome not_applied", "%q", refusal.Outcome)
		}
		w.code(storage.CodeUnavailable, listError(old.ListRoles(w.ctx, storage.Page{})))
		_, err = old.Acquire(w.ctx, "k")
		w.code(storage.CodeUnavailable, err)
		_, err = d.Open(w.ctx, w.partition("a"))
		w.code(storage.CodeUnavailable, err)
	}},
	{ID: "S04", Rule: "closing twice is harmless, and a waiter of a closed handle stops waiting", run: func(w *world) {
		held := w.acquire("k")
		other := w.open("")
		stopped := make(chan error, 1)
		w.Background(func() {
			_, err := other.Acquire(w.ctx, "k")
			stopped <- err
		})
		time.Sleep(50 * time.Millisecond)
		for range 2 {
			if err := other.Close(); err != nil {
				w.Fatalf("%v", err)
			}
		}
		select {
		case err := <-stopped:
			w.code(storage.CodeUnavailable, err)
		case <-time.After(atOnce):
			w.Want("the waiter stops waiting", "it still waits")
		}
		w.release(held)
		w.release(w.acquire("k"))
	}},
	{ID: "S21", Rule: "a renewal gives the partition another incarnation for whoever opens it afterwards, and keeps its rows and other partitions", Needs: storage.Capabilities{storage.CapRenewal}, run: func(w *world) {
		other := w.open("other").Info().Incarnation
		w.write(storage.UpsertRole{Role: fullRole("r")})
		before := w.Info().Incarnation
		renewed, err := w.Renew(w.ctx, "")
		w.code("", err)
		again := w.another("")
		if renewed == "" || renewed == before || again.Info().Incarnation != renewed || w.Info().Incarnation != before {
			w.Want("another incarnation than "+before+", and only for the next handle", "%q; the open handle has %q, the next %q",
				renewed, w.Info().Incarnation, again.Info().Incarnation)
		}
		w.same(fullRole("r"), again.role("r"))
		w.same(other, w.open("other").Info().Incarnation)
	}},
	{ID: "S23", Rule: "a renewal that expects an incarnation replaces that one and no other", Needs: storage.Capabilities{storage.CapRenewal}, run: func(w *world) {
		before := w.Info().Incarnation
		_, err := w.Renew(w.ctx, before+"x")
		w.code(storage.CodeConflict, err)
		w.same(before, w.another("").Info().Incarnation)
		renewed, err := w.Renew(w.ctx, before)
		w.code("", err)
		w.same(renewed, w.another("").Info().Incarnation)
		_, err = w.Renew(w.ctx, before) // of two who found the same loss, the second
		w.code(storage.CodeConflict, err)
		w.same(renewed, w.another("").Info().Incarnation)
	}},
	{ID: "S27", Rule: "a store whose database is well says so, before rows and after, and a closed one answers unavailable and not lost", Needs: storage.Capabilities{storage.CapHealth}, run: func(w *world) {
		_, err := w.Health(w.ctx)
		w.code("", err)
		w.write(storage.UpsertRole{Role: fullRole("r")})
		_, err = w.Health(w.ctx)
		w.code("", err)
		closed := w.open("other")
		if err := closed.Close(); err != nil {
			w.Fatalf("%v", err)
		}
		_, err = closed.Health(w.ctx)
		w.code(storage.CodeUnavailable, err)
		if storage.IsLost(err) {
			w.Want("an error that is not lost", "%v", err)
		}
	}},
	{ID: "S24", Rule: "a commit that was judged against another life of the content is refused and loses the store; one that was applied is recognised all the same", run: func(w *world) {
		life := w.Info().Incarnation
		commit := func(id, incarnation string) (storage.CommitResult, error) {
			return w.Commit(w.ctx, storage.Commit{ID: id, At: 1, Incarnation: incarnation, Changes: []storage.Change{storage.UpsertRole{Role: fullRole(id)}}})
		}
		first, err := commit("r1", life)
		w.code("", err)
		again, err := commit("r1", "another life") // what the id is recognised by is the content
		w.code("", err)
		first.Replayed = true
		w.same(first, again)
		_, err = commit("r2", life+"x")
		w.otherLife(err)
		_, err = commit("r2", "x")
		w.otherLife(err)
		w.named.notCommitted("r2")
		_, err = commit("r2", life) // a refused one leaves nothing, not even its id
		w.code("", err)

		if !w.has(storage.CapRenewal) {
			return
		}
		renewed, err := w.Renew(w.ctx, life)
		w.code("", err)
		_, err = commit("r3", life) // the handle is of the life that is gone
		w.otherLife(err)
		_, err = commit("r1", life)
		w.code("", err)
		next := w.another("")
		next.notCommitted("r3")
		_, err = next.Commit(w.ctx, storage.Commit{ID: "r3", Incarnation: life})
		w.otherLife(err)
		_, err = next.Commit(w.ctx, storage.Commit{ID: "r3", Incarnation: renewed})
		w.code("", err)
	}},
	{ID: "S13", Rule: "driver and store say what they are: a name, the partition, a schema version, capabilities that are the caller's own", run: func(w *world) {
		if w.driver.Info().Name == "" {
			w.Want("a driver name", "none")
		}
		info := w.Info()
		w.same(w.partition(""), info.Partition)
		if info.SchemaVersion < 1 {
			w.Want("a schema version from 1", "%d", info.SchemaVersion)
		}
		seen := map[storage.Capability]bool{}
		for _, c := range info.Capabilities {
			if seen[c] || !storage.AllCapabilities.Has(c) {
				w.Want("known capabilities, each once", "%v", info.Capabilities)
			}
			seen[c] = true
		}
		want := shown(info.Capabilities)
		for i := range info.Capabilities {
			info.Capabilities[i] = "scribbled"
		}
		w.same(want, shown(w.Info().Capabilities))
	}},
}

// nextLife ends what is not durable and begins anew: by the end of the process
// where that can be had, else by closing the driver, with another backend for
// the next life.
func (w *world) nextLife() *named {
	if w.able(Kill) {
		w.kill(w.named)
		time.Sleep(5 * time.Millisecond) // fences begin with the clock's milliseconds
		return w.openOver(w.connect(), "")
	}
	if err := w.driver.Close(); err != nil {
		w.Want("the driver closes", "%v", err)
	}
	time.Sleep(5 * time.Millisecond)
	return w.fresh(Options{}).named
}

func putRecord(id, data string, expect int64) storage.PutRecord {
	return storage.PutRecord{Expect: expect, Record: storage.Record{Collection: "c", ID: id, Data: json.RawMessage(data)}}
}
