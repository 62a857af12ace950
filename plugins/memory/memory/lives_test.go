package memory_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/storage"
)

func TestWaitersAreServedInTheOrderTheyCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := memory.New(memory.Options{}).Open(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		held, err := store.Acquire(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		order := make(chan int, 6)
		impatient, giveUp := context.WithCancel(t.Context())
		for i := range 6 {
			ctx := t.Context()
			if i == 2 {
				ctx = impatient
			}
			go func() {
				section, err := store.Acquire(ctx, "k")
				if err != nil {
					order <- -1
					return
				}
				order <- i
				if i == 4 {
					return // dies holding it
				}
				_ = section.Release(t.Context())
			}()
			synctest.Wait() // it waits in the queue
		}
		giveUp()
		synctest.Wait()
		if got := <-order; got != -1 {
			t.Fatalf("%d was served while the section was held", got)
		}
		if err := held.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for _, want := range []int{0, 1, 3, 4, 5} {
			if got := <-order; got != want {
				t.Fatalf("served %d, want %d", got, want)
			}
		}
		if waited := time.Since(start); waited != storage.DefaultLease {
			t.Fatalf("a dead holder was robbed after %v, want its lease", waited)
		}
	})
}

func TestAWaiterThatGivesUpAsItIsServedKeepsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := memory.New(memory.Options{}).Open(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		for range 50 {
			held, err := store.Acquire(t.Context(), "k")
			if err != nil {
				t.Fatal(err)
			}
			ctx, giveUp := context.WithCancel(t.Context())
			go func() {
				if section, err := store.Acquire(ctx, "k"); err == nil {
					_ = section.Release(ctx)
				}
			}()
			synctest.Wait() // it waits in the queue
			start := time.Now()
			giveUp()
			_ = held.Release(t.Context()) // both reach the waiter at once
			next, err := store.Acquire(t.Context(), "k")
			if err != nil || time.Since(start) != 0 {
				t.Fatalf("the next holder waited %v, %v", time.Since(start), err)
			}
			_ = next.Release(t.Context())
		}
	})
}

func TestFencesOutliveTheSweepOfIdleSections(t *testing.T) {
	var now atomic.Int64
	now.Store(1_000_000)
	w := newWorld(t, func(*testing.T, time.Duration) func() storage.Driver {
		return memory.NewBackend(memory.Options{Clock: now.Load}).Driver
	}, 0)
	take := func(key string) int64 {
		section := w.acquire(key)
		w.release(section)
		return section.Fence().Fence
	}
	w.same(int64(1_000_000), take("request:1"))
	old := fenced(w.acquire("held"), storage.UpsertRole{Role: fullRole("r")})
	old.Fences[0] = storage.Fence{Key: "request:1", Fence: 1_000_000}
	day := (24 * time.Hour).Milliseconds()
	now.Add(day + 1)
	w.same(int64(1_000_000+day+1), take("request:2"))
	w.refuse(storage.CodeStaleFence, old) // its row was forgotten
	now.Store(5)                          // a clock set back must not repeat a fence
	w.same(int64(1_000_001), take("request:1"))
	w.busy("held")
}

func TestCommitIDsAreKeptForADay(t *testing.T) {
	var now atomic.Int64
	w := newWorld(t, func(*testing.T, time.Duration) func() storage.Driver {
		return memory.NewBackend(memory.Options{Clock: now.Load}).Driver
	}, 0)
	day := (24 * time.Hour).Milliseconds()
	first := storage.Commit{ID: "first", At: -5, Changes: []storage.Change{storage.UpsertRole{Role: fullRole("r")}}}
	w.do(first)
	now.Store(day)
	w.write()
	one[storage.CommitResult](w)(w.GetCommit(w.ctx, "first"))
	if !w.do(first).Replayed {
		t.Fatal("forgotten within the day")
	}
	now.Store(day + 1)
	w.write()
	none[storage.CommitResult](w)(w.GetCommit(w.ctx, "first"))
}
