package applications_test

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
	"github.com/authzhost/authz/host/service/relay"
	"github.com/authzhost/authz/host/service/secret"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/storage"
)

const docsCatalog = `{"namespaces":["docs"],"permissions":{"docs.files.read":true}}`

// world is one org over the memory driver, with the real relay.
type world struct {
	t      *testing.T
	driver storage.Driver
	store  *account.Store
	clock  atomic.Int64
	relay  *relay.Relay
	meters *billing.Meters
	*applications.Entries
}

func keys(t *testing.T, fill ...byte) *secret.Keys {
	t.Helper()
	raw := make([][]byte, len(fill))
	for i, b := range fill {
		raw[i] = bytes.Repeat([]byte{b}, secret.KeyLength)
	}
	k, err := secret.NewKeys(raw)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, driver: memory.New(memory.Options{})}
	w.clock.Store(time.Now().UnixMilli())
	records, err := w.driver.Open(t.Context(), account.Partition)
	if err != nil {
		t.Fatal(err)
	}
	w.store = account.New(records, func() int64 { return w.clock.Add(1) })
	w.relay, err = relay.New(relay.Options{AllowLoopback: true, Orgs: func(context.Context) (int, error) { return 1, nil },
		Local: func(org, name string) (relay.Backend, bool) {
			return nil, org == "acme" && (name == "docs" || name == "mail")
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.relay.Close)
	w.meters = billing.New(billing.Options{Store: w.store, Standing: map[string]billing.Count{
		billing.LinkedApplications: applications.Count(w.store, applications.Linked)}})
	w.Entries = w.with(keys(t, 1))
	for _, org := range []string{"acme", "other"} {
		tx := w.store.Begin(t.Context())
		account.Orgs.Put(tx, org, account.OrgID, account.Org{ID: org, Mode: account.ModeUnlinked, Etag: account.FirstEtag}, 0)
		w.must(tx.Commit())
	}
	return w
}

// with is another host's view of the same account data.
func (w *world) with(k *secret.Keys) *applications.Entries {
	return applications.New(applications.Options{Store: w.store, Keys: k, Relay: w.relay, Meters: w.meters})
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) register(id string, namespaces ...string) applications.Application {
	w.t.Helper()
	a, err := w.Register(w.t.Context(), "u_1", "acme", applications.Registration{ID: id, Name: id, Namespaces: namespaces})
	w.must(err)
	return a
}

func (w *world) serve(o remote.Options) *remote.Remote {
	w.t.Helper()
	o.Driver = w.driver
	return remote.Serve(w.t, o)
}

// link links an application to a remote that then knows its secret.
func (w *world) link(id string, to *remote.Remote) string {
	w.t.Helper()
	made, err := w.Link(w.t.Context(), "u_1", "acme", id, to.URL)
	w.must(err)
	to.SetSecret(*made.ProviderSecret)
	return *made.ProviderSecret
}

func (w *world) org() account.Org {
	w.t.Helper()
	row, _, err := account.Orgs.Get(w.t.Context(), w.store, "acme", account.OrgID)
	w.must(err)
	return row.Value
}

func (w *world) log() []string {
	w.t.Helper()
	var all []string
	for row, err := range account.Log.All(w.t.Context(), w.store, "acme") {
		w.must(err)
		all = append(all, row.Value.Action+" "+row.Value.Target)
	}
	return all
}

func codeOf(err error) string {
	if f := new(fault.Error); errors.As(err, &f) {
		return f.Code
	}
	return ""
}
