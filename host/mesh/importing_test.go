package mesh_test

import (
	"context"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/storage"
)

// panicking is a driver with a mistake in it.
type panicking struct{ storage.Store }

func (panicking) ReadAccess(context.Context, storage.AccessQuery) (storage.Access, error) {
	panic("a mistake")
}

func TestAPanicWhileAnOwnerIsReadFailsTheCheckAlone(t *testing.T) {
	w := newWorld(t)
	w.application("billing", w.declare(billingCatalog))
	w.put(w.connect("hq"), three())
	conn, err := mesh.Connect(mesh.Options{Partition: "docs", Driver: w.info, Open: func(ctx context.Context, partition string) (storage.Store, error) {
		s, err := w.driver.Open(ctx, partition)
		if partition == "billing" {
			return panicking{s}, err
		}
		return s, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	vocabulary := w.declare(importingCatalog)
	store := conn.Member(w.store("docs"), vocabulary, mesh.MemberOptions{Imports: true})
	app, err := application.New(t.Context(), application.Options{Name: "docs", Catalog: vocabulary, Store: store, Elsewhere: store.Elsewhere, Log: store.Log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close() })
	asks, err := client.New(client.Options{Provider: app, Catalog: vocabulary, Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(asks.Close)
	for _, who := range []authz.Principal{authz.UserPrincipal("jane"), authz.ServicePrincipal("robot")} {
		if allowed, err := asks.Can(t.Context(), who, "docs.files.read", "*"); err == nil || allowed {
			t.Errorf("%v: %v %v", who, allowed, err)
		}
		if _, err := store.ReadAccess(t.Context(), storage.AccessQuery{UserID: who.UserID, Subjects: []string{who.Subject()}}); err == nil || !strings.Contains(err.Error(), `"billing" lends: panic: a mistake`) {
			t.Errorf("%v: %v", who, err)
		}
	}
}
