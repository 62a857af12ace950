package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/authzhost/authz/plugins/postgres/postgres"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// lostCommit is one commit of each shape: sent in one piece, or in two because
// its answer needs the rows it deletes.
func lostCommit(name string, twoPieces bool) storage.Commit {
	c := storage.Commit{ID: name, At: 1, Audit: []authz.AuditEntry{{ID: name, At: 1}}, Events: []authz.Event{authz.UserEvent(name)}}
	c.Changes = append(c.Changes, storage.InsertGrant{Grant: grant(name, "user:"+name)}, storage.UpsertUser{User: authz.User{UserID: name, GroupIDs: []string{"g"}}})
	if twoPieces {
		c.Changes = append(c.Changes, storage.DeleteGrant{ID: "old-" + name})
	}
	return c
}

func TestAConnectionCutAtAnyPointOfACommitIsSettledBySendingItAgain(t *testing.T) { // R04
	dsn := postgrestest.Database(t)
	p := newProxy(t)
	direct := open(t, connect(t, postgres.Options{DSN: dsn}), "p")
	cut := connect(t, postgres.Options{DSN: p.through(dsn)})
	s := open(t, cut, "p")
	outcomes := map[string]int{}
	for _, twoPieces := range []bool{false, true} {
		for _, side := range []string{"server", "client", "pooler"} {
			p.speaks.Store(side == "pooler")
			for point, applied := 0, false; !applied; point++ {
				if point == 200 {
					t.Fatal("a commit has no end")
				}
				name := fmt.Sprintf("c-%v-%s-%d", twoPieces, side, point)
				write(t, direct, storage.InsertGrant{Grant: grant("old-"+name, "user:x")})
				write(t, s, storage.UpsertRole{Role: authz.Role{ID: "warm"}}) // a connection is there, and most statements with it
				head := must[authz.Position](t)(direct.Head(t.Context()))
				left := &p.toClient
				if side == "server" {
					left = &p.toServer
				}
				left.Store(int64(point))
				c := lostCommit(name, twoPieces)
				_, err := s.Commit(t.Context(), c)
				p.calm()
				var ours *storage.Error
				switch {
				case err == nil: // the last cut came after its end
					applied = true
					outcomes["applied"]++
				case errors.As(err, &ours) && ours.Code == storage.CodeUnavailable:
					outcomes[string(ours.Outcome)]++
				default:
					t.Fatalf("%s: %v", name, err)
				}
				if err == nil || ours.Outcome == authz.OutcomeNotApplied {
					settle(t, direct, c, err == nil)
				}
				again, err := s.Commit(t.Context(), c)
				if err != nil {
					t.Fatalf("%s sent again: %v", name, err)
				}
				upTo := authz.Position{Seq: head.Seq + 1, Identity: storage.Follow(head.Identity, c.ID, head.Seq+1)}
				if again.UpTo != upTo || twoPieces && (again.Results[2].Grant == nil || again.Results[2].Grant.ID != "old-"+name) {
					t.Fatalf("%s: %+v above head %s", name, again, head)
				}
				settle(t, direct, c, true)
				if last, err := direct.Commit(t.Context(), c); err != nil || !last.Replayed {
					t.Fatalf("%s: %+v, %v", name, last, err)
				}
			}
		}
	}
	t.Logf("outcomes %v", outcomes)
	if outcomes["applied"] == 0 || outcomes["unknown"] == 0 || outcomes["not_applied"] == 0 {
		t.Errorf("outcomes %v leave one out", outcomes)
	}
}

// settle proves that all of a commit is there, or nothing.
func settle(t *testing.T, s storage.Store, c storage.Commit, applied bool) {
	t.Helper()
	// A server that lost its client may still be about to roll back.
	_, granted, err := s.GetGrant(t.Context(), c.ID)
	_, recorded, err2 := s.GetCommit(t.Context(), c.ID)
	audit := collect(t, s.ListAudit(t.Context(), storage.AuditFilter{From: new(int64), Limit: nil}))
	entries := 0
	for _, e := range audit {
		if e.ID == c.ID {
			entries++
		}
	}
	if err != nil || err2 != nil || granted != applied || recorded != applied || (entries == 1) != applied {
		t.Fatalf("commit %s: grant %v, recorded %v, %d audit entries, want applied %v (%v, %v)", c.ID, granted, recorded, entries, applied, err, err2)
	}
}

func TestAServerThatGoesAwayIsAnOutageAndItsReturnIsNoticed(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cluster, err := postgrestest.Start(ctx, postgrestest.Options{})
	if errors.Is(err, postgrestest.ErrNoBinaries) {
		t.Skipf("SKIPPED: %v; a server of the test's own is NOT killed", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	s := open(t, connect(t, postgres.Options{DSN: cluster.TCP("postgres")}), "p")
	watching, stop := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	heads := make(chan int64, 100)
	watchers.Go(func() {
		for watching.Err() == nil {
			for head, err := range s.Watch(watching) {
				if err == nil {
					heads <- head
				}
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
	defer watchers.Wait()
	defer stop()
	for round, end := range []func() error{cluster.Stop, cluster.Kill, cluster.Stop} {
		c := lostCommit(fmt.Sprint("round", round), true)
		// Every connection of the pool is in use, and dies idle.
		var busy sync.WaitGroup
		for range 8 {
			busy.Go(func() { _, _, _ = s.GetGrant(ctx, "x") })
		}
		busy.Wait()
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if round != 2 { // the last time, the server is back before anybody looks
			_, err := s.ReadAccess(ctx, storage.AccessQuery{UserID: "u"})
			expectCode(t, storage.CodeUnavailable, err)
			if strings.Contains(err.Error(), cluster.Password) {
				t.Errorf("%v holds the password", err)
			}
			_, err = s.Commit(ctx, c)
			var ours *storage.Error
			if !errors.As(err, &ours) || ours.Code != storage.CodeUnavailable || ours.Outcome == "" {
				t.Fatalf("a commit without a server answered %v", err)
			}
			_, err = s.Commit(ctx, c)
			if !errors.As(err, &ours) || ours.Outcome != authz.OutcomeNotApplied {
				t.Fatalf("nothing was sent, yet: %v", err)
			}
		}
		if err := cluster.Start(ctx); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.GetGrant(ctx, "x"); err != nil {
			t.Fatalf("the first read after the server's return: %v", err)
		}
		var result storage.CommitResult
		for {
			if result, err = s.Commit(ctx, c); err == nil {
				break
			}
			expectCode(t, storage.CodeUnavailable, err)
		}
		for head := range heads {
			if head >= result.UpTo.Seq {
				break
			}
		}
	}
}

func TestACancelledWaiterHarmsNobodyElse(t *testing.T) {
	dsn := postgrestest.Database(t)
	o := postgres.Options{DSN: dsn, MaxConnections: 4}
	s := open(t, connect(t, o), "p")
	other := open(t, connect(t, o), "p")
	section, err := other.Acquire(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	var waiters sync.WaitGroup
	for range 20 {
		waiters.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			start := time.Now()
			_, err := s.Acquire(ctx, "k")
			if storage.CodeOf(err) != storage.CodeUnavailable || time.Since(start) > time.Second {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
		})
	}
	// Commits that wait for a row end with their contexts, too, and let it go.
	blocker := newBlocker(t, dsn, `select * from "AuthzEpoch" where "app" = 'p' for update`)
	c := lostCommit("first", false)
	_, err = s.Commit(t.Context(), c) // makes the row
	if err != nil {
		t.Fatal(err)
	}
	blocker.hold(t)
	for i := range 6 {
		waiters.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			_, err := s.Commit(ctx, lostCommit(fmt.Sprint("blocked", i), i%2 == 0))
			if storage.CodeOf(err) != storage.CodeUnavailable {
				t.Errorf("a blocked commit answered %v", err)
			}
		})
	}
	time.Sleep(50 * time.Millisecond)
	if _, _, err := s.GetGrant(t.Context(), "x"); err != nil { // reads find a connection
		t.Error(err)
	}
	waiters.Wait()
	blocker.release(t)
	if err := section.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	taken, err := s.Acquire(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	if taken.Fence().Fence != section.Fence().Fence+1 {
		t.Errorf("fence %d after %d: a waiter that gave up took the section", taken.Fence().Fence, section.Fence().Fence)
	}
	for i := range 6 {
		if _, err := s.Commit(t.Context(), lostCommit(fmt.Sprint("blocked", i), i%2 == 0)); err != nil {
			t.Error(err)
		}
	}
}
