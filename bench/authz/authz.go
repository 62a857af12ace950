// Package authz holds the world in an authz application over the memory driver,
// in process, written through the same public operations that administrators use,
// and asks it through sdk/client: by Client.Can over warm caches, and by
// Snapshot.Can.
package authz

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/authzhost/authz/bench/engine"
	"github.com/authzhost/authz/bench/workload"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/storage"
)

const module = "github.com/authzhost/authz"

// Client asks through Client.Can.
func Client() engine.Peer {
	return engine.Peer{Name: "authz client", Module: module,
		Model: "Client.Can, caches warm, default options but for room for every user",
		Load: func(ctx context.Context, w *workload.World) (engine.Engine, error) {
			return load(ctx, w)
		}}
}

// Snapshot asks through Snapshot.Can, of a snapshot a user with the scopes of the
// user's questions resolved.
func Snapshot() engine.Peer {
	return engine.Peer{Name: "authz snapshot", Module: module,
		Model: "Snapshot.Can, a snapshot a user, scopes resolved",
		Load: func(ctx context.Context, w *workload.World) (engine.Engine, error) {
			held, err := load(ctx, w)
			if err != nil {
				return nil, err
			}
			return snapshots{held}, nil
		}}
}

type held struct {
	driver storage.Driver
	store  storage.Store
	app    *application.Application
	client *client.Client
}

func load(ctx context.Context, w *workload.World) (*held, error) {
	c, err := buildCatalog(w)
	if err != nil {
		return nil, err
	}
	h := &held{driver: memory.New(memory.Options{})}
	if err := h.open(ctx, c, w); err != nil {
		h.Close()
		return nil, fmt.Errorf("authz: %w", err)
	}
	return h, nil
}

func (h *held) open(ctx context.Context, c *catalog.Catalog, w *workload.World) (err error) {
	if h.store, err = h.driver.Open(ctx, ""); err != nil {
		return err
	}
	ancestry, ok := h.store.(storage.Ancestry)
	if !ok {
		return fmt.Errorf("the memory driver records no parents of scopes")
	}
	h.app, err = application.New(ctx, application.Options{Name: "bench", Catalog: c, Store: h.store, Ancestry: application.Stored(ancestry)})
	if err != nil {
		return err
	}
	if err := write(ctx, h.app, w); err != nil {
		return err
	}
	h.client, err = client.New(client.Options{Provider: h.app, Catalog: c, MaxSubjectCacheEntries: new(2 * len(w.Users))})
	return err
}

func (h *held) Close() {
	if h.client != nil {
		h.client.Close()
	}
	if h.app != nil {
		h.app.Close()
	}
	if h.store != nil {
		h.store.Close()
	}
	h.driver.Close()
}

func buildCatalog(w *workload.World) (*catalog.Catalog, error) {
	permissions := map[string]bool{}
	for _, key := range w.Keys {
		permissions[key] = true
	}
	text, err := json.Marshal(map[string]any{
		"namespaces":           []string{"docs"},
		"includeAuthzInternal": false,
		"scopeTypes":           map[string]any{"docs.folder": map[string]any{"parent": "docs.folder"}, "docs.doc": map[string]any{"parent": "docs.folder"}},
		"groups":               map[string]any{"docs": map[string]any{"scopes": []string{"docs.folder", "docs.doc"}}},
		"permissions":          permissions,
	})
	if err != nil {
		return nil, err
	}
	in, err := catalog.ParseJSON(text)
	if err != nil {
		return nil, err
	}
	return catalog.Build(in)
}

// scopeID is a scope as authz writes it.
func scopeID(s workload.ScopeID) string {
	switch s.Kind {
	case workload.Folder:
		return "docs.folder:" + s.ID
	case workload.Document:
		return "docs.doc:" + s.ID
	}
	return authz.Global
}

// Ask readies checks of the client.
func (h *held) Ask(ctx context.Context, questions []workload.Question) (engine.Check, error) {
	asked := translate(questions)
	return func(i int) (bool, error) {
		q := &asked[i]
		return h.client.Can(ctx, q.user, q.key, q.scope)
	}, nil
}

type question struct {
	user       authz.Principal
	key, scope string
}

func translate(questions []workload.Question) []question {
	asked := make([]question, len(questions))
	for i, q := range questions {
		asked[i] = question{authz.UserPrincipal(q.User), q.Key, scopeID(q.Scope)}
	}
	return asked
}

type snapshots struct{ *held }

// Ask takes the snapshots and readies checks of them.
func (s snapshots) Ask(ctx context.Context, questions []workload.Question) (engine.Check, error) {
	type prepared struct {
		snapshot   *client.Snapshot
		key, scope string
	}
	scopes := map[authz.Principal][]string{}
	translated := translate(questions)
	for _, q := range translated {
		if q.scope != authz.Global && !slices.Contains(scopes[q.user], q.scope) {
			scopes[q.user] = append(scopes[q.user], q.scope)
		}
	}
	taken := map[authz.Principal]*client.Snapshot{}
	asked := make([]prepared, len(questions))
	for i, q := range translated {
		if taken[q.user] == nil {
			snapshot, err := s.client.Snapshot(ctx, q.user, client.SnapshotOptions{Scopes: scopes[q.user]})
			if err != nil {
				return nil, err
			}
			taken[q.user] = snapshot
		}
		asked[i] = prepared{taken[q.user], q.key, q.scope}
	}
	return func(i int) (bool, error) {
		q := &asked[i]
		return q.snapshot.Can(q.key, q.scope)
	}, nil
}
