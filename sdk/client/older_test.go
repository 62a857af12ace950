package client_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

const olderKey = "docs.files.read"

// newOlder is a local application and a remote one that writes to the same store, and a
// client of the local one, through a source and with options of the test's own.
func newOlder(t *testing.T, source func(client.Source) client.Source, change func(*client.Options)) (*client.Client, *cacheBench) {
	t.Helper()
	b := newCacheBench(t, cacheCase{Start: 1700000000000, Catalog: []byte(`{"namespaces":["docs"],"permissions":{"docs.files.read":true}}`)})
	o := client.Options{Provider: source(b.local), Catalog: b.local.Catalog(), Clock: b.now.Load}
	if change != nil {
		change(&o)
	}
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, b
}

func itself(s client.Source) client.Source { return s }

func mustAnswer(t *testing.T, what string, want bool) func(bool, error) {
	return func(got bool, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", what, got, err, want)
		}
	}
}

// remoteGrant makes the grant, and gives what deletes it and answers the head then.
func remoteGrant(t *testing.T, b *cacheBench) (revoke func() int64) {
	t.Helper()
	admin := authz.AdminProvenance("root")
	g, err := b.remote.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:u1", Pattern: olderKey}, admin)
	if err != nil {
		t.Fatal(err)
	}
	return func() int64 {
		t.Helper()
		if err := b.remote.DeleteGrant(t.Context(), g.ID, admin); err != nil {
			t.Fatal(err)
		}
		head, err := b.remote.EventLog().Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return head.Seq
	}
}

func TestAwaitPositionDropsWhatWasCachedBeforeTheFirstContact(t *testing.T) {
	c, b := newOlder(t, itself, nil)
	u := authz.UserPrincipal("u1")
	revoke := remoteGrant(t, b)
	mustAnswer(t, "fresh, before any look at the log", true)(c.CanFresh(t.Context(), u, olderKey, ""))
	head := revoke()
	mustAnswer(t, "somebody else, the first contact", false)(c.Can(t.Context(), authz.UserPrincipal("u2"), olderKey, ""))
	if err := c.AwaitPosition(t.Context(), authz.Position{Seq: head}); err != nil {
		t.Fatal(err)
	}
	mustAnswer(t, "after AwaitPosition", false)(c.Can(t.Context(), u, olderKey, ""))
}

func TestWhatFreshBroughtOutlivesAnOlderSharedEntry(t *testing.T) {
	shared := newMapStore()
	g := &gated{entered: make(chan struct{}, 8), release: make(chan struct{}, 8), ended: make(chan error, 8)}
	withShared := func(o *client.Options) { o.CacheStore = shared }
	c, b := newOlder(t, func(s client.Source) client.Source { g.Source = s; return g }, withShared)
	other, err := client.New(client.Options{Provider: b.remote, Catalog: b.local.Catalog(), Clock: b.now.Load, CacheStore: shared})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Close)
	u := authz.UserPrincipal("u1")
	revoke := remoteGrant(t, b)
	mustAnswer(t, "the other process, which shares it", true)(other.Can(t.Context(), u, olderKey, ""))
	shared.await(1)
	g.release <- struct{}{}
	mustAnswer(t, "the first contact", false)(c.Can(t.Context(), authz.UserPrincipal("u2"), olderKey, ""))
	<-g.entered
	revoke()
	answered := make(chan bool, 1)
	go func() {
		ok, err := c.CanFresh(t.Context(), u, olderKey, "")
		if err != nil {
			t.Error(err)
		}
		answered <- ok
	}()
	<-g.entered
	mustAnswer(t, "within the window, from the shared tier", true)(c.Can(t.Context(), u, olderKey, ""))
	g.release <- struct{}{}
	if <-answered {
		t.Error("fresh: true")
	}
	mustAnswer(t, "after fresh", false)(c.Can(t.Context(), u, olderKey, ""))
}

// firstHeld holds the first closure it is asked for, read already, until it is released.
type firstHeld struct {
	client.Source
	asked            atomic.Bool
	entered, release chan struct{}
}

func (f *firstHeld) GetSubjectAccess(ctx context.Context, p authz.Principal) (authz.SubjectAccess, error) {
	rows, err := f.Source.GetSubjectAccess(ctx, p)
	if f.asked.CompareAndSwap(false, true) {
		close(f.entered)
		<-f.release
	}
	return rows, err
}

func TestAnOlderFetchIsNotSharedAfterANewerOne(t *testing.T) {
	shared := newMapStore()
	held := &firstHeld{entered: make(chan struct{}), release: make(chan struct{})}
	c, b := newOlder(t, func(s client.Source) client.Source { held.Source = s; return held }, func(o *client.Options) { o.CacheStore = shared })
	u := authz.UserPrincipal("u1")
	revoke := remoteGrant(t, b)
	older := make(chan error, 1)
	go func() {
		_, err := c.Can(t.Context(), u, olderKey, "")
		older <- err
	}()
	<-held.entered
	revoke()
	mustAnswer(t, "fresh", false)(c.CanFresh(t.Context(), u, olderKey, ""))
	shared.await(1)
	shared.take()
	close(held.release)
	if err := <-older; err != nil {
		t.Fatal(err)
	}
	c.Close() // waits for what is being written
	if n := shared.take().Sets; n != 0 {
		t.Errorf("what was read before was shared %d times, over what was read after", n)
	}
}

// stuck is a source whose resolver panics or fails, and whose log hangs when told to.
type stuck struct {
	client.Source
	hang bool
	late time.Duration // of an answer of the log
}

func (s *stuck) ResolveAncestors(_ context.Context, scope string) ([]string, error) {
	switch scope {
	case "docs.doc:panics":
		panic("a resolver's mistake")
	case "docs.doc:fails":
		return nil, errors.New("no such document")
	}
	return []string{"*"}, nil
}

func (s *stuck) EventLog() provider.EventLog { return stuckLog{s.Source.EventLog(), s} }

type stuckLog struct {
	provider.EventLog
	s *stuck
}

func (l stuckLog) Head(ctx context.Context) (provider.EventLogHead, error) {
	time.Sleep(l.s.late)
	if l.s.hang {
		<-ctx.Done()
		return provider.EventLogHead{}, ctx.Err()
	}
	return l.EventLog.Head(ctx)
}

func TestAResolverThatPanicsFailsTheCheckAlone(t *testing.T) {
	c, b := newOlder(t, func(s client.Source) client.Source { return &stuck{Source: s} }, nil)
	remoteGrant(t, b)
	if ok, err := c.Can(t.Context(), authz.UserPrincipal("u1"), olderKey, "docs.doc:panics"); ok || err == nil {
		t.Errorf("%v, %v, want an error", ok, err)
	}
}

func TestResolveGoesOnAfterAFailure(t *testing.T) {
	c, _ := newOlder(t, func(s client.Source) client.Source { return &stuck{Source: s} }, nil)
	s, err := c.Snapshot(t.Context(), authz.UserPrincipal("u1"), client.SnapshotOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Resolve(t.Context(), "docs.doc:fails", "docs.doc:1"); err == nil {
		t.Error("the failure was not told")
	}
	if got := s.ResolvedScopes(); len(got) != 1 || got[0] != "docs.doc:1" {
		t.Errorf("resolved %v, want the one that can be", got)
	}
}

func TestALogThatHangsEndsNoCheckForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := &stuck{}
		c, b := newOlder(t, func(s client.Source) client.Source { held.Source = s; return held }, nil)
		remoteGrant(t, b)
		u := authz.UserPrincipal("u1")
		mustAnswer(t, "before", true)(c.Can(t.Context(), u, olderKey, ""))
		held.hang = true
		b.now.Add(5001)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		waits := func(what string, longest time.Duration) {
			t.Helper()
			began := time.Now()
			mustAnswer(t, what, true)(c.Can(ctx, u, olderKey, ""))
			if took := time.Since(began); took > longest {
				t.Errorf("%s: after %s", what, took)
			}
		}
		waits("a live entry, while the log hangs", 500*time.Millisecond)
		waits("the next check", 0)
		b.now.Add(5001)
		waits("in the next window, while the same look hangs", 0)
		time.Sleep(time.Minute) // the look ends by itself
	})
}

// A look that outlasts those who wait for it still brings what it read.
func TestALookThatIsLateIsHeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := &stuck{late: 3 * time.Second}
		c, b := newOlder(t, func(s client.Source) client.Source { held.Source = s; return held }, nil)
		revoke := remoteGrant(t, b)
		u := authz.UserPrincipal("u1")
		mustAnswer(t, "before", true)(c.Can(t.Context(), u, olderKey, ""))
		time.Sleep(5 * time.Second)
		revoke()
		b.now.Add(5001)
		mustAnswer(t, "while the log is slow", true)(c.Can(t.Context(), u, olderKey, ""))
		time.Sleep(5 * time.Second)
		mustAnswer(t, "when it was read", false)(c.Can(t.Context(), u, olderKey, ""))
	})
}

// during is a source whose chains take a while.
type during struct {
	client.Source
	pass func()
}

func (d *during) ResolveAncestors(context.Context, string) ([]string, error) {
	d.pass()
	return []string{"*"}, nil
}

func TestAGrantThatExpiresWhileAChainIsFetchedIsExpired(t *testing.T) {
	d := &during{}
	c, b := newOlder(t, func(s client.Source) client.Source { d.Source = s; return d }, nil)
	d.pass = func() { b.now.Add(9000) }
	_, err := b.local.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:u1", Pattern: olderKey, ExpiresAt: authz.ExpiresAt(b.now.Load() + 1000)}, authz.AdminProvenance("root"))
	if err != nil {
		t.Fatal(err)
	}
	u := authz.UserPrincipal("u1")
	mustAnswer(t, "now", true)(c.Can(t.Context(), u, olderKey, ""))
	mustAnswer(t, "9 s later, where the chain was waited for", false)(c.Can(t.Context(), u, olderKey, "docs.doc:1"))
	b.now.Add(-8500)
	mustAnswer(t, "a gate, likewise", false)(c.Check(t.Context(), u, client.Gate{Keys: []string{olderKey}, Scope: "docs.doc:2"}))
}

func TestDurationsAreWholeMilliseconds(t *testing.T) {
	half := time.Millisecond / 2
	for name, change := range map[string]func(*client.Options){
		"SubjectCacheTTL":   func(o *client.Options) { o.SubjectCacheTTL = &half },
		"ObjectCacheTTL":    func(o *client.Options) { o.ObjectCacheTTL = &half },
		"RevalidateAfter":   func(o *client.Options) { o.RevalidateAfter = &half },
		"CacheStoreTTL":     func(o *client.Options) { o.CacheStoreTTL = 3 * half },
		"CacheStoreTimeout": func(o *client.Options) { o.CacheStoreTimeout = 3 * half },
	} {
		b := newCacheBench(t, cacheCase{Start: 1700000000000, Catalog: []byte(`{"namespaces":["docs"],"permissions":{"docs.files.read":true}}`)})
		o := client.Options{Provider: b.local, Catalog: b.local.Catalog()}
		change(&o)
		if _, err := client.New(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
