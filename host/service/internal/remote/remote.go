// Package remote serves a real application over real HTTP for tests of the hosted
// service: an application of the host over a store of the test's, behind the
// provider API. It is used by tests alone and decides nothing.
package remote

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/storage"
)

// Remote is an application elsewhere.
type Remote struct {
	App *application.Application
	URL string

	secret  atomic.Pointer[string]
	instead atomic.Pointer[http.HandlerFunc]
}

// Options describes one.
type Options struct {
	ID         string
	Catalog    string // JSON
	Driver     storage.Driver
	AuditOptIn bool
	HashChain  bool
	Clock      func() int64 // nil is the wall clock
}

// Serve starts an application; it ends with the test.
func Serve(t testing.TB, o Options) *Remote {
	t.Helper()
	input, err := catalog.ParseJSON([]byte(o.Catalog))
	if err != nil {
		t.Fatal(err)
	}
	built, err := catalog.Build(input)
	if err != nil {
		t.Fatal(err)
	}
	store, err := o.Driver.Open(t.Context(), o.ID)
	if err != nil {
		t.Fatal(err)
	}
	if o.Clock == nil {
		o.Clock = func() int64 { return time.Now().UnixMilli() }
	}
	r := &Remote{}
	r.SetSecret("none-was-given-yet")
	r.App, err = application.New(t.Context(), application.Options{Name: o.ID, Catalog: built, Store: store,
		Ancestry: application.Stored(store), Clock: o.Clock, HashChain: o.HashChain})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := api.NewProviderHandler(api.ProviderOptions{Application: r.App, ApplicationID: o.ID, AuditOptIn: o.AuditOptIn,
		Secrets: func() []string { return []string{*r.secret.Load()} }})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if instead := r.instead.Load(); instead != nil {
			(*instead)(w, q)
			return
		}
		handler.ServeHTTP(w, q)
	}))
	r.URL = server.URL
	t.Cleanup(func() {
		server.Close()
		if err := r.App.Close(); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// SetSecret is what the application's operator does with a provider secret.
func (r *Remote) SetSecret(secret string) { r.secret.Store(&secret) }

// Instead answers every request by h, nil by the application again.
func (r *Remote) Instead(h http.HandlerFunc) {
	if h == nil {
		r.instead.Store(nil)
		return
	}
	r.instead.Store(&h)
}
