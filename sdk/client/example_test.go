package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

// A program that embeds a host has its client from host.Application; here one is made
// over an application in memory.
func Example() {
	ctx := context.Background()
	input, err := catalog.ParseYAML([]byte(`
namespaces: [docs]
scopeTypes: {docs.folder: {}}
groups: {docs.files: {scopes: [docs.folder]}}
permissions: {docs.files.read: true, docs.files.delete: true}
`))
	if err != nil {
		log.Fatal(err)
	}
	vocabulary, err := catalog.Build(input)
	if err != nil {
		log.Fatal(err) // every mistake, each with its place
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

	grant := provider.GrantInput{Subject: "user:ann", Pattern: "docs.files.read", Scope: "docs.folder:9"}
	if _, err := app.CreateGrant(ctx, grant, authz.AdminProvenance("root")); err != nil {
		log.Fatal(err)
	}
	ann := authz.UserPrincipal("ann")
	may, err := c.Can(ctx, ann, "docs.files.read", "docs.folder:9")
	fmt.Println(may, err)

	err = c.Require(ctx, ann, "docs.files.delete", "docs.folder:9")
	var denied *authz.AccessDeniedError
	fmt.Println(errors.As(err, &denied), denied.Reason)

	_, err = c.Can(ctx, ann, "docs.files.raed", "docs.folder:9") // never a denial
	var unknown *authz.UnknownPermissionError
	fmt.Println(errors.As(err, &unknown), unknown.DidYouMean)

	for holder, err := range c.WhoCan(ctx, "docs.files.read", "docs.folder:9") {
		fmt.Println(holder.Subject, err)
	}
	for key, err := range c.WhatCan(ctx, ann, "docs.folder:9") {
		fmt.Println(key.Key, err)
	}
	for scope, err := range c.WhereCan(ctx, ann, "docs.files.read") {
		fmt.Println(scope.Scope, err)
	}
	// Output:
	// true <nil>
	// true forbidden
	// true [docs.files.read]
	// user:ann <nil>
	// docs.files.read <nil>
	// docs.folder:9 <nil>
}
