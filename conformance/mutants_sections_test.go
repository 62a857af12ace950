package conformance_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// section is a section with another fence, and other ways.
type section struct {
	storage.Section
	fence   int64
	renew   func(context.Context) error
	release func(context.Context) error
}

func (s *section) Fence() storage.Fence {
	return storage.Fence{Key: s.Section.Fence().Key, Fence: s.fence}
}

func (s *section) Renew(ctx context.Context) error {
	if s.renew != nil {
		return s.renew(ctx)
	}
	return s.Section.Renew(ctx)
}

func (s *section) Release(ctx context.Context) error {
	if s.release != nil {
		return s.release(ctx)
	}
	return s.Section.Release(ctx)
}

// translated runs a backend whose sections have fences of their own: handed out
// maps a true fence to the one shown.
func translated(handedOut func(key string, n int64) int64) func(*memory.Backend) func() storage.Driver {
	return func(b *memory.Backend) func() storage.Driver {
		var mu sync.Mutex
		count := map[string]int64{}
		current := map[string][2]int64{} // shown, true
		return func() storage.Driver {
			return &driver{b.Driver(), func(s *store) {
				s.acquire = func(ctx context.Context, key string) (storage.Section, error) {
					held, err := s.Store.Acquire(ctx, key)
					if err != nil {
						return nil, err
					}
					mu.Lock()
					defer mu.Unlock()
					count[key]++
					shown := handedOut(key, count[key])
					current[key] = [2]int64{shown, held.Fence().Fence}
					return &section{Section: held, fence: shown}, nil
				}
				s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
					fences := make([]storage.Fence, len(c.Fences))
					mu.Lock()
					for i, f := range c.Fences {
						if now, found := current[f.Key]; found && now[0] == f.Fence {
							f.Fence = now[1]
						} else {
							f.Fence = 1
						}
						fences[i] = f
					}
					mu.Unlock()
					c.Fences = fences
					return s.Store.Commit(ctx, c)
				}
			}}
		}
	}
}

var started = time.Now().UnixMilli()

var sectionMutants = []mutant{
	{name: "every acquisition has the same fence", kind: "reused fence", cases: "B71 B72 B73", backend: translated(func(string, int64) int64 { return started })},
	{name: "a fence is used twice", kind: "reused fence", cases: "B71", backend: translated(func(_ string, n int64) int64 { return started + n/2 })},
	{name: "fences begin at one", kind: "reused fence", cases: "B71", backend: translated(func(_ string, n int64) int64 { return n })},
	{name: "a commit does not look at its fences", kind: "reused fence", cases: "B72 B73 I19", store: committing(func(c *storage.Commit) { c.Fences = nil })},
	{name: "only the first fence is compared", kind: "reused fence", cases: "B72", store: committing(func(c *storage.Commit) { c.Fences = c.Fences[:min(1, len(c.Fences))] })},
	{name: "fences are compared before the id is recognised", kind: "recognition", cases: "B78", store: func(s *store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			if len(c.Fences) > 0 {
				if _, err := s.Store.Commit(ctx, storage.Commit{ID: fmt.Sprintf("look-%d", nextID.Add(1)), Fences: c.Fences}); storage.CodeOf(err) == storage.CodeStaleFence {
					return storage.CommitResult{}, err
				}
			}
			return s.Store.Commit(ctx, c)
		}
	}},
	{name: "sections exclude nobody", kind: "exclusion", cases: "B68", store: func(s *store) {
		s.acquire = func(ctx context.Context, key string) (storage.Section, error) {
			held, err := s.Store.Acquire(ctx, key)
			if err == nil {
				err = held.Release(ctx)
			}
			return held, err
		}
	}},
	{name: "one lock serves all keys", kind: "exclusion", cases: "B70", store: func(s *store) {
		s.acquire = func(ctx context.Context, key string) (storage.Section, error) {
			return s.Store.Acquire(ctx, "the lock")
		}
	}},
	{name: "a driver renews by itself", kind: "lease", cases: "B74 B86", store: func(s *store) {
		s.acquire = func(ctx context.Context, key string) (storage.Section, error) {
			held, err := s.Store.Acquire(ctx, key)
			if err == nil {
				go func() {
					for range 100 {
						time.Sleep(held.Lease() / 5)
						if held.Renew(context.Background()) != nil {
							return
						}
					}
				}()
			}
			return held, err
		}
	}},
	{name: "a renewal does nothing", kind: "lease", cases: "B74", store: sectionsThat(func(s *section) {
		s.renew = func(context.Context) error { return nil }
	})},
	{name: "a closed handle keeps its sections", kind: "release", cases: "B73", store: func(s *store) {
		s.close = func() error { return nil }
	}},
	{name: "a release is forgotten", kind: "release", cases: "B69 B71", store: sectionsThat(func(s *section) {
		s.release = func(context.Context) error { return nil }
	})},
	{name: "a waiter does not hear that it was cancelled", kind: "context", cases: "B76", store: func(s *store) {
		s.acquire = func(ctx context.Context, key string) (storage.Section, error) {
			bounded, done := context.WithTimeout(context.WithoutCancel(ctx), 4*time.Second)
			defer done()
			return s.Store.Acquire(bounded, key)
		}
	}},
	{name: "locks hold within a process only", kind: "exclusion", cases: "B75 B77", backend: func(b *memory.Backend) func() storage.Driver {
		return func() storage.Driver {
			locks := memory.New(memory.Options{})
			return &driver{b.Driver(), func(s *store) {
				private, _ := locks.Open(context.Background(), s.Info().Partition)
				s.acquire = private.Acquire
				s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
					c.Fences = nil
					return s.Store.Commit(ctx, c)
				}
			}}
		}
	}},
	{name: "a thief does not wait for a commit under way", kind: "torn commit", cases: "B79f", processes: true, store: func(s *store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			if len(c.Fences) == 0 || len(c.Changes) < 100 {
				return s.Store.Commit(ctx, c)
			}
			look := storage.Commit{ID: c.ID + " looks", Fences: c.Fences}
			if _, err := s.Store.Commit(ctx, look); err != nil {
				return storage.CommitResult{}, err
			}
			time.Sleep(3 * time.Second) // for longer than the lease
			c.Fences = nil
			return s.Store.Commit(ctx, c)
		}
	}},
	{name: "a closed driver still answers", kind: "closed handle", cases: "B87b", driver: func(d storage.Driver) storage.Driver { return unclosed{d} }},
}

type unclosed struct{ storage.Driver }

func (unclosed) Close() error { return nil }

func sectionsThat(alter func(*section)) func(*store) {
	return func(s *store) {
		s.acquire = func(ctx context.Context, key string) (storage.Section, error) {
			held, err := s.Store.Acquire(ctx, key)
			if err != nil {
				return nil, err
			}
			altered := &section{Section: held, fence: held.Fence().Fence}
			alter(altered)
			return altered, nil
		}
	}
}

var crashMutants = []mutant{
	{name: "a killed process leaves half a commit", kind: "torn commit", cases: "B61 I26", processes: true, store: piecemeal},
	{name: "a commit is acknowledged before it is kept", kind: "durability", cases: "B61", processes: true, store: func(s *store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			if len(c.Changes) < 100 || nextID.Add(1)%2 == 0 {
				return s.Store.Commit(ctx, c)
			}
			return storage.CommitResult{Results: make([]storage.ChangeResult, len(c.Changes)), UpTo: authz.Position{Seq: 1}}, nil
		}
	}},
	{name: "a resend after a crash is applied again", kind: "applied twice", cases: "B61", processes: true, store: forgetful},
	{name: "the old role goes before the new one is there", kind: "torn commit", cases: "B26f", processes: true, store: func(s *store) {
		s.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			if u, ok := c.Changes[0].(storage.UpsertRole); ok {
				gone := storage.Commit{ID: c.ID + " first", Changes: []storage.Change{storage.DeleteRole{ID: u.Role.ID}}}
				if _, err := s.Store.Commit(ctx, gone); err != nil {
					return storage.CommitResult{}, err
				}
				time.Sleep(20 * time.Millisecond)
			}
			return s.Store.Commit(ctx, c)
		}
	}},
}
