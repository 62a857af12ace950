package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func TestSections(t *testing.T) { runCases(t, memoryFactory, sectionCases) }

// acquire takes a section that must be to be had at once.
func (s *named) acquire(key string) storage.Section {
	s.w.Helper()
	ctx, cancel := context.WithTimeout(s.w.ctx, time.Second)
	defer cancel()
	section, err := s.Acquire(ctx, key)
	if err != nil {
		s.w.Fatalf("acquire %q: %v", key, err)
	}
	return section
}

// busy expects that the section is not to be had.
func (s *named) busy(key string) {
	s.w.Helper()
	ctx, cancel := context.WithTimeout(s.w.ctx, 30*time.Millisecond)
	defer cancel()
	_, err := s.Acquire(ctx, key)
	s.w.code(storage.CodeUnavailable, err)
	if !errors.Is(err, context.DeadlineExceeded) {
		s.w.Fatalf("the end of the wait is not told: %v", err)
	}
}

func (w *world) release(s storage.Section) {
	w.Helper()
	if err := s.Release(w.ctx); err != nil {
		w.Fatalf("release: %v", err)
	}
}

func fenced(section storage.Section, c ...storage.Change) storage.Commit {
	commit := changes(c...)
	commit.Fences = []storage.Fence{section.Fence()}
	return commit
}

// counter reads a number kept in a record, and its version.
func (s *named) counter(id string) (n, version int64, err error) {
	row, _, err := s.GetRecord(s.w.ctx, "count", id)
	if err != nil || row.Version == 0 {
		return 0, 0, err
	}
	n, err = strconv.ParseInt(string(row.Data), 10, 64)
	return n, row.Version, err
}

func putCounter(id string, n, expect int64) storage.PutRecord {
	return storage.PutRecord{Expect: expect, Record: storage.Record{Collection: "count", ID: id, Data: json.RawMessage(fmt.Sprint(n))}}
}

var sectionCases = []contractCase{
	{"B67", "reopening keeps rows and incarnation; a new life of a store that is not durable has another", func(w *world) {
		w.write(storage.UpsertRole{Role: fullRole("r")})
		before := w.Info().Incarnation
		w.named = w.reopen()
		w.role("r")
		w.same(before, w.Info().Incarnation)
		w.same(before, w.open("").Info().Incarnation)
		next := newWorld(w.T, w.fresh, 0)
		if after := next.Info().Incarnation; before == "" || after == before || after == w.open("a").Info().Incarnation {
			w.Fatalf("incarnations %q and %q", before, after)
		}
		none[authz.Role](next)(next.GetRole(next.ctx, "r"))
	}},
	{"B68", "of two bodies on one key the second starts after the first ends", func(w *world) {
		first := w.acquire("k")
		w.busy("k")
		var ended atomic.Bool
		second := make(chan storage.Section, 1)
		go func() {
			section, err := w.open("").Acquire(w.ctx, "k")
			if err != nil || !ended.Load() {
				w.Errorf("second holder: %v, first ended %v", err, ended.Load())
			}
			second <- section
		}()
		time.Sleep(20 * time.Millisecond)
		ended.Store(true)
		w.release(first)
		w.release(<-second)
	}},
	{"B69", "after a body that failed the section is granted at once", func(w *world) {
		failure := errors.New("body")
		if err := storage.RunExclusive(w.ctx, w, "k", func(context.Context) error { return failure }); !errors.Is(err, failure) {
			w.Fatalf("got %v", err)
		}
		w.release(w.acquire("k"))
	}},
	{"B70", "sections on two keys overlap", func(w *world) {
		a, b := w.acquire("a"), w.acquire("b")
		w.release(a)
		w.release(b)
	}},
	{"B71", "fences strictly grow over releases and reopening, from the clock's milliseconds", func(w *world) {
		now := time.Now().UnixMilli()
		last := int64(0)
		for i := range 20 {
			section := w.acquire("k")
			fence := section.Fence()
			if fence.Key != "k" || fence.Fence <= last || i == 0 && (fence.Fence < now || fence.Fence > now+60_000) {
				w.Fatalf("fence %+v after %d at %d", fence, last, now)
			}
			last = fence.Fence
			w.release(section)
			w.release(section)
			if i%7 == 3 {
				w.named = w.reopen()
			}
		}
	}},
	{"B72", "a commit under a fence after another holder took the key is stale_fence and writes nothing", func(w *world) {
		first := w.acquire("k")
		w.do(fenced(first, putCounter("n", 1, 0)))
		w.release(first)
		second := w.open("").acquire("k")
		w.refuse(storage.CodeStaleFence, fenced(first, putCounter("n", 2, 1)))
		other := w.acquire("other")
		both := fenced(second, putCounter("n", 2, 1))
		both.Fences = append(both.Fences, storage.Fence{Key: "other", Fence: other.Fence().Fence + 1})
		w.refuse(storage.CodeStaleFence, both)
		both.Fences = []storage.Fence{{Key: "never taken", Fence: 1}}
		w.refuse(storage.CodeStaleFence, both)
		both.Fences = []storage.Fence{second.Fence(), other.Fence()}
		w.do(both)
		w.code(storage.CodeStaleFence, first.Renew(w.ctx))
		if n, _, _ := w.counter("n"); n != 2 {
			w.Fatalf("counter %d", n)
		}
	}},
	{"B73", "when the holder's handle ends, the next waiter holds within a second", func(w *world) {
		holder := w.open("")
		lost := holder.acquire("k")
		waited := make(chan storage.Section, 1)
		go func() {
			section, err := w.Acquire(w.ctx, "k")
			if err != nil {
				w.Errorf("acquire: %v", err)
			}
			waited <- section
		}()
		time.Sleep(20 * time.Millisecond)
		if err := holder.Close(); err != nil {
			w.Fatal(err)
		}
		select {
		case section := <-waited:
			w.release(section)
		case <-time.After(time.Second):
			w.Fatal("still waiting")
		}
		w.code(storage.CodeStaleFence, lost.Renew(w.ctx))
		w.refuse(storage.CodeStaleFence, fenced(lost, putCounter("n", 1, 0)))
		w.release(lost)
	}},
	{"B74", "a section not renewed for its lease is stolen, and its old holder's commit is refused (B86 alike)", func(w *world) {
		const lease = 500 * time.Millisecond
		w = newWorld(w.T, w.fresh, lease)
		kept, lost := w.acquire("kept"), w.acquire("lost")
		w.same(lease, kept.Lease())
		waited := make(chan storage.Section, 1)
		go func() {
			section, err := w.Acquire(w.ctx, "lost")
			if err != nil {
				w.Errorf("acquire: %v", err)
			}
			waited <- section
		}()
		var thief storage.Section
		for end := time.Now().Add(3 * lease / 2); time.Now().Before(end); time.Sleep(lease / 20) {
			if err := kept.Renew(w.ctx); err != nil {
				w.Fatalf("renew: %v", err)
			}
		}
		w.busy("kept")
		select {
		case thief = <-waited:
		default:
			w.Fatal("the waiter did not take the section when its lease was over")
		}
		if thief.Fence().Fence <= lost.Fence().Fence {
			w.Fatalf("fence %d after %d", thief.Fence().Fence, lost.Fence().Fence)
		}
		w.code(storage.CodeStaleFence, lost.Renew(w.ctx))
		w.refuse(storage.CodeStaleFence, fenced(lost, putCounter("n", 1, 0)))
		w.release(lost)
		if err := thief.Renew(w.ctx); err != nil {
			w.Fatalf("its old holder released it: %v", err)
		}
		w.do(fenced(kept, putCounter("n", 1, 0)))
		again := w.acquire("free at once")
		time.Sleep(lease + lease/5)
		w.do(fenced(again, putCounter("n", 2, 1)))
		if err := again.Renew(w.ctx); err != nil {
			w.Fatalf("an expired section that nobody took is not renewed: %v", err)
		}
	}},
	{"B75", "two stores counting 100 times each under one key reach 200", func(w *world) {
		stores := []*named{w.named, w.open("")}
		each(2, func(i int) {
			s := stores[i]
			for range 100 {
				err := storage.RunExclusive(w.ctx, s, "k", func(ctx context.Context) error {
					n, version, err := s.counter("n")
					if err != nil {
						return err
					}
					c := changes(putCounter("n", n+1, version))
					c.Fences = storage.Held(ctx, s)
					_, err = s.Commit(ctx, c)
					return err
				})
				if err != nil {
					w.Errorf("body: %v", err)
					return
				}
			}
		})
		if n, _, err := w.counter("n"); n != 200 || err != nil {
			w.Fatalf("counter %d, %v", n, err)
		}
	}},
	{"B76", "a cancelled waiter returns at once and leaves its place; acquiring twice in one operation is an error", func(w *world) {
		held := w.acquire("k")
		ctx, cancel := context.WithCancel(w.ctx)
		time.AfterFunc(20*time.Millisecond, cancel)
		start := time.Now()
		_, err := w.Acquire(ctx, "k")
		w.code(storage.CodeUnavailable, err)
		if !errors.Is(err, context.Canceled) || time.Since(start) > time.Second {
			w.Fatalf("after %v: %v", time.Since(start), err)
		}
		w.release(held)
		err = storage.RunExclusive(w.ctx, w, "k", func(ctx context.Context) error {
			return storage.RunExclusive(ctx, w, "k", func(context.Context) error { return nil })
		})
		w.code(storage.CodeConflict, err)
		w.release(w.acquire("k"))
	}},
	{"B77", "of two group edges that together close a cycle, written under one section, one is refused", func(w *world) {
		stores := []*named{w.named, w.open("")}
		var refused atomic.Int64
		for round := range 20 {
			a, b := fmt.Sprintf("a%d", round), fmt.Sprintf("b%d", round)
			each(2, func(i int) {
				s, child, parent := stores[i], []string{a, b}[i], []string{b, a}[i]
				err := storage.RunExclusive(w.ctx, s, "groups", func(ctx context.Context) error {
					if above, found, err := s.GetGroup(ctx, parent); err != nil || found && len(above.Parents) > 0 {
						refused.Add(1)
						return err
					}
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
	{"B78", "an applied commit sent again after its section changed hands is replayed, not stale_fence", func(w *world) {
		section := w.acquire("k")
		c := fenced(section, putCounter("n", 1, 0))
		first := w.do(c)
		w.release(section)
		w.release(w.acquire("k"))
		first.Replayed = true
		w.same(first, w.do(c))
	}},
	{"B79", "a commit racing a change of hands is whole before the next holder looks, or is stale_fence", func(w *world) {
		const rows = 1500
		var length time.Duration // of a commit that nobody disturbs
		for round := range 24 {
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
			count := func() int64 {
				n, err := w.CountGrants(w.ctx, storage.GrantFilter{Subject: ptr("user:u" + id)})
				if err != nil {
					w.Fatal(err)
				}
				return n
			}
			written := make(chan error, 1)
			go func() {
				_, err := w.Commit(w.ctx, c)
				written <- err
			}()
			time.Sleep(length * time.Duration(round) / 20)
			if err := holder.Close(); err != nil {
				w.Fatal(err)
			}
			thief := w.acquire("k" + id)
			first := count()
			err := <-written
			second := count()
			w.release(thief)
			switch {
			case first != second:
				w.Fatalf("the new holder read %d rows, then %d", first, second)
			case err == nil && first == rows, storage.CodeOf(err) == storage.CodeStaleFence && first == 0:
			default:
				w.Fatalf("%d rows, %v", first, err)
			}
		}
	}},
	{"B87", "after a restart the old handle answers unavailable, not applied, and new fences are above all earlier ones", func(w *world) {
		d := w.connect()
		s, err := d.Open(w.ctx, "")
		if err != nil {
			w.Fatal(err)
		}
		old := &named{s, w}
		section := old.acquire("k")
		c := changes(storage.UpsertRole{Role: fullRole("r")})
		old.do(c)
		if err := d.Close(); err != nil {
			w.Fatal(err)
		}
		_, _, err = old.GetRole(w.ctx, "r")
		w.code(storage.CodeUnavailable, err)
		if refusal := old.refuse(storage.CodeUnavailable, c); refusal.Outcome != authz.OutcomeNotApplied {
			w.Fatalf("outcome %q", refusal.Outcome)
		}
		w.code(storage.CodeUnavailable, listError(old.ListRoles(w.ctx, storage.Page{})))
		_, err = old.Acquire(w.ctx, "k")
		w.code(storage.CodeUnavailable, err)
		_, err = d.Open(w.ctx, "")
		w.code(storage.CodeUnavailable, err)
		time.Sleep(5 * time.Millisecond)
		next := newWorld(w.T, w.fresh, 0)
		if fence := next.acquire("k").Fence().Fence; fence <= section.Fence().Fence {
			w.Fatalf("fence %d after %d", fence, section.Fence().Fence)
		}
	}},
	{"§2", "closing twice is harmless, and a waiter of a closed handle stops waiting", func(w *world) {
		held := w.acquire("k")
		other := w.open("")
		stopped := make(chan error, 1)
		go func() {
			_, err := other.Acquire(w.ctx, "k")
			stopped <- err
		}()
		time.Sleep(20 * time.Millisecond)
		for range 2 {
			if err := other.Close(); err != nil {
				w.Fatal(err)
			}
		}
		w.code(storage.CodeUnavailable, <-stopped)
		w.release(held)
		w.release(w.acquire("k"))
	}},
}
