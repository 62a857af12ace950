//go:build linux

package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the file that both hosts have open
)

// failOver kills the primary and promotes its standby, which lacks nothing that was
// acknowledged. With back the old primary returns for a while as it was: a split.
// Afterwards it is a standby of the new one.
func (s *stage) failOver(ctx context.Context, back time.Duration) error {
	old, next := s.cluster, s.standby
	if err := next.CaughtUp(ctx, old); err != nil {
		return err
	}
	if err := old.Kill(); err != nil {
		return err
	}
	if err := next.Promote(ctx); err != nil {
		return err
	}
	s.cluster, s.standby = next, old
	if err := next.Synchronous(ctx, false); err != nil {
		return err
	}
	if back > 0 {
		// Nothing but the hosts' own care keeps them from writing there.
		if err := old.Set(map[string]string{"synchronous_standby_names": ""}); err != nil {
			return err
		}
		if err := old.Start(ctx); err != nil {
			return err
		}
		time.Sleep(back)
		if err := old.Kill(); err != nil {
			return err
		}
	}
	if err := old.Follow(ctx, next); err != nil {
		return err
	}
	return next.Synchronous(ctx, true)
}

// clockAhead leaves the leases that are held as a holder would whose clock runs a day
// ahead, and which then died.
func (s *stage) clockAhead(ctx context.Context) error {
	const forge = `update "AuthzLock" set "holder" = 'somebody ahead', "fence" = "fence" + 1, "expiresAt" = "expiresAt" + 86400000 where "app" = '` + application + `'`
	if s.cluster != nil {
		return s.cluster.Exec(ctx, forge)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.dir, "authz.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, forge)
	return err
}

// crowd is how many callers an overload has for each host.
const crowd = 100

// overload has a crowd write through both hosts for a while, each as fast as it is
// answered.
func (s *stage) overload(ctx context.Context, f fault) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second+2*f.down)
	defer cancel()
	s.crowds++
	var all sync.WaitGroup
	for i, h := range s.hosts {
		for n := range crowd {
			all.Go(func() {
				s.writer(ctx, h, fmt.Sprint("crowd", s.crowds, "-", i, "-", n), uint64(1<<34+s.crowds*1000+i*crowd+n))
			})
		}
	}
	all.Wait()
	return nil
}
