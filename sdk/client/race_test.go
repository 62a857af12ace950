package client_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

// racer is one user whose rows one writer changes by every kind of write. What
// the writer knows is published around each write: nothing while it is under
// way, and what must hold, since when, once it has returned.
type racer struct {
	id       string
	app      *application.Application
	rng      *rand.Rand
	known    atomic.Pointer[standing]
	grant    string // ids of rows, "" when absent
	revoke   string
	granted  bool // by the role
	member   bool
	inactive bool
}

// standing is what must hold since a write returned.
type standing struct {
	allowed bool
	since   time.Time
}

func (r *racer) user() string   { return "user-" + r.id }
func (r *racer) group() *string { return new("group-" + r.id) }
func (r *racer) role() *string  { return new("role-" + r.id) }
func (r *racer) patterns() []string {
	if r.granted {
		return []string{"docs.files.read"}
	}
	return []string{"docs.files.delete"}
}

// prepare gives the user a role without the key, and a group that has it.
func (r *racer) prepare(ctx context.Context, by authz.Provenance) error {
	if _, err := r.app.CreateRole(ctx, provider.RoleInput{ID: r.role(), Name: *r.role(), Patterns: r.patterns()}, by); err != nil {
		return err
	}
	if _, err := r.app.CreateGroup(ctx, provider.GroupInput{ID: r.group(), Name: *r.group()}, by); err != nil {
		return err
	}
	_, err := r.app.CreateGrants(ctx, []provider.GrantInput{
		{Subject: "user:" + r.user(), RoleID: *r.role(), Scope: "docs.doc:1"},
		{Subject: "group:" + *r.group(), Pattern: "docs.files.read", Scope: "docs.folder:1"},
	}, by)
	r.settle()
	return err
}

func (r *racer) settle() {
	r.known.Store(&standing{allowed: !r.inactive && r.revoke == "" && (r.grant != "" || r.granted || r.member), since: time.Now()})
}

// write makes one change.
func (r *racer) write(ctx context.Context, by authz.Provenance) (err error) {
	r.known.Store(nil)
	switch r.rng.IntN(5) {
	case 0:
		if r.grant != "" {
			err, r.grant = r.app.DeleteGrant(ctx, r.grant, by), ""
			break
		}
		var g authz.Grant
		g, err = r.app.CreateGrant(ctx, provider.GrantInput{Subject: "user:" + r.user(), Pattern: "docs.files.read"}, by)
		r.grant = g.ID
	case 1:
		if r.revoke != "" {
			err, r.revoke = r.app.DeleteRevoke(ctx, r.revoke, by), ""
			break
		}
		var v authz.Revoke
		v, err = r.app.CreateRevoke(ctx, provider.RevokeInput{UserID: r.user(), Pattern: "docs.files.*", Scope: "docs.folder:1"}, by)
		r.revoke = v.ID
	case 2:
		r.granted = !r.granted
		_, err = r.app.UpdateRole(ctx, *r.role(), provider.RoleUpdate{Patterns: new(r.patterns())}, by)
	case 3:
		r.member = !r.member
		groups := []string{}
		if r.member {
			groups = append(groups, *r.group())
		}
		err = r.app.SetGroupMembership(ctx, r.user(), groups, by)
	case 4:
		r.inactive = !r.inactive
		err = r.app.SetUserActive(ctx, r.user(), !r.inactive, by)
	}
	r.settle()
	return err
}

// Writers change everything while readers check on the client and on snapshots
// taken then, in the writing process and in another one. A check that starts
// after a write has returned honours it: at once in the same process, and past the
// window in the other.
func TestNoCheckHonoursAStateOlderThanTheBoundWhileEverythingIsWritten(t *testing.T) {
	const window, racers = 25 * time.Millisecond, 6
	ctx, by := context.Background(), authz.AdminProvenance("root")
	in, err := catalog.ParseJSON([]byte(staleCatalog))
	if err != nil {
		t.Fatal(err)
	}
	cat, err := catalog.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	driver := memory.New(memory.Options{})
	defer driver.Close()
	store, err := driver.Open(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	shared := newMapStore()
	attach := func(between client.CacheStore) (*application.Application, *client.Client) {
		app, err := application.New(ctx, application.Options{Catalog: cat, Store: store,
			Ancestry: application.AncestryFunc(func(context.Context, string) ([]string, error) { return []string{"docs.folder:1", "*"}, nil })})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = app.Close() })
		c, err := client.New(client.Options{Provider: app, Catalog: cat, RevalidateAfter: new(window), CacheStore: between})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return app, c
	}
	here, writing := attach(shared)
	_, other := attach(shared)
	_, small := attach(nil)

	crowd := make([]*racer, racers)
	for i := range crowd {
		crowd[i] = &racer{id: fmt.Sprint(i), app: here, rng: rand.New(rand.NewPCG(uint64(i), 7))}
		if err := crowd[i].prepare(ctx, by); err != nil {
			t.Fatal(err)
		}
	}
	stop := make(chan struct{})
	var writers, readers sync.WaitGroup
	var writes, judged, allows atomic.Int64
	for w := range 2 {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 11))
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := crowd[w*racers/2+rng.IntN(racers/2)].write(ctx, by); err != nil {
					t.Error(err)
					return
				}
				writes.Add(1)
				if rng.IntN(20) == 0 {
					time.Sleep(2 * window) // lets the bound of the other process pass
				}
			}
		})
	}
	read := func(c *client.Client, bound time.Duration, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 13))
		for {
			select {
			case <-stop:
				return
			default:
			}
			r := crowd[rng.IntN(racers)]
			before, began := r.known.Load(), time.Now()
			p := authz.UserPrincipal(r.user())
			var got bool
			var err error
			if rng.IntN(4) == 0 {
				var s *client.Snapshot
				if s, err = c.Snapshot(ctx, p, client.SnapshotOptions{Scopes: []string{"docs.doc:1"}}); err == nil {
					got, err = s.Can("docs.files.read", "docs.doc:1")
				}
			} else {
				got, err = c.Can(ctx, p, "docs.files.read", "docs.doc:1")
			}
			if err != nil {
				t.Error(err)
				return
			}
			if before == nil || before != r.known.Load() || began.Sub(before.since) < bound {
				continue // a write was under way, or the bound has not passed
			}
			judged.Add(1)
			if got {
				allows.Add(1)
			}
			if got != before.allowed {
				t.Errorf("%s: answered %v, but %v holds since %v (bound %v)", r.user(), got, before.allowed, began.Sub(before.since), bound)
				return
			}
		}
	}
	// A window is counted in whole milliseconds of two clocks.
	elsewhere := window + 3*time.Millisecond
	for seed := range uint64(2) {
		readers.Go(func() { read(writing, 0, seed) })
		readers.Go(func() { read(other, elsewhere, seed) })
		readers.Go(func() { read(small, elsewhere, seed) })
	}
	enough := func() bool { return writes.Load() >= 100 && judged.Load() >= 1000 && allows.Load() > 0 }
	for began := time.Now(); time.Since(began) < 4*time.Second || !enough() && time.Since(began) < time.Minute && !t.Failed(); {
		time.Sleep(100 * time.Millisecond)
	}
	close(stop)
	writers.Wait()
	readers.Wait()
	t.Logf("%d writes, %d answers judged, %d of them allowed", writes.Load(), judged.Load(), allows.Load())
	if !enough() {
		t.Error("too little happened for this to prove anything")
	}
}
