package client_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
)

// slowStore answers when it is released and minds no context.
type slowStore struct {
	client.CacheStore
	release chan struct{}
	gets    atomic.Int64
}

func (s *slowStore) Get(ctx context.Context, key string) (string, bool, error) {
	s.gets.Add(1)
	<-s.release
	return s.CacheStore.Get(ctx, key)
}

func TestASlowStoreIsAMissAndIsReported(t *testing.T) {
	b := newSharedBench(t, cacheClient{})
	slow := &slowStore{CacheStore: b.shared, release: make(chan struct{})}
	var timeouts atomic.Int64
	c, err := client.New(client.Options{Provider: b.source, Catalog: b.local.Catalog(), Clock: b.now.Load, CacheStore: slow,
		CacheStoreTimeout: 20 * time.Millisecond, OnCacheStoreError: func(err error) {
			if errors.Is(err, context.DeadlineExceeded) {
				timeouts.Add(1)
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	b.clients["slow"] = c
	began := time.Now()
	if calls := b.reads(t, "slow", true); calls.Subject != 1 || calls.Ancestors != 1 {
		t.Errorf("calls %+v", calls)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the check took %v", took)
	}
	if timeouts.Load() != 2 {
		t.Errorf("%d timeouts were reported, want one for each side", timeouts.Load())
	}
	close(slow.release)
	c.Close()
}

// newSlowBench is a shared tier that is filled and holds its answers until they are
// released, and a client over it.
func newSlowBench(t *testing.T) (*cacheBench, *slowStore, *client.Client) {
	t.Helper()
	b := newSharedBench(t, cacheClient{})
	b.reads(t, "A", true)
	b.shared.await(2)
	slow := &slowStore{CacheStore: b.shared, release: make(chan struct{})}
	c, err := client.New(client.Options{Provider: b.source, Catalog: b.local.Catalog(), Clock: b.now.Load, CacheStore: slow,
		CacheStoreTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return b, slow, c
}

func TestConcurrentMissesShareOneReadOfTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, slow, c := newSlowBench(t)
		defer c.Close()
		b.source.take()
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if ok, err := c.Can(t.Context(), authz.UserPrincipal("u1"), "docs.files.read", ""); !ok || err != nil {
					t.Error(ok, err)
				}
			})
		}
		synctest.Wait() // all have joined
		if gets := slow.gets.Load(); gets == 0 {
			t.Error("nobody asked the store")
		}
		close(slow.release)
		all.Wait()
		if gets, calls := slow.gets.Load(), b.source.take(); gets != 1 || calls.Subject != 0 {
			t.Errorf("%d reads of the store and %+v, want one read", gets, calls)
		}
	})
}

func TestAReadOfTheStoreThatABustOvertookIsNotKept(t *testing.T) {
	b, slow, c := newSlowBench(t)
	defer c.Close()
	ask := func() bool {
		ok, err := c.Can(context.Background(), authz.UserPrincipal("u1"), "docs.files.read", "")
		if err != nil {
			t.Error(err)
		}
		return ok
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ask()
	}()
	for slow.gets.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	mustWrite(t, b, false, "setUserActive", `{"userId":"u1","active":false}`)
	if ask() {
		t.Error("a check that began after the write joined the read that began before it")
	}
	close(slow.release)
	<-ended
	if ask() {
		t.Error("the entry that was read before the write was kept")
	}
}

// brokenStore panics.
type brokenStore struct{}

func (brokenStore) Get(context.Context, string) (string, bool, error)        { panic("get") }
func (brokenStore) Set(context.Context, string, string, time.Duration) error { panic("set") }
func (brokenStore) Delete(context.Context, string) error                     { panic("delete") }

func TestPanicsOfTheStoreAndOfItsListenerHarmNoCheck(t *testing.T) {
	b := newSharedBench(t, cacheClient{})
	var heard atomic.Int64
	c, err := client.New(client.Options{Provider: b.source, Catalog: b.local.Catalog(), CacheStore: brokenStore{},
		OnCacheStoreError: func(error) { heard.Add(1); panic("listener") }})
	if err != nil {
		t.Fatal(err)
	}
	b.clients["broken"] = c
	b.reads(t, "broken", true)
	for heard.Load() < 4 { // two reads, two writes
		time.Sleep(time.Millisecond)
	}
	c.Close()
	b.reads(t, "broken", true)
	if heard.Load() != 4 {
		t.Errorf("a closed client used the store: %d errors", heard.Load())
	}
}

// stuckStore never ends a write before its context does.
type stuckStore struct{ *mapStore }

func (stuckStore) Set(ctx context.Context, _, _ string, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestWritesToTheStoreAreBoundedAndEndWithTheClient(t *testing.T) {
	b := newSharedBench(t, cacheClient{})
	var busy atomic.Int64
	before := runtime.NumGoroutine()
	c, err := client.New(client.Options{Provider: b.source, Catalog: b.local.Catalog(), CacheStore: stuckStore{b.shared},
		OnCacheStoreError: func(err error) {
			if errors.Is(err, client.ErrCacheStoreBusy) {
				busy.Add(1)
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		if _, err := c.Can(context.Background(), authz.UserPrincipal(fmt.Sprint("u", i)), "docs.files.read", ""); err != nil {
			t.Fatal(err)
		}
	}
	if under := runtime.NumGoroutine() - before; under > 100 {
		t.Errorf("%d goroutines write", under)
	}
	if busy.Load() == 0 {
		t.Error("nothing was given up although no write ends")
	}
	c.Close()
	c.Close()
	for end := time.Now().Add(30 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines before, %d after Close", before, runtime.NumGoroutine())
		}
	}
}

func TestMalformedOptionsOfTheSharedTierAreRefused(t *testing.T) {
	b := newSharedBench(t, cacheClient{})
	for option, spoil := range map[string]func(*client.Options){
		"CacheStoreTTL":     func(o *client.Options) { o.CacheStoreTTL = -time.Second },
		"CacheStoreTimeout": func(o *client.Options) { o.CacheStoreTimeout = time.Microsecond },
	} {
		o := client.Options{Provider: b.local, Catalog: b.local.Catalog()}
		spoil(&o)
		if _, err := client.New(o); err == nil || !strings.Contains(err.Error(), option) {
			t.Errorf("%s: %v", option, err)
		}
	}
}

func TestEntriesAreKeptForTheLongerTTLWithoutRevalidation(t *testing.T) {
	b := newSharedBench(t, cacheClient{RevalidateAfterMs: false})
	b.reads(t, "A", true)
	b.shared.await(2)
	for _, key := range slices.Sorted(slices.Values(b.shared.keys())) {
		if b.shared.ttls[key] != time.Minute {
			t.Errorf("%s is kept for %v", key, b.shared.ttls[key])
		}
	}
}
