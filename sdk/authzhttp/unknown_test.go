package authzhttp_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/authzhttp"
	"github.com/authzhost/authz/sdk/authztest"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

// attached has the client of a site ask over the provider API.
func attached(t *testing.T) func(*authzhttp.Options, *authztest.World) {
	return func(o *authzhttp.Options, w *authztest.World) {
		const secret = "a-secret-of-the-test"
		handler, err := api.NewProviderHandler(api.ProviderOptions{Application: w.Provider().(*application.Application), ApplicationID: "world",
			Secrets: func() []string { return []string{secret} }})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		h, err := provider.NewHosted(provider.HostedOptions{URL: server.URL, Secret: secret})
		if err != nil {
			t.Fatal(err)
		}
		c, err := client.New(client.Options{Provider: h, Catalog: authztest.ParseCatalog(t, catalog)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		o.Client = c
	}
}

// A resource that nobody recorded is none, in the process of the application and away from
// it; what is missing further up is something to mend.
func TestAResourceThatNobodyKnowsIsNotFound(t *testing.T) {
	for name, attach := range map[string]func(*authzhttp.Options, *authztest.World){
		"embedded": func(*authzhttp.Options, *authztest.World) {}, "attached": attached(t),
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, attach)
			s.world.Write("scope docs.book:b parents docs.folder:1\nscope docs.page:known parents docs.book:b\nscope docs.page:adrift parents docs.book:lost")
			forget := []provider.ScopeParents{{Scope: "docs.book:lost"}}
			if _, err := s.world.Provider().SetScopeParents(context.WithoutCancel(t.Context()), forget, authz.AdminProvenance("test")); err != nil {
				t.Fatal(err)
			}
			for path, want := range map[string]int{"/pages/known": 200, "/pages/nosuch": 404, "/pages/adrift": 503} {
				before := len(s.log.String())
				status, _, body := s.ask("GET", path, "ann")
				log := s.log.String()[before:]
				if status != want {
					t.Errorf("%s is answered %d %s, want %d", path, status, body, want)
				}
				if strings.Contains(log, "level=ERROR") != (want == 503) || strings.Contains(log, "level=INFO") != (want == 404) {
					t.Errorf("the log tells of %s: %s", path, log)
				}
				if want == 404 && !strings.Contains(log, "scope=docs.page:nosuch") {
					t.Errorf("the log does not say which: %s", log)
				}
			}
		})
	}
}

// An application that answers no ancestors is no reason to say of a page that there is none.
func TestAnApplicationWithoutAncestorsKnowsNoResource(t *testing.T) {
	s := serve(t, func(o *authzhttp.Options, _ *authztest.World) {
		store, err := memory.New(memory.Options{}).Open(t.Context(), "flat")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		app, err := application.New(t.Context(), application.Options{Name: "flat", Catalog: authztest.ParseCatalog(t, catalog), Store: store})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = app.Close() })
		if o.Client, err = client.New(client.Options{Provider: app, Catalog: authztest.ParseCatalog(t, catalog)}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(o.Client.Close)
	})
	if status, _, body := s.ask("GET", "/pages/nosuch", "ann"); status != 503 || !strings.Contains(s.log.String(), "level=ERROR") {
		t.Errorf("answered %d %s, and the log tells %s", status, body, s.log)
	}
}
