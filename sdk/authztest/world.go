package authztest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/explain"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// World is an application over memory, for the time of one test. Its methods may be called
// concurrently.
type World struct {
	t        testing.TB
	ctx      context.Context
	app      *application.Application
	client   *client.Client
	store    storage.Store
	resolved bool // the test resolves ancestors, and no row records them

	ahead atomic.Int64 // of the wall clock, in milliseconds
	names names
}

// Option changes a world that is being made.
type Option func(*settings)

type settings struct {
	ancestry application.Ancestry
}

// Ancestors has the application's own resolver answer what lies above a scope, nearest
// first, as ancestry of kind callback does in a host. Rows then record no parents.
func Ancestors(resolve func(ctx context.Context, scope string) ([]string, error)) Option {
	return func(s *settings) { s.ancestry = application.AncestryFunc(resolve) }
}

// writer is who wrote the rows of a world.
var writer = authz.AdminProvenance("authztest")

// New makes a world over a catalog, and writes rows as Write does; "" writes none. The end
// of the test ends it.
func New(t testing.TB, c *catalog.Catalog, rows string, options ...Option) *World {
	t.Helper()
	var s settings
	for _, set := range options {
		set(&s)
	}
	w := &World{t: t, ctx: context.WithoutCancel(t.Context()), resolved: s.ancestry != nil}
	var err error
	if w.store, err = memory.New(memory.Options{Clock: w.now}).Open(w.ctx, "authztest"); err != nil {
		t.Fatalf("authztest: %v", err)
	}
	t.Cleanup(func() { _ = w.store.Close() }) // of memory, which cannot be lost
	if s.ancestry == nil {
		s.ancestry = application.Stored(w.store)
	}
	w.app, err = application.New(w.ctx, application.Options{Name: "authztest", Catalog: c, Store: w.store, Ancestry: s.ancestry,
		Clock: w.now, IDs: w.names.next})
	if err != nil {
		t.Fatalf("authztest: %v", err)
	}
	t.Cleanup(func() { _ = w.app.Close() })
	w.client, err = client.New(client.Options{Provider: supply{w.app}, Catalog: c, UnknownScopeTypes: client.ScopeTypeError, Clock: w.now})
	if err != nil {
		t.Fatalf("authztest: %v", err)
	}
	t.Cleanup(w.client.Close)
	w.Write(rows)
	return w
}

// Client answers checks, for the code under test. It takes a scope of an undeclared type
// for the mistake that it is, and so a principal whose id is "user:ann" instead of "ann".
// Where the program has other options, make a client over Provider.
func (w *World) Client() *client.Client { return w.client }

// Provider is the application, for code under test that writes rows too.
func (w *World) Provider() provider.Provider { return w.app }

// Explain says what authz explain would: for handlers that tell developers why.
func (w *World) Explain(ctx context.Context, q *provider.Explain) (Explained, error) {
	return w.checks().Explain(ctx, q)
}

func (w *World) checks() explain.Checks { return explain.Checks{Application: w.app, Client: w.client} }

// Advance lets time pass for the world, so that grants expire.
func (w *World) Advance(by time.Duration) { w.ahead.Add(by.Milliseconds()) }

// CutOff takes the storage away: from now on what needs a row is an outage, which is no
// answer.
func (w *World) CutOff() {
	w.t.Helper()
	if err := w.store.Close(); err != nil {
		w.t.Errorf("authztest: %v", err)
	}
	w.client.Close() // drops what it has cached
}

func (w *World) now() int64 { return time.Now().UnixMilli() + w.ahead.Load() }

// names makes ids that a test can tell: those of rows are named after their kind.
type names struct {
	mu     sync.Mutex
	kind   string // of the row that is being written, "" for none
	counts map[string]int
}

func (n *names) next() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	kind := n.kind
	if n.kind = ""; kind == "" {
		kind = "id"
	}
	if n.counts == nil {
		n.counts = map[string]int{}
	}
	n.counts[kind]++
	return fmt.Sprintf("%s-%d", kind, n.counts[kind])
}

func (n *names) row(kind string) {
	n.mu.Lock()
	n.kind = kind
	n.mu.Unlock()
}

// principal reads who is asked about.
func principal(who string) (authz.Principal, error) {
	if err := bareSubject(who); err != nil {
		return authz.Principal{}, err
	}
	switch kind, id, ok := authz.ParseSubject(who); {
	case ok && kind == authz.SubjectUser:
		return authz.UserPrincipal(id), nil
	case ok && kind == authz.SubjectService:
		return authz.ServicePrincipal(id), nil
	case !strings.Contains(who, ":") && who != "" && who != authz.Everyone:
		return authz.Principal{}, fmt.Errorf("%q is nobody: write user:%s or service:%s", who, who, who)
	}
	return authz.Principal{}, fmt.Errorf("%q is no user and no service: checks ask about user:ID or service:ID", who)
}
