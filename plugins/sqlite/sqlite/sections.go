package sqlite

import (
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/sdk/storage"
)

// The bounds of the pause between two looks at a section that another process
// holds.
const (
	leastPause = 5 * time.Millisecond
	mostPause  = 50 * time.Millisecond
)

// sections order who waits for the sections of one partition in this process, and
// wake them. Only the first waiter of a key looks at the lock's row.
type sections struct {
	mu     sync.Mutex
	queues map[string]*turns
	sweep  string // the last key that a sweep looked at

	// local are the holders with LockNone, which the rows do not name.
	local map[string]*section

	leases storage.Leases // of holders in other processes
}

// turns is the queue of one key.
type turns struct {
	waiting []chan struct{} // closed when it is its turn; the first one's is
	freed   signal
}

func newSections() *sections {
	return &sections{queues: map[string]*turns{}, local: map[string]*section{}}
}

// enter queues up for a key. leave must be called once, after or before the turn.
func (t *sections) enter(key string) (q *turns, turn <-chan struct{}, leave func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	q, found := t.queues[key]
	if !found {
		q = &turns{}
		t.queues[key] = q
	}
	mine := make(chan struct{})
	q.waiting = append(q.waiting, mine)
	if len(q.waiting) == 1 {
		close(mine)
	}
	return q, mine, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		first := q.waiting[0] == mine
		q.waiting = slices.DeleteFunc(q.waiting, func(c chan struct{}) bool { return c == mine })
		switch {
		case len(q.waiting) == 0:
			delete(t.queues, key)
		case first:
			close(q.waiting[0])
		}
	}
}

// wake tells the first waiter of a key that the section may be free.
func (t *sections) wake(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q, found := t.queues[key]; found {
		q.freed.give()
	}
}

// Acquire waits for its turn among the waiters of this process, then for the lock.
func (s *store) Acquire(ctx context.Context, key string) (storage.Section, error) {
	if err := s.usable(ctx, key); err != nil {
		return nil, err
	}
	if key == "" {
		return nil, storage.Errorf(storage.CodeValidation, "a section needs a key that is not empty")
	}
	queue, turn, leave := s.partition.sections.enter(key)
	defer leave()
	select {
	case <-turn:
	case <-ctx.Done():
		return nil, seam.Interrupted(ctx)
	case <-s.handle:
		return nil, seam.Closed()
	}
	for {
		freed := queue.freed.wait()
		got, err := s.lock(ctx, key)
		if err != nil {
			return nil, err
		}
		if got != nil {
			return s.keep(got)
		}
		if err := s.pause(ctx, freed); err != nil {
			return nil, err
		}
	}
}

// pause waits until the section may be free.
func (s *store) pause(ctx context.Context, freed <-chan struct{}) error {
	timer := time.NewTimer(leastPause + mathrand.N(mostPause-leastPause))
	defer timer.Stop()
	select {
	case <-freed:
	case <-timer.C:
	case <-ctx.Done():
		return seam.Interrupted(ctx)
	case <-s.handle:
		return seam.Closed()
	}
	return nil
}

// lock tries to take the section; nil says that it is held.
func (s *store) lock(ctx context.Context, key string) (*section, error) {
	if s.driver.options.Lock == LockNone {
		return s.lockHere(ctx, key)
	}
	stale, free, err := s.lookAtLock(ctx, key)
	if err != nil || !free {
		return nil, err
	}
	got := &section{store: s, key: key, holder: rand.Text()}
	taken := false
	err = s.write(ctx, func(w *work) (err error) {
		now := s.driver.options.Clock()
		got.fence, taken, err = takeLock(w, s.app, key, got.holder, now, now+s.driver.options.Lease.Milliseconds(), stale)
		if err == nil && taken {
			err = s.sweepLocks(w, now)
		}
		return err
	})
	if err != nil || !taken {
		return nil, err
	}
	return got, nil
}

// lookAtLock reports whether the lock may be taken, and the stale lease that is then in
// the way.
func (s *store) lookAtLock(ctx context.Context, key string) (stale *storage.Lease, free bool, err error) {
	var held *storage.Lease
	err = s.db.read(ctx, func(w *work) (err error) {
		held, err = heldLease(w, s.app, key, s.driver.options.Clock())
		return err
	})
	leases := &s.partition.sections.leases
	switch {
	case err != nil:
		return nil, false, err
	case held == nil:
		leases.Forget(key)
		return nil, true, nil
	}
	return held, leases.Stale(key, *held, s.driver.options.Lease), nil
}

// lockHere is lock for sections that hold within this driver: the row only counts,
// but names a holder when a process with LockTable was there before and its lease
// still runs.
func (s *store) lockHere(ctx context.Context, key string) (*section, error) {
	t := s.partition.sections
	t.mu.Lock()
	holder := t.local[key]
	t.mu.Unlock()
	if holder != nil && !holder.expired() {
		return nil, nil
	}
	stale, free, err := s.lookAtLock(ctx, key)
	if err != nil || !free {
		return nil, err
	}
	got := &section{store: s, key: key}
	taken := false
	err = s.write(ctx, func(w *work) (err error) {
		now := s.driver.options.Clock()
		got.fence, taken, err = takeLock(w, s.app, key, "", now, now, stale)
		if err == nil && taken {
			err = s.sweepLocks(w, now)
		}
		return err
	})
	if err != nil || !taken {
		return nil, err
	}
	got.expires = time.Now().Add(s.driver.options.Lease)
	t.mu.Lock()
	t.local[key] = got // the turn was this waiter's: nobody else took it meanwhile
	t.mu.Unlock()
	return got, nil
}

// keep remembers a section for the store's end, or gives it back when that was
// faster.
func (s *store) keep(got *section) (storage.Section, error) {
	s.mu.Lock()
	s.held[got] = struct{}{}
	s.mu.Unlock()
	if s.handle.Closed() {
		_ = s.release(got) // the lease ends it otherwise
		return nil, seam.Closed()
	}
	return got, nil
}
