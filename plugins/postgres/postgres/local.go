package postgres

import (
	"context"
	"sync"
	"time"
)

// localLocks keep sections apart within one driver, for LockNone: who holds what,
// and until when, is known here alone. The database only counts the fences, so
// that a commit of a second process, which there should not be, is refused.
type localLocks struct {
	mu      sync.Mutex
	holders map[pair]*section
}

func (l *localLocks) take(ctx context.Context, s *store, sec *section) (bool, error) {
	p := pair{s.partition, sec.key}
	l.mu.Lock()
	holder := l.holders[p]
	free := holder == nil || time.Until(holder.expires) <= 0
	l.mu.Unlock()
	if !free {
		return false, nil
	}
	// Only the first of the waiters is here, and nobody else gives the section away.
	taken, err := s.askFence(ctx, sec, `insert into "AuthzLock" as t ("app", "key", "holder", "fence", "expiresAt")
		values ($1, $2, null, `+firstFence+`, `+clock+`)
		on conflict ("app", "key") do update set "fence" = t."fence" + 1, "holder" = null, "expiresAt" = excluded."expiresAt"
		returning "fence"`, sec.key)
	if taken {
		l.mu.Lock()
		sec.expires = time.Now().Add(s.driver.options.Lease)
		l.holders[p] = sec
		l.mu.Unlock()
	}
	return taken, err
}

func (l *localLocks) renew(sec *section) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holders[pair{sec.store.partition, sec.key}] != sec {
		return errLost(sec)
	}
	sec.expires = time.Now().Add(sec.store.driver.options.Lease)
	return nil
}

func (l *localLocks) free(sec *section) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := (pair{sec.store.partition, sec.key}); l.holders[p] == sec {
		delete(l.holders, p)
	}
}
