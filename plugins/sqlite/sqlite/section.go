package sqlite

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/sdk/storage"
)

// section is one acquisition. It is held as long as the lock says so.
type section struct {
	store  *store
	key    string
	fence  int64
	holder string

	mu      sync.Mutex // of expires
	expires time.Time  // with LockNone
}

func (h *section) Fence() storage.Fence { return storage.Fence{Key: h.key, Fence: h.fence} }

func (h *section) Lease() time.Duration { return h.store.driver.options.Lease }

// Renew extends the lease also when it has run out and nobody took the section.
func (h *section) Renew(ctx context.Context) error {
	if ctx.Err() != nil {
		return seam.Interrupted(ctx)
	}
	if h.store.handle.Closed() {
		return seam.Closed()
	}
	if h.store.driver.options.Lock == LockNone {
		return h.renewHere()
	}
	stands := false
	err := h.store.db.write(ctx, func(w *work) (err error) {
		now := h.store.driver.options.Clock()
		stands, err = renewLock(w, h.store.app, h.key, h.holder, now+h.Lease().Milliseconds())
		return err
	})
	if err == nil && !stands {
		err = h.errLost()
	}
	return err
}

func (h *section) renewHere() error {
	t := h.store.partition.sections
	t.mu.Lock()
	stands := t.local[h.key] == h
	t.mu.Unlock()
	if !stands {
		return h.errLost()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.expires = time.Now().Add(h.Lease())
	return nil
}

func (h *section) errLost() error {
	return storage.Errorf(storage.CodeStaleFence, "section %s is no longer held under fence %d", spell.Quote(h.key), h.fence)
}

func (h *section) expired() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Until(h.expires) <= 0
}

// Release gives the section back whatever became of the caller.
func (h *section) Release(context.Context) error { return h.store.release(h) }

// releaseAll ends what the store still holds.
func (s *store) releaseAll() error {
	s.mu.Lock()
	held := slices.Collect(maps.Keys(s.held))
	s.mu.Unlock()
	return s.release(held...)
}

// release frees the locks that nobody else has by now, in one transaction. It waits
// for commits under way: they have the writer. A section given back before is left
// out.
func (s *store) release(given ...*section) error {
	s.mu.Lock()
	given = slices.DeleteFunc(given, func(h *section) bool {
		_, held := s.held[h]
		delete(s.held, h)
		return !held
	})
	s.mu.Unlock()
	if len(given) == 0 {
		return nil
	}
	t := s.partition.sections
	var err error
	if s.driver.options.Lock == LockNone {
		t.mu.Lock()
		for _, h := range given {
			if t.local[h.key] == h {
				delete(t.local, h.key)
			}
		}
		t.mu.Unlock()
	} else {
		err = s.db.writing(max(s.driver.options.Lease, time.Second), func(w *work) error {
			now := s.driver.options.Clock()
			for _, h := range given {
				if err := freeLock(w, s.app, h.key, h.holder, now); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for _, h := range given {
		t.wake(h.key)
	}
	return err
}
