package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

// A row that expires while it is cached is named by the denials that follow, on every
// shape that raises them, and by nothing that is denied for another reason.
func TestADenialNamesTheGrantThatExpired(t *testing.T) {
	b := newCacheBench(t, cacheCase{Start: 1700000000000, Catalog: []byte(`{"namespaces":["docs"],"scopeTypes":{"docs.doc":{}},
		"permissions":{"docs.files.read":{"scopes":["docs.doc"]},"docs.files.edit":{"scopes":["docs.doc"]}}}`)})
	g, err := b.remote.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:u1", Pattern: "docs.files.read", Scope: "docs.doc:1",
		ExpiresAt: authz.ExpiresAt(b.now.Load() + 1000)}, authz.AdminProvenance("root"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Options{Provider: b.local, Catalog: b.local.Catalog(), Clock: b.now.Load})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	ctx, u := t.Context(), authz.UserPrincipal("u1")
	if err := c.Require(ctx, u, "docs.files.read", "docs.doc:1"); err != nil {
		t.Fatal(err)
	}
	b.now.Add(1000)
	never := func(context.Context) (bool, error) { return false, nil }
	read := client.Gate{Keys: []string{"docs.files.edit", "docs.files.read"}, Scope: "docs.doc:1"}
	snapshot, err := c.Snapshot(ctx, u, client.SnapshotOptions{Scopes: []string{"docs.doc:1"}})
	if err != nil {
		t.Fatal(err)
	}
	session, err := c.Session(ctx, "u1", nil)
	if err != nil {
		t.Fatal(err)
	}
	both, err := session.Snapshot(ctx, client.SnapshotOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for shape, err := range map[string]error{
		"require":                  c.Require(ctx, u, "docs.files.read", "docs.doc:1"),
		"requireGate":              c.RequireGate(ctx, u, read),
		"snapshot require":         snapshot.Require("docs.files.read", "docs.doc:1"),
		"snapshot requireGate":     snapshot.RequireGate(read),
		"session require":          session.Require(ctx, "docs.files.read", "docs.doc:1"),
		"session snapshot require": both.Require("docs.files.read", "docs.doc:1"),
	} {
		var denied *authz.AccessDeniedError
		if !errors.As(err, &denied) || len(denied.Expired) != 1 || denied.Expired[0].ID != g.ID {
			t.Errorf("%s: %+v", shape, err)
		} else if want := "grant " + g.ID + " to user:u1 has expired (2023-11-14T22:13:21Z)"; !strings.Contains(denied.Error(), want) {
			t.Errorf("%s: %v", shape, denied)
		}
	}
	for shape, err := range map[string]error{
		"another key":   c.Require(ctx, u, "docs.files.edit", "docs.doc:1"),
		"another scope": c.Require(ctx, u, "docs.files.read", "docs.doc:2"),
	} {
		if denied := new(authz.AccessDeniedError); !errors.As(err, &denied) || len(denied.Expired) != 0 {
			t.Errorf("%s: %+v", shape, err)
		}
	}
	if _, err := b.remote.CreateGrant(ctx, provider.GrantInput{Subject: "user:u1", Pattern: "docs.files.read"}, authz.AdminProvenance("root")); err != nil {
		t.Fatal(err)
	}
	conditioned := c.RequireGate(ctx, u, client.Gate{Keys: read.Keys, Scope: read.Scope, Fresh: true, Condition: never})
	if denied := new(authz.AccessDeniedError); !errors.As(conditioned, &denied) || len(denied.Expired) != 0 {
		t.Errorf("a condition that does not hold: %+v", conditioned)
	}
}
