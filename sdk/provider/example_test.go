package provider_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
)

// served is an application that a host serves elsewhere.
func served(ctx context.Context) (url string, closed func()) {
	input, err := catalog.ParseYAML([]byte("namespaces: [docs]\npermissions: {docs.files.read: true}\n"))
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
	handler, err := api.NewProviderHandler(api.ProviderOptions{Application: app, ApplicationID: "docs",
		Secrets: func() []string { return []string{"a-secret-of-the-example"} }})
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(handler)
	return server.URL, server.Close
}

// A hosted provider is an application that is served elsewhere: the same interface, the
// same errors.
func ExampleNewHosted() {
	ctx := context.Background()
	url, closed := served(ctx)
	defer closed()

	docs, err := provider.NewHosted(provider.HostedOptions{URL: url, Secret: "a-secret-of-the-example"})
	if err != nil {
		log.Fatal(err)
	}
	grant := provider.GrantInput{Subject: "user:ann", Pattern: "docs.files.read"}
	if _, err := docs.CreateGrant(ctx, grant, authz.AdminProvenance("root")); err != nil {
		log.Fatal(err)
	}
	for row, err := range docs.ListGrants(ctx, provider.GrantQuery{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(row.Subject, row.Pattern, row.Scope)
	}

	grant.Pattern = "docs.files.raed"
	_, err = docs.CreateGrant(ctx, grant, authz.AdminProvenance("root"))
	var refused *authz.WriteRejectedError
	fmt.Println(errors.As(err, &refused), refused.Code)
	// Output:
	// user:ann docs.files.read *
	// true validation
}
