package postgres_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/authzhost/authz/plugins/postgres/postgres"
	"github.com/authzhost/authz/plugins/postgres/postgrestest"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// pair is a primary, its standby, and a driver that is told of both.
type pair struct {
	*testing.T
	first, second *postgrestest.Cluster
	dsn           string
	driver        storage.Driver
	store         storage.Store
}

func newPair(t *testing.T) *pair {
	t.Helper()
	postgrestest.Require(t)
	p := &pair{T: t}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p.first = cluster(t)(postgrestest.Start(ctx, postgrestest.Options{}))
	p.second = cluster(t)(p.first.Standby(ctx))
	p.dsn = fmt.Sprintf("postgres://postgres:%s@%s,%s/postgres?sslmode=disable&connect_timeout=2", p.first.Password, p.first.Addr(), p.second.Addr())
	p.driver = connect(t, postgres.Options{DSN: p.dsn})
	p.store = open(t, p.driver, "docs")
	return p
}

func cluster(t *testing.T) func(*postgrestest.Cluster, error) *postgrestest.Cluster {
	return func(c *postgrestest.Cluster, err error) *postgrestest.Cluster {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
}

func (p *pair) do(step func(context.Context) error) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), time.Minute)
	defer cancel()
	if err := step(ctx); err != nil {
		p.Fatal(err)
	}
}

// commit writes one grant and its event.
func (p *pair) commit(s storage.Store, id string) (authz.Position, error) {
	ctx, cancel := context.WithTimeout(p.Context(), 5*time.Second)
	defer cancel()
	r, err := s.Commit(ctx, storage.Commit{ID: id, At: 1, Events: []authz.Event{authz.SubjectEvent("user:u")},
		Changes: []storage.Change{storage.InsertGrant{Grant: authz.Grant{ID: id, Subject: "user:u", Pattern: "docs.read", Scope: "*"}}}})
	return r.UpTo, err
}

// settled commits, again and again while the servers change.
func (p *pair) settled(s storage.Store, id string) authz.Position {
	p.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		at, err := p.commit(s, id)
		if err == nil {
			return at
		}
		if storage.CodeOf(err) != storage.CodeUnavailable || time.Now().After(end) {
			p.Fatalf("commit %s: %v", id, err)
		}
	}
}

// refused waits until a store answers unavailable for a reason, and then that it
// neither reads nor writes.
func (p *pair) refused(s storage.Store, reason string) {
	p.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, err := s.Head(p.Context())
		if err != nil && strings.Contains(err.Error(), reason) {
			break
		}
		if time.Now().After(end) {
			p.Fatalf("the store answers %v, not %q", err, reason)
		}
	}
	if _, err := p.commit(s, "refused"); storage.CodeOf(err) != storage.CodeUnavailable || err.(*storage.Error).Outcome == authz.OutcomeUnknown {
		p.Fatalf("a commit answers %v", err)
	}
}

func (p *pair) failOver() {
	p.Helper()
	p.do(func(context.Context) error { return p.first.Kill() })
	p.do(p.second.Promote)
}

func TestPositionsTellALossyFailover(t *testing.T) {
	p := newPair(t)
	kept := p.settled(p.store, "kept")
	p.do(func(ctx context.Context) error { return p.second.CaughtUp(ctx, p.first) })
	p.do(p.second.Detach)
	lost := p.settled(p.store, "lost")
	p.failOver()
	again := p.settled(p.store, "again")
	if again.Seq != lost.Seq || again.Identity == lost.Identity || again.Identity != storage.Follow(kept.Identity, "again", again.Seq) {
		t.Fatalf("event %s took the number of event %s", again, lost)
	}
	if page := must[storage.EventPage](t)(p.store.EventsSince(t.Context(), lost, 10)); !page.Reset {
		t.Fatalf("after the event that was lost: %+v", page)
	}
	if page := must[storage.EventPage](t)(p.store.EventsSince(t.Context(), kept, 10)); page.Reset || page.UpTo != again {
		t.Fatalf("after the event that was kept: %+v", page)
	}
	if s := open(t, p.driver, "docs"); s.Info().Incarnation != p.store.Info().Incarnation {
		t.Error("a promoted standby holds the same content")
	}
}

// A host that nobody asks anything while the servers change has only its watcher to
// notice. No connection is made that would show the promoted standby to be alone.
func TestAFailoverThatOnlyTheWatcherSeesIsNoSplit(t *testing.T) {
	p := newPair(t)
	p.settled(p.store, "before")
	p.do(func(ctx context.Context) error { return p.second.CaughtUp(ctx, p.first) })
	p.failOver()
	postgres.AskAgain(t.Context(), p.driver)
	p.settled(p.store, "after")
}

// Whichever of the two is shut down: here the one that the driver works with.
func TestASplitEndsWithTheOldPrimary(t *testing.T) {
	p := newPair(t)
	p.settled(p.store, "before")
	p.do(func(ctx context.Context) error { return p.second.CaughtUp(ctx, p.first) })
	p.do(p.second.Promote)
	p.refused(p.store, "both take writes")
	p.do(func(context.Context) error { return p.first.Kill() })
	p.settled(p.store, "after")
	if n := ask[int64](t, p.second.DSN("postgres"), `select count(*) from "AuthzGrant"`); n[0] != 2 {
		t.Errorf("%d grants at the server that stayed", n[0])
	}
}

func TestAnOldPrimaryThatComesBackIsASplit(t *testing.T) {
	p := newPair(t)
	p.settled(p.store, "before")
	p.do(func(ctx context.Context) error { return p.second.CaughtUp(ctx, p.first) })
	p.failOver()
	p.settled(p.store, "after")
	p.do(p.first.Start) // as it was: nobody told it that it was replaced
	p.refused(p.store, "both take writes")
	if _, err := postgres.New(t.Context(), postgres.Options{DSN: p.dsn}); err == nil || !strings.Contains(err.Error(), "both take writes") {
		t.Errorf("a driver that starts now says %v", err)
	}
	if n := ask[int64](t, p.first.DSN("postgres"), `select count(*) from "AuthzGrant"`); n[0] != 1 {
		t.Errorf("%d grants at the old primary", n[0])
	}
	p.do(func(context.Context) error { return p.first.Kill() })
	p.settled(p.store, "alone again")
	p.do(func(context.Context) error { return p.second.Kill() })
	p.do(p.first.Start)
	p.refused(p.store, "an old primary came back")
	p.do(func(context.Context) error { return p.first.Kill() })
	p.do(p.second.Start)
	p.settled(p.store, "back")
	if n := ask[int64](t, p.second.DSN("postgres"), `select count(*) from "AuthzGrant"`); n[0] != 4 {
		t.Errorf("%d grants at the new primary", n[0])
	}
}

// A connection that leads to another server than it was made to, as behind a proxy
// that moves, commits nothing there.
func TestACommitLandsAtTheServerThatTheConnectionWasMadeTo(t *testing.T) {
	p := newPair(t)
	p.settled(p.store, "before")
	p.do(func(ctx context.Context) error { return p.second.CaughtUp(ctx, p.first) })
	door := &door{T: t}
	door.target.Store(p.first.Socket())
	dsn := fmt.Sprintf("postgres://postgres:%s@%s/postgres?sslmode=disable", p.first.Password, door.open())
	s := open(t, connect(t, postgres.Options{DSN: dsn}), "docs")
	p.settled(s, "through the door")
	p.do(func(ctx context.Context) error { return p.second.CaughtUp(ctx, p.first) })
	door.target.Store(p.second.Socket())
	p.failOver()
	p.settled(s, "at the new one")
	p.do(p.first.Start)
	p.do(func(context.Context) error { return p.second.Stop() })
	door.target.Store(p.first.Socket())
	p.refused(s, "an old primary came back")
	other := cluster(t)(postgrestest.Start(t.Context(), postgrestest.Options{}))
	door.target.Store(other.Socket())
	sql(t, other.DSN("postgres"), fmt.Sprintf("alter user postgres password '%s'", p.first.Password))
	p.refused(s, "another cluster")
}

// door is an address that leads to whichever server it is told.
type door struct {
	*testing.T
	target atomic.Value // the path of a unix socket
}

func (d *door) open() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", d.target.Load().(string))
			if err != nil {
				_ = in.Close()
				continue
			}
			go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
			go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
		}
	}()
	return l.Addr().String()
}
