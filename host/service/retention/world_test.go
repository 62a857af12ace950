package retention_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/billing"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/internal/remote"
	"github.com/authzhost/authz/host/service/relay"
	"github.com/authzhost/authz/host/service/retention"
	"github.com/authzhost/authz/host/service/secret"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

type world struct {
	t       *testing.T
	driver  storage.Driver
	store   *account.Store
	clock   atomic.Int64
	entries *applications.Entries
	meters  *billing.Meters
	*retention.Retention
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
	w.Retention = retention.New(retention.Options{Store: w.store, Applications: w.entries, Meters: w.meters})
	tx := w.store.Begin(t.Context())
	account.Orgs.Put(tx, "acme", account.OrgID, account.Org{ID: "acme", Mode: account.ModeUnlinked, Etag: account.FirstEtag}, 0)
	w.must(tx.Commit())
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// serve registers, links and opts in a real application with a chained log.
func (w *world) serve(id string) *remote.Remote {
	w.t.Helper()
	ctx := w.t.Context()
	_, err := w.entries.Register(ctx, "u_1", "acme", applications.Registration{ID: id, Name: id, Namespaces: []string{id}})
	w.must(err)
	r := remote.Serve(w.t, remote.Options{ID: id, Driver: w.driver, AuditOptIn: true, HashChain: true, Clock: w.clock.Load,
		Catalog: fmt.Sprintf(`{"namespaces":[%q],"permissions":{"%s.files.read":true}}`, id, id)})
	made, err := w.entries.Link(ctx, "u_1", "acme", id, r.URL)
	w.must(err)
	r.SetSecret(*made.ProviderSecret)
	_, err = w.entries.SetAuditOptIn(ctx, "u_1", "acme", id, true)
	w.must(err)
	return r
}

// write makes n entries in the log of an application.
func (w *world) write(r *remote.Remote, n int) {
	w.t.Helper()
	for range n {
		w.clock.Add(1)
		_, err := r.App.CreateGrant(w.t.Context(), provider.GrantInput{Subject: "user:u_9", Pattern: "*"}, authz.AdminProvenance("root"))
		w.must(err)
	}
}

func (w *world) ingest(id string) retention.Result {
	w.t.Helper()
	r, err := w.Ingest(w.t.Context(), "u_1", "acme", id)
	w.must(err)
	return r
}

func (w *world) retained(f retention.Filter) []retention.Event {
	w.t.Helper()
	page, _, err := w.Page(w.t.Context(), "acme", f, "", 1<<20)
	w.must(err)
	return page
}

// liar answers as an application would, from entries that a test makes up.
type liar struct {
	mu      sync.Mutex
	entries []authz.AuditEntry
	blunt   bool // answers everything whatever is asked
}

func (l *liar) set(entries ...authz.AuditEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = entries
}

func (l *liar) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/v1/ping" {
		_, _ = w.Write([]byte(`{"api":1,"application":"docs","orgRoot":true,"hasEpoch":false,"auditOptIn":true}`))
		return
	}
	var in struct {
		Filter struct {
			Cursor authz.AuditCursor `json:"cursor"`
			Limit  int               `json:"limit"`
		} `json:"filter"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	l.mu.Lock()
	defer l.mu.Unlock()
	page := []authz.AuditEntry{}
	for _, e := range l.entries {
		if len(page) < in.Filter.Limit && (in.Filter.Cursor.Before(e.Cursor()) || l.blunt) {
			page = append(page, e)
		}
	}
	out, _ := authz.Marshal(map[string]any{"events": page})
	_, _ = w.Write(out)
}

func codeOf(err error) string {
	if f := new(fault.Error); errors.As(err, &f) {
		return f.Code
	}
	return ""
}

func to[T any](v T) *T { return &v }
