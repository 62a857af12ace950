package service_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// halted stops before its first commit while it is armed, until it may go on.
type halted struct {
	storage.Store
	arm     func(storage.Commit) bool
	once    *sync.Once
	reached chan struct{}
	goOn    chan struct{}
}

func (h *halted) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	if h.arm(c) {
		h.once.Do(func() {
			close(h.reached)
			<-h.goOn
		})
	}
	return h.Store.Commit(ctx, c)
}

// puts tells whether the commit writes a record of the collection.
func puts(collection string) func(storage.Commit) bool {
	return func(c storage.Commit) bool {
		for _, change := range c.Changes {
			if put, ok := change.(storage.PutRecord); ok && put.Record.Collection == collection {
				return true
			}
		}
		return false
	}
}

// What speaks for an application is never written beside its deletion: it would be
// left to whoever takes its id, or its namespace, next.
func TestNothingIsWrittenAboutAnApplicationBesideItsDeletion(t *testing.T) {
	for _, c := range []struct {
		name, collection string
		write            func(context.Context, *world, *service.Access) error
		left             func(*world) bool
	}{
		{"a grant at its scope", "grants", func(ctx context.Context, w *world, a *service.Access) error {
			_, err := w.s.CreateAccountGrants(ctx, a, []provider.GrantInput{{Subject: "user:u1", Pattern: cloud.ApplicationsRead, Scope: cloud.App("docs")}}, true)
			return err
		}, func(w *world) bool {
			for range account.Grants.All(t.Context(), w.accounts, "acme") {
				return true
			}
			return false
		}},
		{"a revoke at its scope", "revokes", func(ctx context.Context, w *world, a *service.Access) error {
			_, err := w.s.CreateAccountRevoke(ctx, a, provider.RevokeInput{UserID: "u1", Pattern: cloud.ApplicationsRead, Scope: cloud.App("docs")})
			return err
		}, func(w *world) bool {
			for range account.Revokes.All(t.Context(), w.accounts, "acme") {
				return true
			}
			return false
		}},
		{"a publisher key", "api_keys", func(ctx context.Context, w *world, a *service.Access) error {
			_, err := w.s.CreateKey(ctx, a, service.KeyInput{Kind: account.KeyPublisher, Name: "ci", Namespace: new("docs")})
			return err
		}, func(w *world) bool {
			for row := range account.Keys.All(t.Context(), w.accounts, "acme") {
				if row.Value.RevokedAt == nil {
					return true
				}
			}
			return false
		}},
		{"the choice of the org root", "orgs", func(ctx context.Context, w *world, a *service.Access) error {
			_, err := w.s.UpdateOrg(ctx, a, service.OrgUpdate{PrimaryApplication: new("docs")}, nil)
			return err
		}, func(w *world) bool {
			row, _, _ := account.Orgs.Get(t.Context(), w.accounts, "acme", account.OrgID)
			return row.Value.PrimaryApplication != nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			owner := w.org("acme")
			w.register("docs", "docs")
			h := &halted{w.records, puts(c.collection), &sync.Once{}, make(chan struct{}), make(chan struct{})}
			w.accounts = account.New(h, w.clock.Load)
			w.entries = applications.New(applications.Options{Store: w.accounts, Keys: w.keys, Relay: w.far, Meters: w.meters})
			w.s = w.host(service.Options{})
			owner = w.enter(owner.Caller, "acme")
			written, deleted := make(chan error, 1), make(chan error, 1)
			go func() { written <- c.write(t.Context(), w, owner) }()
			<-h.reached
			go func() { deleted <- w.entries.Delete(t.Context(), "root", "acme", "docs", "") }()
			select {
			case err := <-deleted: // it went by: what is written now must be refused
				deleted <- err
			case <-time.After(100 * time.Millisecond): // it waits for the write to end
			}
			close(h.goOn)
			if err := <-written; err != nil {
				t.Logf("the write is refused: %v", err)
			}
			expect(t, "the deletion", <-deleted, "ok")
			if c.left(w) {
				t.Error("it is left without its application")
			}
		})
	}
}
