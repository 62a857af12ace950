package postgres

import (
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	// A waiter asks again after pollFrom to pollTo, or when it is woken.
	pollFrom = 5 * time.Millisecond
	pollTo   = 50 * time.Millisecond

	// One acquisition in sweepLocksEvery sweeps the rows of sections that are made
	// for one request or user and have been free for a day.
	sweepLocksEvery = 1024
	keepLocks       = `86400000`
)

// section is one acquisition. It satisfies storage.Section.
type section struct {
	store  *store
	key    string
	fence  int64
	holder string

	// expires is the end of the lease with LockNone, where it is this process's.
	expires time.Time

	stale storage.Lease // of another holder, to be taken although it has not run out
}

func (sec *section) pair() pair { return pair{sec.store.partition, sec.key} }

func (s *store) Acquire(ctx context.Context, key string) (storage.Section, error) {
	if err := s.usable(ctx, key); err != nil {
		return nil, err
	}
	if key == "" {
		return nil, storage.Errorf(storage.CodeValidation, "a section needs a key that is not empty")
	}
	if s.acquires.Add(1)%sweepLocksEvery == 1 {
		s.driver.aside(s.sweepLocks)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.handle:
			cancel()
		case <-ctx.Done():
		}
	}()
	k := s.driver.turns.join(pair{s.partition, key})
	defer s.driver.turns.leave(k)
	if k.wait(ctx) != nil {
		return nil, s.gaveUp(ctx)
	}
	sec := &section{store: s, key: key, holder: rand.Text()}
	for {
		taken, err := s.take(ctx, sec)
		switch {
		case taken:
			s.mu.Lock()
			open := !s.handle.Closed()
			if open {
				s.held[sec] = struct{}{}
			}
			s.mu.Unlock()
			if open {
				return sec, nil
			}
			s.driver.aside(func(ctx context.Context) { _ = sec.free(ctx) })
			return nil, seam.Closed()
		case err != nil:
			// The row may have been taken without our hearing of it.
			s.driver.aside(func(ctx context.Context) { _ = s.giveBack(ctx, sec) })
			if ctx.Err() != nil {
				return nil, s.gaveUp(ctx)
			}
			return nil, err
		}
		pause := time.NewTimer(pollFrom + mathrand.N(pollTo-pollFrom))
		select {
		case <-pause.C:
		case <-k.wake:
			pause.Stop()
		case <-ctx.Done():
			pause.Stop()
			return nil, s.gaveUp(ctx)
		}
	}
}

func (s *store) gaveUp(ctx context.Context) error {
	if s.handle.Closed() {
		return seam.Closed()
	}
	return seam.Interrupted(ctx)
}

// take asks once. The fence of a new row is the server's clock, or what follows
// the highest fence ever swept, should the clock have been set back. Of a section that
// is held it notes the lease, and once that is stale the next call takes it.
func (s *store) take(ctx context.Context, sec *section) (bool, error) {
	if s.driver.options.Lock == LockNone {
		return s.driver.local.take(ctx, s, sec)
	}
	const text = `with taken as (
			update "AuthzLock" set "holder" = $3, "fence" = "fence" + 1, "expiresAt" = ` + clock + ` + $4
			where "app" = $1 and "key" = $2 and ("holder" is null or "expiresAt" <= ` + clock + `
				or "holder" = $5 and "fence" = $6 and "expiresAt" = $7) returning "fence"),
		made as (
			insert into "AuthzLock" ("app", "key", "holder", "fence", "expiresAt")
			select $1, $2, $3, ` + firstFence + `, ` + clock + ` + $4
			where not exists (select 1 from "AuthzLock" where "app" = $1 and "key" = $2)
			on conflict ("app", "key") do nothing returning "fence")
		select "fence", '', 0::bigint from taken union all select "fence", '', 0 from made
		union all select "fence", "holder", "expiresAt" from "AuthzLock"
			where "app" = $1 and "key" = $2 and "holder" is not null and not exists (select 1 from taken)`
	lease := s.driver.options.Lease
	var found storage.Lease
	answered := false
	err := s.driver.transact(ctx, &transaction{steps: []step{{sql: text,
		args: []any{s.partition, sec.key, sec.holder, lease.Milliseconds(), sec.stale.Holder, sec.stale.Fence, sec.stale.ExpiresAt},
		read: func(rows pgx.Rows) error {
			answered = false
			for rows.Next() {
				answered = true
				if err := rows.Scan(&found.Fence, &found.Holder, &found.ExpiresAt); err != nil {
					return err
				}
			}
			return nil
		}}}})
	leases, key := &s.driver.leases, sec.pair().text()
	switch {
	case err != nil || !answered: // or somebody made the row just now
		return false, err
	case found.Holder == "":
		leases.Forget(key)
		sec.fence = found.Fence
		return true, nil
	case leases.Stale(key, found, lease):
		sec.stale = found
	}
	return false, nil
}

const firstFence = `greatest(` + clock + `, 1 + coalesce((select "fence" from "AuthzLock" where "app" = $1 and "key" = ''), 0))`

// askFence runs a statement that returns the new fence, or no row.
func (s *store) askFence(ctx context.Context, sec *section, text string, args ...any) (taken bool, err error) {
	err = s.driver.transact(ctx, &transaction{steps: []step{{sql: text, args: append([]any{s.partition}, args...), read: func(rows pgx.Rows) error {
		taken = false
		for rows.Next() {
			taken = true
			if err := rows.Scan(&sec.fence); err != nil {
				return err
			}
		}
		return nil
	}}}})
	return taken && err == nil, err
}

func (sec *section) Fence() storage.Fence { return storage.Fence{Key: sec.key, Fence: sec.fence} }

func (sec *section) Lease() time.Duration { return sec.store.driver.options.Lease }

func (sec *section) Renew(ctx context.Context) error {
	s := sec.store
	if err := s.usable(ctx); err != nil {
		return err
	}
	if s.driver.options.Lock == LockNone {
		return s.driver.local.renew(sec)
	}
	var renewed int64
	err := s.driver.transact(ctx, &transaction{steps: []step{{
		sql: `update "AuthzLock" set "expiresAt" = ` + clock + ` + $5
			where "app" = $1 and "key" = $2 and "holder" = $3 and "fence" = $4`,
		args:     []any{s.partition, sec.key, sec.holder, sec.fence, s.driver.options.Lease.Milliseconds()},
		affected: func(rows int64) error { renewed = rows; return nil },
	}}})
	if err == nil && renewed == 0 {
		err = errLost(sec)
	}
	return err
}

func errLost(sec *section) error {
	return storage.Errorf(storage.CodeStaleFence, "section %s is no longer held under fence %d", spell.Quote(sec.key), sec.fence)
}

// Release waits for commits in flight under the section: they hold its row.
func (sec *section) Release(ctx context.Context) error {
	s := sec.store
	err := sec.free(ctx)
	if err == nil {
		s.mu.Lock()
		delete(s.held, sec)
		s.mu.Unlock()
	}
	return err
}

func (sec *section) free(ctx context.Context) error {
	s := sec.store
	if s.driver.options.Lock == LockNone {
		s.driver.local.free(sec)
		s.driver.turns.freed(pair{s.partition, sec.key})
		return nil
	}
	err := s.giveBack(ctx, sec)
	s.driver.turns.freed(pair{s.partition, sec.key})
	return err
}

// giveBack clears the holder and keeps the fence.
func (s *store) giveBack(ctx context.Context, sec *section) error {
	return s.driver.transact(ctx, &transaction{steps: []step{{
		sql:  `update "AuthzLock" set "holder" = null, "expiresAt" = ` + clock + ` where "app" = $1 and "key" = $2 and "holder" = $3`,
		args: []any{s.partition, sec.key, sec.holder},
	}}})
}

// releaseAll ends the sections of a store that closes. What cannot be given back
// in time ends with its lease.
func (s *store) releaseAll() {
	s.mu.Lock()
	held := make([]*section, 0, len(s.held))
	for sec := range s.held {
		held = append(held, sec)
	}
	clear(s.held)
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), asideTime)
	defer cancel()
	for _, sec := range held {
		_ = sec.free(ctx)
	}
}

// sweepLocks forgets rows that have been free for long, and remembers the highest
// fence that goes with them in the row without a key.
func (s *store) sweepLocks(ctx context.Context) {
	_ = s.driver.transact(ctx, &transaction{steps: []step{{ // the next sweep has them again
		sql: `with gone as (
				delete from "AuthzLock" where "app" = $1 and "key" in (
					select "key" from "AuthzLock" where "app" = $1 and ("key" >= 'request:' and "key" < 'request;' or "key" >= 'sod:' and "key" < 'sod;')
					and "expiresAt" < ` + clock + ` - ` + keepLocks + ` limit 1000 for update skip locked)
				returning "fence")
			insert into "AuthzLock" as t ("app", "key", "holder", "fence", "expiresAt")
			select $1, '', null, max("fence"), 0 from gone having max("fence") is not null
			on conflict ("app", "key") do update set "fence" = greatest(t."fence", excluded."fence")`,
		args: []any{s.partition},
	}}})
}
