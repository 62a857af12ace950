package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
)

// gated lets a test hold the closure supply of the application below it.
type gated struct {
	client.Source
	entered chan struct{} // receives at every fetch
	release chan struct{} // a fetch goes on when it receives, or is closed
	ended   chan error    // receives when a fetch's context ended first
}

func (g *gated) GetSubjectAccess(ctx context.Context, p authz.Principal) (authz.SubjectAccess, error) {
	data, err := g.Source.GetSubjectAccess(ctx, p) // read before the gate: what a slow answer holds is old
	g.entered <- struct{}{}
	select {
	case <-g.release:
		return data, err
	case <-ctx.Done():
		g.ended <- ctx.Err()
		return authz.SubjectAccess{}, ctx.Err()
	}
}

func newGatedClient(t *testing.T) (*client.Client, *gated, *cacheBench) {
	b := newCacheBench(t, cacheCase{Start: 1700000000000, Catalog: []byte(`{"namespaces":["docs"],"permissions":{"docs.files.read":true}}`)})
	g := &gated{Source: b.local, entered: make(chan struct{}, 8), release: make(chan struct{}), ended: make(chan error, 8)}
	c, err := client.New(client.Options{Provider: g, Catalog: b.local.Catalog(), Clock: b.now.Load})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, g, b
}

func TestAWriteDuringAFetchIsSeenByTheNextCheck(t *testing.T) {
	c, g, b := newGatedClient(t)
	ctx, u := context.Background(), authz.UserPrincipal("u1")
	answers := make(chan bool, 2)
	ask := func() {
		ok, err := c.Can(ctx, u, "docs.files.read", "")
		if err != nil {
			t.Error(err)
		}
		answers <- ok
	}
	go ask()
	<-g.entered // it has read: no grant yet
	if err := b.write(b.local, cacheStep{Write: "createGrant", Args: []byte(`{"subject":"user:u1","pattern":"docs.files.read"}`)}); err != nil {
		t.Fatal(err)
	}
	go ask() // begins after the write returned: must not join the older fetch
	<-g.entered
	close(g.release)
	first, second := <-answers, <-answers
	if first == second {
		t.Fatalf("the older check answered %v, the newer one %v: one of them must be the old state, the other the new", first, second)
	}
	if ok, err := c.Can(ctx, u, "docs.files.read", ""); err != nil || !ok {
		t.Fatalf("the older answer was kept: %v, %v", ok, err)
	}
}

func TestAFetchGoesOnForTheOthersWhenOneCallerGivesUpAndEndsWithTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, g, _ := newGatedClient(t)
		u := authz.UserPrincipal("u1")
		impatient, giveUp := context.WithCancel(t.Context())
		patient, stop := context.WithCancel(t.Context())
		results := make(chan error, 2)
		ask := func(ctx context.Context) {
			_, err := c.Can(ctx, u, "docs.files.read", "")
			results <- err
		}
		go ask(impatient)
		<-g.entered
		go ask(patient)
		synctest.Wait() // the second caller has joined
		giveUp()
		if err := <-results; !errors.Is(err, context.Canceled) {
			t.Fatalf("the caller that gave up got %v", err)
		}
		synctest.Wait() // whatever its leaving brings about has happened
		select {
		case <-g.ended:
			t.Fatal("the fetch ended although somebody still waits")
		case <-g.entered:
			t.Fatal("the second caller fetched on its own")
		default:
		}
		stop()
		if err := <-results; !errors.Is(err, context.Canceled) {
			t.Fatalf("the last caller got %v", err)
		}
		synctest.Wait()
		select {
		case <-g.ended:
		default:
			t.Fatal("the fetch goes on although nobody waits")
		}
	})
}

func TestAnAnswerAboutSomebodyElseIsAFailedFetch(t *testing.T) {
	b := newCacheBench(t, cacheCase{Catalog: []byte(`{"namespaces":["docs"],"permissions":{"docs.files.read":true}}`)})
	c, err := client.New(client.Options{Provider: impostor{b.local}, Catalog: b.local.Catalog()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, p := range []authz.Principal{authz.UserPrincipal("u1"), authz.ServicePrincipal("s1")} {
		if ok, err := c.Can(context.Background(), p, "docs.files.read", ""); err == nil {
			t.Errorf("%v: answered %v", p, ok)
		}
	}
}

type impostor struct{ client.Source }

func (i impostor) GetSubjectAccess(ctx context.Context, _ authz.Principal) (authz.SubjectAccess, error) {
	return i.Source.GetSubjectAccess(ctx, authz.UserPrincipal("somebody-else"))
}

func TestMalformedOptionsAndPrincipalsAreRefused(t *testing.T) {
	b := newCacheBench(t, cacheCase{Catalog: []byte(`{"namespaces":["docs"],"permissions":{"docs.files.read":true}}`)})
	good := client.Options{Provider: b.local, Catalog: b.local.Catalog()}
	for name, spoil := range map[string]func(*client.Options){
		"no provider":         func(o *client.Options) { o.Provider = nil },
		"no catalog":          func(o *client.Options) { o.Catalog = nil },
		"a negative TTL":      func(o *client.Options) { o.SubjectCacheTTL = new(-time.Second) },
		"a negative bound":    func(o *client.Options) { o.MaxObjectCacheEntries = new(-1) },
		"an unknown external": func(o *client.Options) { o.External = "maybe" },
	} {
		o := good
		spoil(&o)
		if _, err := client.New(o); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	c, err := client.New(good)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, p := range []authz.Principal{{}, {UserID: "u", ServiceID: "s"}} {
		_, err := c.Can(context.Background(), p, "docs.files.read", "")
		var invalid *authz.InvalidPrincipalError
		if !errors.As(err, &invalid) {
			t.Errorf("%+v: %v", p, err)
		}
	}
	if ok, err := c.Check(context.Background(), authz.UserPrincipal("u"), client.Gate{}); ok || err != nil {
		t.Errorf("an empty any-of list: %v, %v, want a denial", ok, err)
	}
}

func TestAwaitPositionRefreshesWhatIsBehind(t *testing.T) {
	b := newCacheBench(t, cacheCase{Start: 1700000000000, Catalog: []byte(`{"namespaces":["docs"],"permissions":{"docs.files.read":true}}`),
		Clients: map[string]cacheClient{"A": {}}})
	c, ctx, u := b.clients["A"], context.Background(), authz.UserPrincipal("u1")
	if ok, err := c.Can(ctx, u, "docs.files.read", ""); ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := b.write(b.remote, cacheStep{Write: "createGrant", Args: []byte(`{"subject":"user:u1","pattern":"docs.files.read"}`)}); err != nil {
		t.Fatal(err)
	}
	if ok, _ := c.Can(ctx, u, "docs.files.read", ""); ok {
		t.Fatal("within the window the old state is served; without that this test shows nothing")
	}
	head, err := b.local.EventLog().Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AwaitPosition(ctx, head.Position); err != nil {
		t.Fatal(err)
	}
	if ok, err := c.Can(ctx, u, "docs.files.read", ""); !ok || err != nil {
		t.Fatalf("after AwaitPosition: %v, %v", ok, err)
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	var unavailable *authz.UnavailableError
	if err := c.AwaitPosition(short, authz.Position{Seq: head.Seq + 1}); !errors.As(err, &unavailable) {
		t.Fatalf("an event that never comes: %v", err)
	}
}
