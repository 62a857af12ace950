package demo

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// App is an application with its client, as host.Application is.
type App struct {
	*application.Application
	client  *client.Client
	store   storage.Store
	backend *memory.Backend
}

// Rows are what an administrator has set up before the program starts.
type Rows struct {
	Parents map[string][]string // of scopes; none is a root
	Roles   map[string][]string // patterns by role id
	Grants  []provider.GrantInput
	Revokes []provider.RevokeInput
}

// Setup is who wrote Rows.
var Setup = authz.AdminProvenance("setup")

// Open opens an application and writes the rows.
func Open(ctx context.Context, c *catalog.Catalog, rows Rows) (*App, error) {
	a, err := open(ctx, c, memory.NewBackend(memory.Options{}))
	if err != nil {
		return nil, err
	}
	if err := a.write(ctx, rows); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// Replica opens the application once more, as another process on another machine
// would: it hears of what is written here when it next looks at the event log.
func (a *App) Replica(ctx context.Context) (*App, error) {
	return open(ctx, a.Catalog(), a.backend)
}

func open(ctx context.Context, c *catalog.Catalog, backend *memory.Backend) (*App, error) {
	a := &App{backend: backend}
	var err error
	if a.store, err = backend.Driver().Open(ctx, "demo"); err != nil {
		return nil, err
	}
	a.Application, err = application.New(ctx, application.Options{
		Name: "demo", Catalog: c, Store: a.store, Ancestry: application.Stored(a.store),
	})
	if err != nil {
		return nil, errors.Join(err, a.store.Close())
	}
	if a.client, err = client.New(client.Options{Provider: a, Catalog: c, UnknownScopeTypes: client.ScopeTypeError}); err != nil {
		return nil, errors.Join(err, a.Application.Close(), a.store.Close())
	}
	return a, nil
}

// Client asks the application.
func (a *App) Client() *client.Client { return a.client }

// CutOff takes the store away: whatever needs a row from now on is an outage.
func (a *App) CutOff() error { return a.store.Close() }

// Close ends the application. Its rows are gone with the last replica.
func (a *App) Close() {
	a.client.Close()
	_ = a.Application.Close() // ends background work, which cannot fail
	_ = a.store.Close()       // nothing of a memory store can be lost
}

func (a *App) write(ctx context.Context, rows Rows) error {
	var entries []provider.ScopeParents
	for _, scope := range slices.Sorted(maps.Keys(rows.Parents)) {
		entries = append(entries, provider.ScopeParents{Scope: scope, Parents: new(rows.Parents[scope])})
	}
	if len(entries) > 0 {
		if _, err := a.SetScopeParents(ctx, entries, Setup); err != nil {
			return err
		}
	}
	for id, patterns := range rows.Roles {
		if _, err := a.CreateRole(ctx, provider.RoleInput{ID: &id, Name: id, Patterns: patterns}, Setup); err != nil {
			return err
		}
	}
	for _, revoke := range rows.Revokes {
		if _, err := a.CreateRevoke(ctx, revoke, Setup); err != nil {
			return err
		}
	}
	if len(rows.Grants) == 0 {
		return nil
	}
	_, err := a.CreateGrants(ctx, rows.Grants, Setup)
	return err
}
