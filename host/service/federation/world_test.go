package federation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/billing"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/federation"
	"github.com/authzhost/authz/host/service/hostedroot"
	"github.com/authzhost/authz/host/service/orgroot"
	"github.com/authzhost/authz/host/service/registry"
	"github.com/authzhost/authz/host/service/relay"
	"github.com/authzhost/authz/host/service/secret"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

const bootstrap = "the-bootstrap-secret-of-this-test-0123"

var (
	ctx  = context.Background()
	root = authz.AdminProvenance("root")
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// codeOf is the code of an error of the API, "ok" of none.
func codeOf(err error) string {
	if err == nil {
		return "ok"
	}
	var e *fault.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	return e.Code
}

func wantCode(t testing.TB, err error, code string) {
	t.Helper()
	if got := codeOf(err); got != code {
		t.Fatalf("the answer is %s (%v), not %s", got, err, code)
	}
}

func wantField(t testing.TB, err error, name string, want any) {
	t.Helper()
	var e *fault.Error
	if !errors.As(err, &e) || e.Fields[name] != want {
		t.Errorf("%v has no %s %q", err, name, want)
	}
}

// far is an application elsewhere: a real one, behind the real provider API.
type far struct {
	*application.Application
	name    string
	store   storage.Store
	secret  atomic.Pointer[string]
	between atomic.Pointer[between]
	url     string
}

// between stands between the service and the application: it serves a call, or does not.
type between func(op string, w http.ResponseWriter, r *http.Request, serve http.Handler)

func (f *far) hinder(b between) {
	if b == nil {
		f.between.Store(nil)
		return
	}
	f.between.Store(&b)
}

// world is a hosted service over the memory driver, with the org acme of the owner olga.
type world struct {
	t        testing.TB
	driver   storage.Driver
	accounts *account.Store
	clock    atomic.Int64
	*host
	far     map[string]*far
	settled map[string]authz.Resolution
}

// host is one host of the service: what it builds over the same storage.
type host struct {
	relay    *relay.Relay
	meters   *billing.Meters
	entries  *applications.Entries
	registry *registry.Registry
	roots    *hostedroot.Roots
	root     *orgroot.Root
	service  *service.Service
	moves    *federation.Federation
}

type reopened struct{ storage.Store }

func (reopened) Reopen(context.Context) error { return nil }

func newWorld(t testing.TB, names ...string) *world {
	t.Helper()
	w := &world{t: t, driver: memory.New(memory.Options{}), far: map[string]*far{}}
	t.Cleanup(func() { _ = w.driver.Close() })
	s, err := w.driver.Open(ctx, account.Partition)
	must(t, err)
	w.accounts = account.New(s, w.now)
	w.host = w.newHost(federation.Times{Pause: 5 * time.Millisecond, Verify: 2 * time.Second})
	in, err := w.service.SignInBootstrap(ctx, service.BootstrapProof{Proved: service.Proved{UserID: "olga", Address: "127.0.0.1"}, Secret: bootstrap, Direct: true})
	must(t, err)
	_, _, err = w.service.CreateOrg(ctx, service.Caller{Kind: service.CallerSession, UserID: "olga", CredentialID: in.Session.ID},
		service.OrgInput{ID: new("acme"), Name: "Acme", OwnerUserID: "olga"})
	must(t, err)
	for _, name := range names {
		w.link(name)
	}
	return w
}

func (w *world) now() int64 { return time.Now().UnixMilli() + w.clock.Load() }

// newHost is one more host over the world's storage.
func (w *world) newHost(times federation.Times) *host {
	return w.hostWaiting(times, time.Minute)
}

// hostWaiting waits so long for an application.
func (w *world) hostWaiting(times federation.Times, far time.Duration) *host {
	t := w.t
	t.Helper()
	h := &host{}
	keys, err := secret.NewKeys([][]byte{make([]byte, 32)})
	must(t, err)
	h.relay, err = relay.New(relay.Options{AllowLoopback: true, Orgs: func(context.Context) (int, error) { return 1, nil }, Clock: w.now,
		Times: relay.Times{Connect: far, Call: far, Probe: far, Snapshot: far}})
	must(t, err)
	t.Cleanup(h.relay.Close)
	h.meters = billing.New(billing.Options{Store: w.accounts, Standing: map[string]billing.Count{
		billing.LinkedApplications:    applications.Count(w.accounts, applications.Linked),
		billing.FederatedApplications: applications.Count(w.accounts, applications.Federated),
	}})
	h.roots = hostedroot.New(hostedroot.Options{
		Open: func(ctx context.Context, partition string) (hostedroot.Store, error) {
			s, err := w.driver.Open(ctx, partition)
			return reopened{s}, err
		},
		Published: func(ctx context.Context, org, pattern string) (bool, error) {
			return h.registry.Knows(ctx, org, pattern)
		},
		Clock: w.now,
	})
	t.Cleanup(func() { must(t, h.roots.Close()) })
	h.entries = applications.New(applications.Options{Store: w.accounts, Keys: keys, Relay: h.relay, Meters: h.meters,
		Hosted: func(ctx context.Context, org string) (relay.Linked, error) { return h.roots.Link(ctx, org) }})
	h.registry = registry.New(registry.Options{Store: w.accounts, Applications: h.entries, Meters: h.meters})
	h.root = orgroot.New(h.entries, w.now)
	t.Cleanup(h.root.Close)
	h.service, err = service.New(service.Options{Accounts: w.accounts, Keys: keys, Clock: w.now,
		Bootstrap: service.Bootstrap{UserID: "olga", Secret: bootstrap}, Root: h.root, Applications: h.entries, Meters: h.meters})
	must(t, err)
	t.Cleanup(h.service.Close)
	h.root.Bind(h.service)
	h.moves = federation.New(federation.Options{Store: w.accounts, Applications: h.entries, Roots: h.roots, Meters: h.meters, Account: h.service, Times: times})
	t.Cleanup(h.moves.Close)
	return h
}

// link makes an application, publishes its catalog and links it.
func (w *world) link(name string) *far {
	w.t.Helper()
	f := w.serve(name)
	_, err := w.entries.Register(ctx, "olga", "acme", applications.Registration{ID: name, Name: name, Namespaces: []string{name}})
	must(w.t, err)
	link, err := w.entries.Link(ctx, "olga", "acme", name, f.url)
	must(w.t, err)
	f.secret.Store(link.ProviderSecret)
	document, err := f.Catalog().Document()
	must(w.t, err)
	_, err = w.registry.PublishApplication(ctx, "olga", "acme", name, registry.Input{Document: document})
	must(w.t, err)
	_, err = f.PublishCatalog(ctx, document, root)
	must(w.t, err)
	return f
}

// serve is an application of its own, over its own database.
func (w *world) serve(name string) *far {
	t := w.t
	t.Helper()
	in, err := catalog.ParseJSON(fmt.Appendf(nil, `{"namespaces":[%[1]q],"scopeTypes":{"%[1]s.doc":{}},
		"permissions":{"%[1]s.files.read":{"scopes":["%[1]s.doc"]},"%[1]s.admin.read":true}}`, name))
	must(t, err)
	c, err := catalog.Build(in)
	must(t, err)
	driver := memory.New(memory.Options{})
	f := &far{name: name}
	f.store, err = driver.Open(ctx, name)
	must(t, err)
	f.Application, err = application.New(ctx, application.Options{Name: name, Catalog: c, Store: f.store, Clock: w.now, Ancestry: application.Stored(f.store)})
	must(t, err)
	handler, err := api.NewProviderHandler(api.ProviderOptions{Application: f.Application, ApplicationID: name, Storage: f.Application,
		OnAuthorityChanged: func(context.Context, bool) error { return nil }, // gates follow the record
		Secrets: func() []string {
			if s := f.secret.Load(); s != nil {
				return []string{*s}
			}
			return []string{"not-linked-yet-0123456789"}
		}})
	must(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if b := f.between.Load(); b != nil {
			(*b)(path.Base(r.URL.Path), rw, r, handler)
			return
		}
		handler.ServeHTTP(rw, r)
	}))
	f.url = server.URL
	t.Cleanup(func() {
		server.Close()
		must(t, f.Close())
		_ = driver.Close()
	})
	w.far[name] = f
	return f
}

// by is a user past the gate of a seat, with an admin key.
func (h *host) by(t testing.TB, user string) *service.Access {
	t.Helper()
	a, err := h.service.Authorize(ctx, service.Caller{Kind: service.CallerAdmin, Org: "acme", UserID: user}, "acme", "", service.AnySeat, true)
	must(t, err)
	return a
}

func (w *world) federate(app string, in federation.Input) (*federation.Federated, error) {
	return w.moves.Federate(ctx, w.by(w.t, "olga"), app, in)
}

func (w *world) demote(app string) (*federation.Demoted, error) {
	return w.moves.Demote(ctx, w.by(w.t, "olga"), app, false)
}

func (w *world) app(id string) applications.Application {
	w.t.Helper()
	a, err := w.entries.Get(ctx, "acme", id)
	must(w.t, err)
	return a
}

func (w *world) org() account.Org {
	w.t.Helper()
	o, err := w.entries.Org(ctx, "acme")
	must(w.t, err)
	return o
}

// give grants at *.
func (f *far) give(t testing.TB, subject, pattern string) authz.Grant {
	t.Helper()
	g, err := f.CreateGrant(ctx, provider.GrantInput{Subject: subject, Pattern: pattern}, root)
	must(t, err)
	return g
}

// administered lets olga administer what docs and its successors hold.
func (f *far) administered(t testing.TB) *far {
	t.Helper()
	f.give(t, "user:olga", "authz_internal.*")
	return f
}

// roots are who calls itself the org root: names of applications, "hosted" for the
// service. A root that is frozen is none. A move may flip between the reads of two
// partitions, so what is answered was read twice.
func (w *world) rootsNow() []string {
	w.t.Helper()
	for last := w.rootsRead(); ; {
		again := w.rootsRead()
		if slices.Equal(last, again) {
			return again
		}
		last = again
	}
}

func (w *world) rootsRead() (writers []string) {
	w.t.Helper()
	for _, name := range slices.Sorted(keysOf(w.far)) {
		held, err := application.ReadAuthority(ctx, w.far[name].store)
		must(w.t, err)
		if held.OrgRoot && held.Moving == "" {
			writers = append(writers, name)
		}
	}
	s, err := w.driver.Open(ctx, hostedroot.Partition("acme"))
	must(w.t, err)
	held, err := application.ReadAuthority(ctx, s)
	must(w.t, err)
	if held != nil && held.OrgRoot && held.Moving == "" {
		writers = append(writers, "hosted")
	}
	return writers
}

func keysOf[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// hosted is the dataset of the hosted root.
func (w *world) hosted() provider.OrgSnapshot {
	w.t.Helper()
	s, err := w.driver.Open(ctx, hostedroot.Partition("acme"))
	must(w.t, err)
	o, err := application.ReadOrg(ctx, s)
	must(w.t, err)
	return o
}

// staged counts the pieces that moves left in account data.
func (w *world) staged() (n int) {
	w.t.Helper()
	for row, err := range (account.Collection[json.RawMessage]{Name: "pieces"}).All(ctx, w.accounts, "acme") {
		must(w.t, err)
		if strings.HasPrefix(row.ID, "move-") {
			n++
		}
	}
	return n
}
