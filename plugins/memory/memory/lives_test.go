package memory_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
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

// open returns a store of a backend of its own, at the clock's time.
func open(t *testing.T, clock func() int64) storage.Store {
	t.Helper()
	s, err := memory.New(memory.Options{Clock: clock}).Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestFencesOutliveTheSweepOfIdleSections(t *testing.T) {
	var now atomic.Int64
	now.Store(1_000_000)
	s := open(t, now.Load)
	acquire := func(key string) storage.Section {
		section, err := s.Acquire(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return section
	}
	take := func(key string, want int64) {
		section := acquire(key)
		if got := section.Fence().Fence; got != want {
			t.Fatalf("fence %d, want %d", got, want)
		}
		_ = section.Release(t.Context())
	}
	take("request:1", 1_000_000)
	held := acquire("held")
	day := (24 * time.Hour).Milliseconds()
	now.Add(day + 1)
	take("request:2", 1_000_000+day+1)
	_, err := s.Commit(t.Context(), storage.Commit{ID: "c", Fences: []storage.Fence{{Key: "request:1", Fence: 1_000_000}}})
	if storage.CodeOf(err) != storage.CodeStaleFence { // its row was forgotten
		t.Fatalf("got %v", err)
	}
	now.Store(5) // a clock set back must not repeat a fence
	take("request:1", 1_000_001)
	if err := held.Renew(t.Context()); err != nil {
		t.Fatalf("a held section was swept: %v", err)
	}
}

func TestCommitIDsAreKeptForADay(t *testing.T) {
	var now atomic.Int64
	s := open(t, now.Load)
	commit := func(c storage.Commit) storage.CommitResult {
		result, err := s.Commit(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	found := func() bool {
		_, found, err := s.GetCommit(t.Context(), "first")
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	day := (24 * time.Hour).Milliseconds()
	first := storage.Commit{ID: "first", At: -5, Changes: []storage.Change{storage.UpsertRole{Role: authz.Role{ID: "r"}}}}
	commit(first)
	now.Store(day)
	commit(storage.Commit{ID: "second"})
	if !found() || !commit(first).Replayed {
		t.Fatal("forgotten within the day")
	}
	now.Store(day + 1)
	commit(storage.Commit{ID: "third"})
	if found() {
		t.Fatal("kept for longer than a day")
	}
}

func TestDeclarations(t *testing.T) {
	d := memory.New(memory.Options{})
	if info := d.Info(); info.Name != "memory" || info.Durable == nil || *info.Durable || !info.CrossProcess {
		t.Fatalf("driver %+v", info)
	}
	s := open(t, nil)
	if info := s.Info(); info.SchemaVersion != 6 || !slices.Equal(info.Capabilities, storage.AllCapabilities) {
		t.Fatalf("store %+v", info)
	}
}
