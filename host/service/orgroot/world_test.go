package orgroot_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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
	"github.com/authzhost/authz/host/service/orgroot"
	"github.com/authzhost/authz/host/service/registry"
	"github.com/authzhost/authz/host/service/relay"
	"github.com/authzhost/authz/host/service/secret"
	"github.com/authzhost/authz/internal/lacking"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

const bootstrap = "the-bootstrap-secret-of-this-test-0123"

var ctx = context.Background()

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openStore(t testing.TB, partition string) storage.Store {
	t.Helper()
	driver := memory.New(memory.Options{})
	t.Cleanup(func() { _ = driver.Close() })
	store, err := driver.Open(ctx, partition)
	must(t, err)
	return store
}

// world is a hosted service over real account data, whose org "acme" has the owner
// "olga" and two linked applications: docs, its root, and billing. far, when set,
// answers in the place of docs.
type world struct {
	service *service.Service
	root    *orgroot.Root
	catalog *registry.Registry
	docs    *application.Application
	billing *application.Application
	far     atomic.Pointer[http.HandlerFunc]
	down    atomic.Bool // billing answers nothing
	older   atomic.Bool // billing knows no searches of grants, no limit of details and no subjects
	plain   atomic.Bool // docs has a storage that knows no subjects of entries
}

// patience is longer than any answer takes on a busy machine.
const patience = 20 * time.Second

func newWorld(t testing.TB) *world { return newWorldWaiting(t, patience) }

// newWorldWaiting waits so long for an application.
func newWorldWaiting(t testing.TB, call time.Duration) *world {
	t.Helper()
	w := &world{}
	clock := func() int64 { return time.Now().UnixMilli() }
	accounts := account.New(openStore(t, account.Partition), clock)
	keys, err := secret.NewKeys([][]byte{make([]byte, 32)})
	must(t, err)
	r, err := relay.New(relay.Options{AllowLoopback: true, Orgs: func(context.Context) (int, error) { return 1, nil },
		Times: relay.Times{Connect: patience, Call: call, Probe: call}})
	must(t, err)
	t.Cleanup(r.Close)
	meters := billing.New(billing.Options{Store: accounts})
	entries := applications.New(applications.Options{Store: accounts, Keys: keys, Relay: r, Meters: meters})
	w.catalog = registry.New(registry.Options{Store: accounts, Applications: entries, Meters: meters})
	w.root = orgroot.New(entries, clock)
	t.Cleanup(w.root.Close)
	w.service, err = service.New(service.Options{Accounts: accounts, Keys: keys, Clock: clock,
		Bootstrap: service.Bootstrap{UserID: "olga", Secret: bootstrap}, Root: w.root, Applications: entries, Meters: meters})
	must(t, err)
	t.Cleanup(w.service.Close)
	w.root.Bind(w.service)
	in, err := w.service.SignInBootstrap(ctx, service.BootstrapProof{Proved: service.Proved{UserID: "olga", Address: "127.0.0.1"}, Secret: bootstrap, Direct: true})
	must(t, err)
	_, _, err = w.service.CreateOrg(ctx, service.Caller{Kind: service.CallerSession, UserID: "olga", CredentialID: in.Session.ID}, service.OrgInput{ID: new("acme"), Name: "Acme", OwnerUserID: "olga"})
	must(t, err)
	for _, name := range []string{"docs", "billing"} {
		store := openStore(t, name)
		app := newApplication(t, name, store)
		_, err := entries.Register(ctx, "olga", "acme", applications.Registration{ID: name, Name: name, Namespaces: []string{name}})
		must(t, err)
		var token atomic.Pointer[string]
		secrets := func() []string {
			if token.Load() == nil {
				return []string{"not-linked-yet-0123456789"}
			}
			return []string{*token.Load()}
		}
		h, err := api.NewProviderHandler(api.ProviderOptions{Application: app, ApplicationID: name, Secrets: secrets})
		must(t, err)
		plain, err := api.NewProviderHandler(api.ProviderOptions{Application: newApplication(t, name, lacking.Store(store, storage.CapAuditSubjects)), ApplicationID: name, Secrets: secrets})
		must(t, err)
		server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
			if far := w.far.Load(); far != nil && name == "docs" {
				(*far)(rw, req)
				return
			}
			if name == "billing" && w.older.Load() && strings.HasSuffix(req.URL.Path, "/findGrants") {
				req.URL.Path = strings.TrimSuffix(req.URL.Path, "findGrants") + "nope"
				req.RequestURI = req.URL.Path
			}
			if name == "billing" && w.older.Load() && strings.HasSuffix(req.URL.Path, "/listAuditEvents") {
				body, err := io.ReadAll(req.Body)
				must(t, err)
				req.Body = io.NopCloser(bytes.NewReader(bytes.Replace(bytes.Replace(body, []byte(`"detailLimit"`), []byte(`"nobodyKnows"`), 1), []byte(`"subject"`), []byte(`"notEither"`), 1)))
			}
			if name == "billing" && w.down.Load() {
				http.Error(rw, "down", http.StatusBadGateway)
				return
			}
			if name == "docs" && w.plain.Load() {
				plain.ServeHTTP(rw, req)
				return
			}
			h.ServeHTTP(rw, req)
		}))
		t.Cleanup(server.Close)
		link, err := entries.Link(ctx, "olga", "acme", name, server.URL)
		must(t, err)
		token.Store(link.ProviderSecret)
		if name == "docs" {
			w.docs = app
		} else {
			w.billing = app
		}
	}
	return w
}

func newApplication(t testing.TB, name string, store storage.Store) *application.Application {
	t.Helper()
	in, err := catalog.ParseJSON(fmt.Appendf(nil, `{"namespaces":[%[1]q],"scopeTypes":{"%[1]s.doc":{}},
		"permissions":{"%[1]s.files.read":{"scopes":["%[1]s.doc"]},"%[1]s.admin.read":true}}`, name))
	must(t, err)
	c, err := catalog.Build(in)
	must(t, err)
	app, err := application.New(ctx, application.Options{Name: name, Catalog: c, Store: store})
	must(t, err)
	t.Cleanup(func() { must(t, app.Close()) })
	return app
}

// by is the owner past the gate of a seat. docs gives her what she is to hold.
func (w *world) by(t testing.TB, user string) *service.Access {
	t.Helper()
	a, err := w.service.Authorize(ctx, service.Caller{Kind: service.CallerAdmin, Org: "acme", UserID: user}, "acme", "", service.AnySeat, true)
	must(t, err)
	return a
}

func (w *world) give(t testing.TB, subject, pattern string) authz.Grant {
	t.Helper()
	g, err := w.docs.CreateGrant(ctx, provider.GrantInput{Subject: subject, Pattern: pattern}, authz.AdminProvenance("root"))
	must(t, err)
	return g
}

func (w *world) answer(far http.HandlerFunc) { w.far.Store(&far) }

func said(t testing.TB, err error) string {
	t.Helper()
	if err == nil {
		return "ok"
	}
	var e *fault.Error
	if !errors.As(err, &e) {
		t.Fatalf("not an error of the API: %v", err)
	}
	return e.Name + " " + e.Code
}
