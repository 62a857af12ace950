package meshcases

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/host/mesh/eventlog"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
)

var cacheCases = []spec{
	{ID: "X25", Rule: "what a peer takes away is denied within one revalidation window, also where nobody polls", Run: func(w *world) {
		_, billing := w.neighbours(authz.MeshRead)
		docs := w.first.member("docs", docsCatalog, mesh.MemberOptions{Imports: true}, caching)
		for _, change := range []struct {
			gives, takes func()
		}{
			{func() {
				billing.role("auditor", "billing.invoices.read")
				billing.grants("user:jane", "role:auditor", "*")
			},
				func() { billing.narrows("auditor", "billing.invoices.void") }},
			{func() { billing.group("ops", "bob"); billing.grants("group:ops", "billing.*", "*") },
				func() { w.must(billing.SetGroupMembership(w.ctx, "bob", nil, admin), "a membership ended") }},
			{func() { billing.grants("user:ann", "billing.*", "*") }, func() { billing.revokes("ann", "billing.*") }},
		} {
			for _, user := range []string{"jane", "bob", "ann"} {
				docs.denies(user, "billing.invoices.read")
			}
			change.gives()
			w.pass(cached)
			allowed := 0
			for _, user := range []string{"jane", "bob", "ann"} {
				if ok, err := docs.client.Can(w.ctx, authz.UserPrincipal(user), "billing.invoices.read", "*"); err == nil && ok {
					allowed++
				}
			}
			w.same("who is allowed", 1, allowed)
			change.takes()
			w.pass(cached)
		}
		for _, user := range []string{"jane", "bob", "ann"} {
			docs.denies(user, "billing.invoices.read")
		}
	}},
	{ID: "X25a", Rule: "what a peer takes away is denied within one poll where the mesh's event poller runs, and the clock stands still", Run: func(w *world) {
		_, billing := w.neighbours(authz.MeshRead)
		docs := w.first.member("docs", docsCatalog, mesh.MemberOptions{Imports: true}, caching)
		var edgeless atomic.Bool
		poller, err := eventlog.StartPoller(w.ctx, docs, docs.lends.Parts(application.LogOf(docs.lends.Store, func(_ string, err error) error { return err })), eventlog.PollerOptions{Interval: 20 * time.Millisecond,
			OnError: func(err error) {
				if !edgeless.Load() {
					w.Errorf("a poll that fails: %v", err)
				}
			}})
		w.must(err, "a poller")
		w.Cleanup(func() { poller.Stop(); <-poller.Done() })
		looked := func() bool { // what was cached before the first look is not its to take away
			for _, s := range poller.Status() {
				if s.LastLook.IsZero() {
					return false
				}
			}
			return true
		}
		for end := time.Now().Add(20 * time.Second); !looked(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				w.Want("a first look at every log", "%+v", poller.Status())
			}
		}
		within := func(want bool, what string) {
			for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
				allowed, err := docs.client.Can(w.ctx, authz.UserPrincipal("jane"), "billing.invoices.read", "*")
				if err != nil || allowed != want && time.Now().After(end) {
					w.Want(fmt.Sprintf("%s: %v within some polls", what, want), "%v, %v", allowed, err)
				}
				if allowed == want {
					return
				}
			}
		}
		within(false, "nothing granted")
		billing.role("auditor", "billing.invoices.read")
		billing.grants("user:jane", "role:auditor", "*")
		within(true, "a role of the peer")
		billing.narrows("auditor", "billing.invoices.void")
		within(false, "the role narrowed")
		billing.grants("user:jane", "billing.*", "*")
		within(true, "a grant of the peer")
		edgeless.Store(true)
		w.put(w.another("process 3").connect("hq"), three(""))
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			err := only(docs.client.Can(w.ctx, authz.UserPrincipal("jane"), "billing.invoices.read", "*"))
			if err != nil {
				w.refused(err, authz.MeshNoEdge)
				break
			}
			if time.Now().After(end) {
				w.Want("no_mesh_edge within some polls after the edge went", "still answered")
			}
		}
	}},
	{ID: "X32", Rule: "over a shared cache tier no entry outlives the window when own log and peer's move at once, in two processes", Run: func(w *world) {
		_, billing := w.neighbours(authz.MeshRead)
		tier := &tier{entries: map[string]string{}}
		sharing := func(o *client.Options) { o.Strict, o.CacheStore = false, tier }
		nodes := []*member{w.first.member("docs", docsCatalog, mesh.MemberOptions{Imports: true}, sharing),
			w.another("process 3").member("docs", docsCatalog, mesh.MemberOptions{Imports: true}, sharing)}
		ask := func(round int, docs, billing bool) {
			for i := range nodes {
				node := nodes[(round+i)%2]
				node.answers(docs, "jane", "docs.files.read", "*")
				node.answers(billing, "jane", "billing.invoices.read", "*")
			}
		}
		ask(0, false, false)
		for round := range 4 {
			var own, theirs authz.Grant
			both := func(a, b func()) { w.Each(2, func(i int) { []func(){a, b}[i]() }) }
			both(func() { own = nodes[round%2].grants("user:jane", "docs.files.read", "*") },
				func() { theirs = billing.grants("user:jane", "billing.invoices.read", "*") })
			w.pass(cached)
			ask(round, true, true)
			// The sum of the heads is the same whichever log moves; the states differ.
			w.must(billing.DeleteGrant(w.ctx, theirs.ID, admin), "a grant of the peer deleted")
			w.pass(cached)
			ask(round+1, true, false)
			both(func() { w.must(nodes[(round+1)%2].DeleteGrant(w.ctx, own.ID, admin), "a grant deleted") },
				func() { billing.grants("user:other", "billing.invoices.read", "*") })
			w.pass(cached)
			ask(round, false, false)
		}
		if tier.written() == 0 {
			w.Want("entries in the shared tier", "none was ever written")
		}
	}},
}

// tier is a shared cache that forgets nothing by itself.
type tier struct {
	mu      sync.Mutex
	entries map[string]string
}

func (t *tier) Get(_ context.Context, key string) (string, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	value, found := t.entries[key]
	return value, found, nil
}

func (t *tier) Set(_ context.Context, key, value string, _ time.Duration) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries[key] = value
	return nil
}

func (t *tier) Delete(_ context.Context, key string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.entries, key)
	return nil
}

func (t *tier) written() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.entries)
}
