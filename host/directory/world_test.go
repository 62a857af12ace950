package directory_test

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/directory"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	sdk "github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// people is an importer that tells what tell says, a complete reading of these
// people unless told otherwise.
type people struct {
	mu       sync.Mutex
	ids      []string
	tell     func(ctx context.Context, r sdk.Request, yield func(sdk.Entry, error) bool)
	requests []sdk.Request
	readings atomic.Int64
}

func (p *people) Info() sdk.ImporterInfo {
	return sdk.ImporterInfo{Name: "people", Capabilities: sdk.ImporterCapabilities()}
}
func (p *people) Close() error { return nil }

func (p *people) Import(ctx context.Context, r sdk.Request) iter.Seq2[sdk.Entry, error] {
	return func(yield func(sdk.Entry, error) bool) {
		p.mu.Lock()
		p.requests = append(p.requests, r)
		ids, tell := p.ids, p.tell
		p.mu.Unlock()
		p.readings.Add(1)
		if tell != nil {
			tell(ctx, r, yield)
			return
		}
		if !yield(sdk.Begin{Datasets: []sdk.ImporterCapability{sdk.CapUsers}, Expected: len(ids)}, nil) {
			return
		}
		for _, id := range ids {
			if !yield(sdk.User{UserID: id}, nil) {
				return
			}
		}
		yield(sdk.End{Cursor: fmt.Sprintf("after %d", p.readings.Load())}, nil)
	}
}

func (p *people) says(ids ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids, p.tell = ids, nil
}

func (p *people) does(tell func(ctx context.Context, r sdk.Request, yield func(sdk.Entry, error) bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tell = tell
}

func (p *people) asked() (cursors []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.requests {
		cursors = append(cursors, r.Cursor)
	}
	return cursors
}

// world is an application over a memory store, and an importer.
type world struct {
	t        *testing.T
	store    storage.Store
	app      *application.Application
	importer *people
}

func newWorld(t *testing.T) *world {
	t.Helper()
	driver := memory.New(memory.Options{})
	t.Cleanup(func() { _ = driver.Close() })
	store, err := driver.Open(t.Context(), "test")
	must(t, err)
	vocabulary, err := catalog.Build(catalog.Input{Namespaces: []string{"docs"}})
	must(t, err)
	app, err := application.New(t.Context(), application.Options{Catalog: vocabulary, Store: store})
	must(t, err)
	t.Cleanup(func() { must(t, app.Close()) })
	return &world{t: t, store: store, app: app, importer: &people{}}
}

func (w *world) open(change ...func(*directory.Options)) *directory.Directory {
	w.t.Helper()
	o := directory.Options{Name: "staff", ApplicationName: "docs", Source: "hr", ImporterName: "people", MaxDeactivations: 0.1, Timeout: 20 * time.Second,
		Importer: w.importer, Store: w.store, Application: func() directory.Target { return w.app }, Host: "h1"}
	for _, c := range change {
		c(&o)
	}
	d := directory.Open(w.t.Context(), o)
	w.t.Cleanup(func() { must(w.t, d.Close(context.Background())) })
	return d
}

func authoritative(o *directory.Options) { o.Authoritative = true }

func (w *world) users() map[string]bool {
	w.t.Helper()
	found := map[string]bool{}
	for u, err := range w.store.ListUsers(context.Background(), storage.UserFilter{}, storage.Page{}) {
		must(w.t, err)
		found[u.UserID] = u.Active
	}
	return found
}

func (w *world) audited() (n int) {
	for _, err := range w.app.ListAuditEvents(context.Background(), provider.AuditQuery{}) {
		must(w.t, err)
		n++
	}
	return n
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}

func numbered(n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("p%04d", i))
	}
	return ids
}

func code(err error) authz.Code { return authz.CodeOf(err) }
