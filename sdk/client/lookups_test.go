package client_test

import (
	"context"
	"fmt"
	"log"
	"testing"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

// Who holds a permission, what somebody holds, and where.
func ExampleClient_WhoCan() {
	ctx := context.Background()
	input, err := catalog.ParseYAML([]byte("namespaces: [docs]\nscopeTypes: {docs.folder: {}}\ngroups: {docs.files: {scopes: [docs.folder]}}\npermissions: {docs.files.read: true, docs.files.delete: true}\n"))
	if err != nil {
		log.Fatal(err)
	}
	vocabulary, err := catalog.Build(input)
	if err != nil {
		log.Fatal(err)
	}
	store, err := memory.New(memory.Options{}).Open(ctx, "docs")
	if err != nil {
		log.Fatal(err)
	}
	app, err := application.New(ctx, application.Options{Name: "docs", Catalog: vocabulary, Store: store})
	if err != nil {
		log.Fatal(err)
	}
	defer app.Close()
	c, err := client.New(client.Options{Provider: app, Catalog: vocabulary})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for _, user := range []string{"ann", "ben"} {
		grant := provider.GrantInput{Subject: "user:" + user, Pattern: "docs.files.*", Scope: "docs.folder:9"}
		if _, err := app.CreateGrant(ctx, grant, authz.AdminProvenance("root")); err != nil {
			log.Fatal(err)
		}
	}
	for holder, err := range c.WhoCan(ctx, "docs.files.read", "docs.folder:9") {
		fmt.Println(holder.Subject, err)
	}
	for key, err := range c.WhatCan(ctx, authz.UserPrincipal("ann"), "docs.folder:9") {
		fmt.Println(key.Key, err)
	}
	for scope, err := range c.WhereCan(ctx, authz.UserPrincipal("ann"), "docs.files.read") {
		fmt.Println(scope.Scope, err)
	}
	// Output:
	// user:ann <nil>
	// user:ben <nil>
	// docs.files.delete <nil>
	// docs.files.read <nil>
	// docs.folder:9 <nil>
}

// supplyOnly is a provider that supplies rows and lists nothing.
type supplyOnly struct{ client.Source }

func TestListsOfAProviderWithoutLookupsAreUnsupported(t *testing.T) {
	w := newLookupWorld(t)
	for holder, err := range w.WhoCan(t.Context(), "docs.files.read", "") {
		if authz.CodeOf(err) != authz.CodeUnsupported || holder.Subject != "" {
			t.Errorf("%+v, %v", holder, err)
		}
		return
	}
	t.Error("the list is empty")
}

func newLookupWorld(t *testing.T) *client.Client {
	t.Helper()
	input, err := catalog.ParseYAML([]byte("namespaces: [docs]\npermissions: {docs.files.read: true}\n"))
	if err != nil {
		t.Fatal(err)
	}
	vocabulary, err := catalog.Build(input)
	if err != nil {
		t.Fatal(err)
	}
	store, err := memory.New(memory.Options{}).Open(t.Context(), "docs")
	if err != nil {
		t.Fatal(err)
	}
	app, err := application.New(t.Context(), application.Options{Name: "docs", Catalog: vocabulary, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close() })
	c, err := client.New(client.Options{Provider: supplyOnly{app}, Catalog: vocabulary})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
