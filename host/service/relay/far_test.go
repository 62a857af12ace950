package relay_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/relay"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
)

const farSecret = "authz_prv_of-the-test-0123456789"

var root = authz.AdminProvenance("root")

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newApplication is a real application over a store of its own.
func newApplication(t testing.TB) *application.Application {
	t.Helper()
	in, err := catalog.ParseJSON([]byte(`{"namespaces":["docs"],"scopeTypes":{"docs.doc":{}},
		"permissions":{"docs.files.read":{"scopes":["docs.doc"]},"docs.admin.read":true}}`))
	must(t, err)
	c, err := catalog.Build(in)
	must(t, err)
	driver := memory.New(memory.Options{})
	t.Cleanup(func() { _ = driver.Close() })
	store, err := driver.Open(context.Background(), "docs")
	must(t, err)
	app, err := application.New(context.Background(), application.Options{Name: "docs", Catalog: c, Store: store})
	must(t, err)
	t.Cleanup(func() { must(t, app.Close()) })
	return app
}

// served is the provider API of a real application.
func served(t testing.TB, app *application.Application) http.Handler {
	t.Helper()
	h, err := api.NewProviderHandler(api.ProviderOptions{Application: app, ApplicationID: "docs", Secrets: func() []string { return []string{farSecret} }})
	must(t, err)
	return h
}

// clock is the relay's, set by hand.
type clock struct{ at atomic.Int64 }

func (c *clock) now() int64 { return c.at.Load() }

func newRelay(t testing.TB, o relay.Options) *relay.Relay {
	t.Helper()
	o.AllowLoopback = true
	if o.Orgs == nil {
		o.Orgs = func(context.Context) (int, error) { return 1, nil }
	}
	r, err := relay.New(o)
	must(t, err)
	t.Cleanup(r.Close)
	return r
}

func target(base string) relay.Target {
	return relay.Target{Org: "acme", Application: "docs", URL: base + "/authz", Secret: farSecret}
}

const pong = `{"api":1,"application":"docs","orgRoot":true,"hasEpoch":true,"auditOptIn":false}`

// named answers pings as the application that the target names, and everything else
// by the handler.
func named(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/v1/ping") {
			_, _ = w.Write([]byte(pong))
			return
		}
		h.ServeHTTP(w, r)
	})
}

// asking is an application served by the handler, as a fresh relay asks it.
func asking(t testing.TB, h http.Handler) relay.Linked {
	t.Helper()
	server := httptest.NewServer(named(h))
	t.Cleanup(server.Close)
	return newRelay(t, relay.Options{}).For(target(server.URL))
}

// raw serves a connection by hand, for what no HTTP server would say.
func raw(t testing.TB, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); serve(c) }()
		}
	}()
	return "http://" + l.Addr().String()
}

// said is an error as the API would answer it.
func said(t testing.TB, err error) string {
	t.Helper()
	if err == nil {
		return "ok"
	}
	var e *fault.Error
	if !errors.As(err, &e) {
		t.Fatalf("not an error of the API: %v", err)
	}
	text := e.Name
	if e.Code != "" {
		text += " " + e.Code
	}
	if outcome := e.Fields["outcome"]; outcome != nil {
		text += fmt.Sprintf(" outcome=%v", outcome)
	}
	if strings.Contains(fmt.Sprint(e.Message, e.Fields), farSecret) {
		t.Fatalf("the secret is in the answer: %v %v", e.Message, e.Fields)
	}
	return text
}

// The three shapes of a call: a read, a list, a write.
func read(a relay.Backend) error {
	_, err := a.CountGrants(context.Background(), provider.GrantQuery{})
	return err
}

func listing(a relay.Backend) error {
	for _, err := range a.ListGrants(context.Background(), provider.GrantQuery{}) {
		if err != nil {
			return err
		}
	}
	return nil
}

func write(a relay.Backend) error {
	_, err := a.CreateGrant(context.Background(), provider.GrantInput{Subject: "user:u", Pattern: "docs.admin.read"}, root)
	return err
}
