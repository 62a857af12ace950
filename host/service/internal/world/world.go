// Package world is account data with the applications of an org for tests of the rooms
// that stand on them. It is used by tests alone and decides nothing.
package world

import (
	"bytes"
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/billing"
	"github.com/authzhost/authz/host/service/internal/remote"
	"github.com/authzhost/authz/host/service/relay"
	"github.com/authzhost/authz/host/service/secret"
	"github.com/authzhost/authz/sdk/storage"
)

// World is account data over a driver, with the real relay.
type World struct {
	T       *testing.T
	Driver  storage.Driver
	Store   *account.Store
	Clock   atomic.Int64
	Entries *applications.Entries
	Meters  *billing.Meters
}

// New makes a world with these orgs; it ends with the test.
func New(t *testing.T, driver storage.Driver, orgs ...string) *World {
	t.Helper()
	w := &World{T: t, Driver: driver}
	w.Clock.Store(time.Now().UnixMilli())
	records, err := driver.Open(t.Context(), account.Partition)
	w.Must(err)
	w.Store = account.New(records, w.Clock.Load)
	relay, err := relay.New(relay.Options{AllowLoopback: true, Orgs: func(context.Context) (int, error) { return 1, nil }})
	w.Must(err)
	t.Cleanup(relay.Close)
	keys, err := secret.NewKeys([][]byte{bytes.Repeat([]byte{1}, secret.KeyLength)})
	w.Must(err)
	w.Meters = billing.New(billing.Options{Store: w.Store})
	w.Entries = applications.New(applications.Options{Store: w.Store, Keys: keys, Relay: relay, Meters: w.Meters})
	for _, org := range orgs {
		tx := w.Store.Begin(t.Context())
		account.Orgs.Put(tx, org, account.OrgID, account.Org{ID: org, Mode: account.ModeUnlinked, Etag: account.FirstEtag}, 0)
		w.Must(tx.Commit())
	}
	return w
}

// Must ends the test on an error.
func (w *World) Must(err error) {
	w.T.Helper()
	if err != nil {
		w.T.Fatal(err)
	}
}

// Register registers an application of acme.
func (w *World) Register(id string, namespaces ...string) {
	w.T.Helper()
	_, err := w.Entries.Register(w.T.Context(), "u_1", "acme", applications.Registration{ID: id, Name: id, Namespaces: namespaces})
	w.Must(err)
}

// Serve serves a real application over the world's driver and links the registered one
// to it.
func (w *World) Serve(o remote.Options) *remote.Remote {
	w.T.Helper()
	o.Driver = w.Driver
	r := remote.Serve(w.T, o)
	made, err := w.Entries.Link(w.T.Context(), "u_1", "acme", o.ID, r.URL)
	w.Must(err)
	r.SetSecret(*made.ProviderSecret)
	return r
}
