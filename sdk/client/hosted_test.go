package client_test

import (
	"net/http/httptest"
	"testing"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

func local(_ *testing.T, app client.Source) client.Source { return app }

// hosted puts the wire between a client and its application.
func hosted(t *testing.T, app client.Source) client.Source {
	t.Helper()
	const secret = "a-secret-of-the-test"
	handler, err := api.NewProviderHandler(api.ProviderOptions{Application: app.(*application.Application), ApplicationID: "world",
		Secrets: func() []string { return []string{secret} }})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	h, err := provider.NewHosted(provider.HostedOptions{URL: server.URL, Secret: secret, Transport: server.Client().Transport})
	if err != nil {
		t.Fatal(err)
	}
	return h
}
