package postgres_test

import (
	"context"
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

func acquire(t testing.TB, s storage.Store, key string) storage.Section {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return must[storage.Section](t)(s.Acquire(ctx, key))
}

func TestSweptSectionsNeverRepeatAFence(t *testing.T) {
	dsn := postgrestest.Database(t)
	d := connect(t, postgres.Options{DSN: dsn})
	s := open(t, d, "p")
	fences := map[string]int64{}
	for _, key := range []string{"request:1", "sod:1", "groups", "request:held"} {
		section := acquire(t, s, key)
		fences[key] = section.Fence().Fence
		if key != "request:held" {
			if err := section.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if now := time.Now().UnixMilli(); fences["request:1"] < now-60_000 || fences["request:1"] > now+60_000 {
		t.Errorf("the first fence %d is not the clock's %d", fences["request:1"], now)
	}
	// Two days pass for all but the section that is held, whose fences had run far
	// ahead of the clock.
	sql(t, dsn, `update "AuthzLock" set "expiresAt" = "expiresAt" - 172800000, "fence" = "fence" + 1000000000000 where "key" <> 'request:held'`)
	again := open(t, d, "p")
	_ = acquire(t, again, "other").Release(t.Context()) // sweeps in passing
	waitFor(t, "the sweep", func() bool {
		return len(ask[string](t, dsn, `select "key" from "AuthzLock" where "app" = 'p' and "key" in ('request:1', 'sod:1')`)) == 0
	})
	if kept := ask[string](t, dsn, `select "key" from "AuthzLock" where "app" = 'p' order by "key"`); strings.Join(kept, " ") != " groups other request:held" {
		t.Errorf("kept %q", kept)
	}
	for key, before := range fences {
		if key == "request:held" {
			continue
		}
		if fence := acquire(t, again, key).Fence().Fence; fence <= before+1_000_000_000_000 {
			t.Errorf("%s: fence %d after %d", key, fence, before+1_000_000_000_000)
		}
	}
}

// A thief waits for a commit that has compared its fence, and sees it whole.
func TestAStolenSectionShowsTheCommitInFlightWhole(t *testing.T) { // B79
	dsn := postgrestest.Database(t)
	o := postgres.Options{DSN: dsn, Lease: 100 * time.Millisecond}
	holder, thief := open(t, connect(t, o), "p"), open(t, connect(t, o), "p")
	if _, err := holder.Commit(t.Context(), lostCommit("first", false)); err != nil {
		t.Fatal(err)
	}
	section := acquire(t, holder, "groups")
	pause := newBlocker(t, dsn, `select * from "AuthzEpoch" where "app" = 'p' for update`)
	pause.hold(t)
	c := lostCommit("paused", false)
	c.Fences = []storage.Fence{section.Fence()}
	done := make(chan error, 1)
	go func() {
		_, err := holder.Commit(context.Background(), c)
		done <- err
	}()
	const waiting = `select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
	waitFor(t, "the commit to wait", func() bool { return len(ask[int32](t, dsn, waiting)) == 1 })
	stolen := make(chan storage.Section, 1)
	go func() {
		s, _ := thief.Acquire(context.Background(), "groups")
		stolen <- s
	}()
	select {
	case <-stolen:
		t.Fatal("the section was stolen under a commit in flight")
	case <-time.After(400 * time.Millisecond):
	}
	pause.release(t)
	got := <-stolen
	for range 2 {
		if _, found, err := thief.GetGrant(t.Context(), "paused"); err != nil || !found {
			t.Fatalf("the thief sees the grant: %v, %v", found, err)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	late := lostCommit("late", false)
	late.Fences = c.Fences
	_, err := holder.Commit(t.Context(), late)
	expectCode(t, storage.CodeStaleFence, err)
	expectCode(t, storage.CodeStaleFence, section.Renew(t.Context()))
	if err := section.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := got.Renew(t.Context()); err != nil {
		t.Errorf("a robbed holder's release took the section away: %v", err)
	}
}

// A resend waits for the first attempt while that is still running.
func TestAResendNeverOvertakesTheFirstAttempt(t *testing.T) {
	dsn := postgrestest.Database(t)
	first, second := open(t, connect(t, postgres.Options{DSN: dsn}), "p"), open(t, connect(t, postgres.Options{DSN: dsn}), "p")
	write(t, first, storage.UpsertRole{Role: authz.Role{ID: "r"}})
	pause := newBlocker(t, dsn, `select * from "AuthzRole" where "app" = 'p' for update`)
	pause.hold(t)
	c := commitOf(storage.UpsertRole{Role: authz.Role{ID: "r", Name: "new"}}, storage.InsertGrant{Grant: grant("1", "user:u")}, storage.DeleteGrant{ID: "2"})
	results := make(chan storage.CommitResult, 4)
	var senders sync.WaitGroup
	for i := range 4 {
		senders.Go(func() {
			result, err := []storage.Store{first, second}[i%2].Commit(context.Background(), c)
			if err != nil {
				t.Error(err)
			}
			results <- result
		})
	}
	const waiting = `select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
	waitFor(t, "all of them to wait", func() bool { return len(ask[int32](t, dsn, waiting)) == 4 })
	pause.release(t)
	senders.Wait()
	applied := 0
	for range 4 {
		if !(<-results).Replayed {
			applied++
		}
	}
	if applied != 1 {
		t.Errorf("applied %d times", applied)
	}
}

// Commits that take the same rows in opposite orders are told apart by the
// server; nobody hears of it.
func TestDeadlocksAreRetried(t *testing.T) {
	dsn := postgrestest.Database(t)
	name := ask[string](t, dsn, "select current_database()::text")[0]
	sql(t, dsn, fmt.Sprintf("alter database %s set deadlock_timeout = '10ms'", name))
	s := open(t, connect(t, postgres.Options{DSN: dsn}), "p")
	var writers sync.WaitGroup
	for w := range 6 {
		writers.Go(func() {
			for i := range 10 {
				var changes []storage.Change
				for k := range 5 {
					user := k
					if w%2 == 0 {
						user = 4 - k
					}
					active := i%2 == 0
					changes = append(changes, storage.PatchUser{UserID: fmt.Sprint("u", user), Active: &active})
				}
				if _, err := s.Commit(context.Background(), commitOf(changes...)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
}

func TestADeletionLeavesARowThatAppearedAfterItWasJudged(t *testing.T) {
	for name, c := range map[string]struct {
		table, columns, values string
		change                 storage.Change
	}{
		"record": {"AuthzRecord", `"collection", "id", "version", "data", "updatedAt"`, `'c', 'x', 1, '{}', 1`,
			storage.DeleteRecord{Collection: "c", ID: "x"}},
		"request": {"AuthzRequest", `"id", "requesterUserId", "scope", "justification", "state", "stageIndex", "stages", "decisions", "createdAt"`,
			`'x', 'u', '*', '{}', 'pending', 1, '[]', '[]', 1`, storage.DeleteRequest{ID: "x", Expect: &storage.RequestExpect{State: authz.RequestPending}}},
	} {
		t.Run(name, func(t *testing.T) {
			dsn := postgrestest.Database(t)
			s := open(t, connect(t, postgres.Options{DSN: dsn}), "p")
			for range 50 { // until the first one's sweep has ended and one connection takes them all: preparing statements would take their locks beforehand
				write(t, s, c.change)
			}
			creator := newBlocker(t, dsn, fmt.Sprintf("lock table %q in share mode", c.table)) // lets rows be locked and not be deleted
			creator.hold(t)
			ended := make(chan error, 1)
			go func() {
				_, err := s.Commit(t.Context(), commitOf(c.change))
				ended <- err
			}()
			waitFor(t, "the deletion", func() bool { return ask[int64](t, dsn, "select count(*) from pg_locks where not granted")[0] > 0 })
			if _, err := creator.tx.Exec(t.Context(), fmt.Sprintf(`insert into %q ("app", %s) values ('p', %s)`, c.table, c.columns, c.values)); err != nil {
				t.Fatal(err)
			}
			if err := creator.tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			// On a connection of the pool that is new to the statements, preparing them
			// waits for the creator, and the row is there to be judged.
			if err := <-ended; err != nil && storage.CodeOf(err) != storage.CodeConflict {
				t.Fatal(err)
			}
			if n := ask[int64](t, dsn, fmt.Sprintf("select count(*) from %q", c.table))[0]; n != 1 {
				t.Errorf("%d rows are left", n)
			}
		})
	}
}

func TestOldCommitsAreForgottenAndYoungOnesKept(t *testing.T) {
	dsn := postgrestest.Database(t)
	d := connect(t, postgres.Options{DSN: dsn})
	s := open(t, d, "p")
	old, young := commitOf(storage.InsertGrant{Grant: grant("1", "user:u")}), commitOf(storage.InsertGrant{Grant: grant("2", "user:u")})
	for _, c := range []storage.Commit{old, young} {
		if _, err := s.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	sql(t, dsn, fmt.Sprintf(`update "AuthzCommit" set "at" = "at" - 86400000 - 60000 where "id" = '%s'`, old.ID),
		fmt.Sprintf(`update "AuthzCommit" set "at" = "at" - 86400000 + 60000 where "id" = '%s'`, young.ID))
	write(t, open(t, d, "p"), storage.UpsertRole{Role: authz.Role{ID: "r"}}) // a fresh handle sweeps with its first commit
	waitFor(t, "the sweep", func() bool {
		_, found, err := s.GetCommit(t.Context(), old.ID)
		return err == nil && !found
	})
	if again, err := s.Commit(t.Context(), young); err != nil || !again.Replayed {
		t.Errorf("a commit of the last day: %+v, %v", again, err)
	}
}

func TestAValueTooLargeForAnIndexIsRefusedAsSuch(t *testing.T) {
	s := open(t, connect(t, postgres.Options{DSN: postgrestest.Database(t)}), "p")
	var long strings.Builder
	for i := range 4000 { // nothing in it to compress
		fmt.Fprintf(&long, "%x", (i*7919+13)*2654435761)
	}
	_, err := s.Commit(t.Context(), commitOf(storage.InsertGrant{Grant: grant("1", "user:"+long.String())}))
	expectCode(t, storage.CodeTooLarge, err)
	write(t, s, storage.InsertGrant{Grant: grant("1", "user:u")})
}
