package registry_test

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/billing"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/internal/remote"
	"github.com/authzhost/authz/host/service/registry"
	"github.com/authzhost/authz/host/service/relay"
	"github.com/authzhost/authz/host/service/secret"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/storage"
)

// world is a registry over the memory driver, with real applications.
type world struct {
	t       *testing.T
	driver  storage.Driver
	store   *account.Store
	clock   atomic.Int64
	entries *applications.Entries
	meters  *billing.Meters
	*registry.Registry
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, driver: memory.New(memory.Options{})}
	w.clock.Store(time.Now().UnixMilli())
	records, err := w.driver.Open(t.Context(), account.Partition)
	w.must(err)
	w.store = account.New(records, w.clock.Load)
	relay, err := relay.New(relay.Options{AllowLoopback: true, Orgs: func(context.Context) (int, error) { return 1, nil }})
	w.must(err)
	t.Cleanup(relay.Close)
	keys, err := secret.NewKeys([][]byte{bytes.Repeat([]byte{1}, secret.KeyLength)})
	w.must(err)
	w.meters = billing.New(billing.Options{Store: w.store})
	w.entries = applications.New(applications.Options{Store: w.store, Keys: keys, Relay: relay, Meters: w.meters})
	w.Registry = registry.New(registry.Options{Store: w.store, Applications: w.entries, Meters: w.meters})
	for _, org := range []string{"acme", "other"} {
		tx := w.store.Begin(t.Context())
		account.Orgs.Put(tx, org, account.OrgID, account.Org{ID: org, Mode: account.ModeUnlinked, Etag: account.FirstEtag}, 0)
		w.must(tx.Commit())
	}
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) register(id string, namespaces ...string) {
	w.t.Helper()
	_, err := w.entries.Register(w.t.Context(), "u_1", "acme", applications.Registration{ID: id, Name: id, Namespaces: namespaces})
	w.must(err)
}

func (w *world) serve(id, catalog string) *remote.Remote {
	w.t.Helper()
	r := remote.Serve(w.t, remote.Options{ID: id, Catalog: catalog, Driver: w.driver})
	made, err := w.entries.Link(w.t.Context(), "u_1", "acme", id, r.URL)
	w.must(err)
	r.SetSecret(*made.ProviderSecret)
	return r
}

func (w *world) key(namespace string, document []byte) (registry.Result, error) {
	return w.PublishNamespace(w.t.Context(), "publisher:"+namespace, "acme", namespace, registry.Input{Document: document})
}

func (w *world) published(namespace string, document []byte) registry.Result {
	w.t.Helper()
	r, err := w.key(namespace, document)
	w.must(err)
	return r
}

// document is the document of a catalog of these keys, as applications publish it.
func document(t *testing.T, namespaces []string, keys ...string) []byte {
	t.Helper()
	in := catalog.Input{Namespaces: namespaces}
	for _, key := range keys {
		in.Permissions = append(in.Permissions, catalog.PermissionSet{Leaves: []catalog.Permission{{Key: key}}})
	}
	built, err := catalog.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := built.Document()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func faultOf(err error) *fault.Error {
	if f := new(fault.Error); errors.As(err, &f) {
		return f
	}
	return &fault.Error{}
}

func to[T any](v T) *T { return &v }
