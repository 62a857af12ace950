package storage_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// lease is short only in name: the cases run on synctest's clock.
const lease = 300 * time.Millisecond

// exclusive runs each case in a bubble of its own time, over a fresh store.
func exclusive(t *testing.T, cases map[string]func(*testing.T, storage.Store)) {
	for name, run := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, err := memory.New(memory.Options{Lease: lease}).Open(t.Context(), "")
				if err != nil {
					t.Fatal(err)
				}
				defer store.Close()
				run(t, store)
			})
		})
	}
}

// free fails the case unless the section is to be had at once.
func free(t *testing.T, store storage.Store, key string) storage.Section {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Nanosecond)
	defer cancel()
	section, err := store.Acquire(ctx, key)
	if err != nil {
		t.Fatalf("section %q was not given back: %v", key, err)
	}
	return section
}

func TestRunExclusive(t *testing.T) {
	failure := errors.New("body")
	nothing := func(context.Context) error { return nil }
	exclusive(t, map[string]func(*testing.T, storage.Store){
		"the body runs under the fence of the section, and the section goes back": func(t *testing.T, store storage.Store) {
			err := storage.RunExclusive(t.Context(), store, "k", func(ctx context.Context) error {
				held := storage.Held(ctx, store)
				if len(held) != 1 || held[0].Key != "k" {
					t.Errorf("held %+v", held)
				}
				_, err := store.Commit(ctx, storage.Commit{ID: "c", Fences: held, Changes: []storage.Change{storage.UpsertRole{Role: authz.Role{ID: "r"}}}})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(storage.Held(t.Context(), store)) != 0 {
				t.Fatal("the caller's context holds a section")
			}
			free(t, store, "k")
		},
		"a section of another store is neither held nor in the way": func(t *testing.T, store storage.Store) {
			other := locker{store}
			err := storage.RunExclusive(t.Context(), other, "elsewhere", func(ctx context.Context) error {
				return storage.RunExclusive(ctx, store, "k", func(ctx context.Context) error {
					if mine, theirs := storage.Held(ctx, store), storage.Held(ctx, other); len(mine) != 1 || mine[0].Key != "k" || len(theirs) != 1 {
						t.Errorf("held %+v and %+v", mine, theirs)
					}
					return nil
				})
			})
			if err != nil {
				t.Fatal(err)
			}
		},
		"nested sections are held outermost first and go back one by one": func(t *testing.T, store storage.Store) {
			err := storage.RunExclusive(t.Context(), store, "outer", func(ctx context.Context) error {
				for _, key := range []string{"a", "b"} {
					err := storage.RunExclusive(ctx, store, key, func(ctx context.Context) error {
						var keys []string
						for _, f := range storage.Held(ctx, store) {
							keys = append(keys, f.Key)
						}
						if diff := cmp.Diff([]string{"outer", key}, keys); diff != "" {
							t.Errorf("held (-want +got):\n%s", diff)
						}
						return nil
					})
					if err != nil {
						return err
					}
				}
				return storage.RunExclusive(ctx, store, "a", nothing)
			})
			if err != nil {
				t.Fatal(err)
			}
			free(t, store, "outer")
		},
		"taking a held section again is an error, not a deadlock": func(t *testing.T, store storage.Store) {
			err := storage.RunExclusive(t.Context(), store, "k", func(ctx context.Context) error {
				return storage.RunExclusive(ctx, store, "other", func(ctx context.Context) error {
					return storage.RunExclusive(ctx, store, "k", nothing)
				})
			})
			if storage.CodeOf(err) != storage.CodeConflict {
				t.Fatalf("got %v", err)
			}
			free(t, store, "k")
			free(t, store, "other")
		},
		"a body's error is returned and the section goes back": func(t *testing.T, store storage.Store) {
			if err := storage.RunExclusive(t.Context(), store, "k", func(context.Context) error { return failure }); !errors.Is(err, failure) {
				t.Fatalf("got %v", err)
			}
			free(t, store, "k")
		},
		"a body's panic goes on and the section goes back": func(t *testing.T, store storage.Store) {
			func() {
				defer func() {
					if got := recover(); got != "boom" {
						t.Errorf("recovered %v", got)
					}
				}()
				_ = storage.RunExclusive(t.Context(), store, "k", func(context.Context) error { panic("boom") })
			}()
			free(t, store, "k")
		},
		"a body longer than many leases keeps the section by its beats": func(t *testing.T, store storage.Store) {
			stolen := make(chan struct{})
			waiting, stop := context.WithCancel(t.Context())
			defer stop()
			err := storage.RunExclusive(t.Context(), store, "k", func(ctx context.Context) error {
				go func() {
					if _, err := store.Acquire(waiting, "k"); err == nil {
						close(stolen)
					}
				}()
				time.Sleep(20 * lease)
				select {
				case <-stolen:
					t.Error("stolen from a holder that renewed")
				default:
				}
				return ctx.Err()
			})
			if err != nil {
				t.Fatal(err)
			}
			<-stolen // its turn once the section went back
		},
		"a lost section ends the body's context with stale_fence, and its commit is refused": func(t *testing.T, store storage.Store) {
			thief := stealing{Locker: store, taken: make(chan storage.Section, 1)}
			err := storage.RunExclusive(t.Context(), thief, "k", func(ctx context.Context) error {
				start := time.Now()
				<-ctx.Done()
				if code := storage.CodeOf(context.Cause(ctx)); code != storage.CodeStaleFence || time.Since(start) > lease {
					t.Errorf("ended by %v after %v", context.Cause(ctx), time.Since(start))
				}
				_, err := store.Commit(context.WithoutCancel(ctx), storage.Commit{ID: "c", Fences: storage.Held(ctx, thief)})
				return err
			})
			if storage.CodeOf(err) != storage.CodeStaleFence {
				t.Fatalf("got %v", err)
			}
			if err := (<-thief.taken).Renew(t.Context()); err != nil {
				t.Fatalf("the end of the old body released the new holder: %v", err)
			}
		},
		"a waiter whose context ends returns that at once and never runs": func(t *testing.T, store storage.Store) {
			held := free(t, store, "k")
			stop := keep(t, held)
			defer stop()
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			start := time.Now()
			err := storage.RunExclusive(ctx, store, "k", func(context.Context) error { t.Error("ran"); return nil })
			if storage.CodeOf(err) != storage.CodeUnavailable || !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
				t.Fatalf("after %v: %v", time.Since(start), err)
			}
		},
		"waiting longer than the limit is unavailable, not applied": func(t *testing.T, store storage.Store) {
			held := free(t, store, "k")
			stop := keep(t, held)
			defer stop()
			start := time.Now()
			err := storage.RunExclusive(t.Context(), store, "k", func(context.Context) error { t.Error("ran"); return nil })
			var refusal *storage.Error
			if !errors.As(err, &refusal) || refusal.Code != storage.CodeUnavailable || refusal.Outcome != authz.OutcomeNotApplied || time.Since(start) != storage.DefaultAcquireWait {
				t.Fatalf("after %v: %#v", time.Since(start), err)
			}
		},
		"a body whose operation was cancelled still gives the section back": func(t *testing.T, store storage.Store) {
			ctx, cancel := context.WithCancel(t.Context())
			err := storage.RunExclusive(ctx, store, "k", func(ctx context.Context) error {
				cancel()
				<-ctx.Done()
				return ctx.Err()
			})
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v", err)
			}
			free(t, store, "k")
		},
	})
}

// keep renews a section until stop.
func keep(t *testing.T, s storage.Section) (stop context.CancelFunc) {
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		beat := time.NewTicker(s.Lease() / 3)
		defer beat.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
				if err := s.Renew(ctx); err != nil && ctx.Err() == nil {
					t.Errorf("renew: %v", err)
				}
			}
		}
	}()
	return stop
}

// stealing hands out a section that somebody else takes at once: it stands for a
// holder whose beats were late for a whole lease.
type stealing struct {
	storage.Locker
	taken chan storage.Section
}

func (l stealing) Acquire(ctx context.Context, key string) (storage.Section, error) {
	section, err := l.Locker.Acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	time.Sleep(section.Lease()) // no beat arrives
	stolen, err := l.Locker.Acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	l.taken <- stolen
	return section, nil
}

func TestAKeyOfAnotherPartitionIsNeitherHeldNorInTheWay(t *testing.T) {
	driver := memory.New(memory.Options{})
	defer driver.Close()
	stores := make([]storage.Store, 2)
	for i, partition := range []string{"a", "b"} {
		var err error
		if stores[i], err = driver.Open(t.Context(), partition); err != nil {
			t.Fatal(err)
		}
	}
	err := storage.RunExclusive(t.Context(), stores[0], "groups", func(ctx context.Context) error {
		if held := storage.Held(ctx, stores[1]); len(held) != 0 {
			t.Errorf("held in the other partition: %+v", held)
		}
		return storage.RunExclusive(ctx, stores[1], "groups", func(ctx context.Context) error {
			for i, store := range stores {
				_, err := store.Commit(ctx, storage.Commit{ID: "c", Fences: storage.Held(ctx, store)})
				if held := storage.Held(ctx, store); err != nil || len(held) != 1 {
					t.Errorf("store %d: held %+v, commit %v", i, held, err)
				}
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestErrorsAreFoundByCodeThroughWrapping(t *testing.T) {
	cause := errors.New("socket closed")
	wrapped := errors.Join(errors.New("while committing"), storage.Unavailable(authz.OutcomeUnknown, cause, "lost"))
	if storage.CodeOf(wrapped) != storage.CodeUnavailable || !errors.Is(wrapped, cause) {
		t.Fatalf("got %v", wrapped)
	}
	if code := storage.CodeOf(cause); code != "" {
		t.Fatalf("a foreign error has code %q", code)
	}
	if storage.CodeOf(storage.Unsupported(storage.CapMetrics)) != storage.CodeUnsupported {
		t.Fatal("an absent capability is not unsupported")
	}
}

func TestCapabilities(t *testing.T) {
	for _, c := range storage.AllCapabilities {
		if !storage.AllCapabilities.Has(c) || (storage.Capabilities{}).Has(c) {
			t.Errorf("capability %q", c)
		}
	}
	if storage.AllCapabilities.Has("other") {
		t.Error("an unknown capability is declared")
	}
}

// locker is a store that is not equal to the one it wraps.
type locker struct{ storage.Store }
