package applications

import (
	"context"
	"errors"
	"sync"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/registry"
	"github.com/authzhost/authz/host/service/relay"
)

// Asked is an application and the way to it. A hosted org root has no id and no entry.
type Asked struct {
	Application
	Relay relay.Linked
}

// Hosted reports an org root whose home is the hosted service.
func (a Asked) Hosted() bool { return a.ID == "" }

func (e *Entries) ask(ctx context.Context, org string, row account.Row[entry]) (Asked, error) {
	a := row.Value
	if !a.Reachable() {
		return Asked{}, notLinked(row.ID)
	}
	plain, err := e.open(org, a)
	if err != nil {
		return Asked{}, err
	}
	if a.Secret != nil && e.keys.Stale(*a.Secret) {
		// Whoever was faster, or storage that is busy, leaves it to the next use. The
		// work of the request keeps its commits for itself.
		_ = e.reseal(account.WithWork(ctx, nil), org, row, plain)
	}
	return Asked{a.Application, e.relay.For(relay.Target{Org: org, Application: a.ID, URL: *a.RelayURL, Secret: plain, Link: a.Link})}, nil
}

// Linked is the way to a linked application: application_not_found, not_linked.
func (e *Entries) Linked(ctx context.Context, org, id string) (Asked, error) {
	row, err := e.get(ctx, org, id)
	if err != nil {
		return Asked{}, err
	}
	return e.ask(ctx, org, row)
}

// AllLinked are the ways to the org's linked applications, by id.
func (e *Entries) AllLinked(ctx context.Context, org string) ([]Asked, error) {
	all, err := e.all(ctx, org)
	if err != nil {
		return nil, err
	}
	var linked []Asked
	for _, row := range all {
		if !row.Value.Reachable() {
			continue
		}
		a, err := e.ask(ctx, org, row)
		if err != nil {
			return nil, err
		}
		linked = append(linked, a)
	}
	return linked, nil
}

// Sources are the linked applications as the registry asks them for drift.
func (e *Entries) Sources(ctx context.Context, org string) ([]registry.Source, error) {
	linked, err := e.AllLinked(ctx, org)
	if err != nil {
		return nil, err
	}
	sources := make([]registry.Source, len(linked))
	for i, a := range linked {
		sources[i] = registry.Source{ID: a.ID, Application: a.Relay}
	}
	return sources, nil
}

// roots are the org roots that one request has found.
type roots struct {
	mu    sync.Mutex
	found map[string]Asked
}

type rootsKey struct{}

// WithOneRoot has what runs under the context, one request, find an org's root
// once: its gates and its operation then mean the same root. Never longer than a
// request, since the next one must see what another host has changed.
func WithOneRoot(ctx context.Context) context.Context {
	return context.WithValue(ctx, rootsKey{}, &roots{found: map[string]Asked{}})
}

// Root is the way to the org root: the hosted one of a federated org, else the primary
// application while it is linked: no_org_root. While it moves nothing is written that
// way.
func (e *Entries) Root(ctx context.Context, org string) (Asked, error) {
	known, ok := ctx.Value(rootsKey{}).(*roots)
	if !ok {
		return e.root(ctx, org)
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	if root, ok := known.found[org]; ok {
		return root, nil
	}
	root, err := e.root(ctx, org)
	if err == nil {
		known.found[org] = root
	}
	return root, err
}

func (e *Entries) root(ctx context.Context, org string) (Asked, error) {
	row, err := e.org(ctx, org)
	if err != nil {
		return Asked{}, err
	}
	root, err := e.rootOf(ctx, org, row.Value)
	if err == nil && row.Value.Moving != "" {
		root.Relay = relay.Moving(root.Relay, row.Value.Moving)
	}
	return root, err
}

func (e *Entries) rootOf(ctx context.Context, org string, row account.Org) (Asked, error) {
	if row.Mode == account.ModeFederated {
		to, err := e.hostedRoot(ctx, org)
		return Asked{Relay: to}, err
	}
	none := fault.Cloud("no_org_root", "the org has no org root: link an application and make it the primary one")
	if row.PrimaryApplication == nil {
		return Asked{}, none
	}
	primary, found, err := entries.Get(ctx, e.store, org, *row.PrimaryApplication)
	if err != nil {
		return Asked{}, err
	}
	if !found || !primary.Value.Reachable() {
		return Asked{}, none
	}
	return e.ask(ctx, org, primary)
}

func (e *Entries) hostedRoot(ctx context.Context, org string) (relay.Linked, error) {
	if e.hosted == nil {
		return nil, fault.Internal(errors.New("the org is federated, and this host serves no hosted org roots"))
	}
	return e.hosted(ctx, org)
}
