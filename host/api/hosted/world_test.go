package hosted

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/billing"
	"github.com/authzhost/authz/host/service/changes"
	"github.com/authzhost/authz/host/service/federation"
	"github.com/authzhost/authz/host/service/hostedroot"
	"github.com/authzhost/authz/host/service/orgroot"
	"github.com/authzhost/authz/host/service/registry"
	"github.com/authzhost/authz/host/service/relay"
	"github.com/authzhost/authz/host/service/retention"
	"github.com/authzhost/authz/internal/streamtest"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	testUser   = "u_root"
	testSecret = "a-bootstrap-secret-of-more-than-32-characters"
)

// world is the whole API over real parts: account data in the memory driver, a
// linked application behind its provider API over TLS, the API over real HTTP.
type world struct {
	t        *testing.T
	clock    atomic.Int64
	accounts *account.Store
	app      *application.Application
	far      *httptest.Server
	farURL   string
	publish  string // the body that publishes docs' catalog
	farToken atomic.Pointer[string]
	core     *service.Service
	options  Options
	api      *API
	server   *httptest.Server
	logs     bytes.Buffer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t}
	w.clock.Store(1_800_000_000_000)
	roots := w.serveFar()
	w.server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.api.ServeHTTP(rw, r) }))
	w.server.Config.MaxHeaderBytes = 64 << 10
	w.server.Start()
	t.Cleanup(w.server.Close)

	records := w.store(account.Partition)
	w.accounts = account.New(records, w.clock.Load)
	meters := billing.New(billing.Options{Store: w.accounts, Standing: map[string]billing.Count{
		billing.AdminSeats:         w.accounts.CountSeats,
		billing.LinkedApplications: applications.Count(w.accounts, applications.Linked),
	}})
	far, err := relay.New(relay.Options{AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, RootCAs: roots, Clock: w.clock.Load})
	w.must(err)
	t.Cleanup(far.Close)
	var catalogs *registry.Registry
	orgs := memory.New(memory.Options{Clock: w.clock.Load})
	t.Cleanup(func() { _ = orgs.Close() })
	hostedRoots := hostedroot.New(hostedroot.Options{Clock: w.clock.Load,
		Open: func(ctx context.Context, partition string) (hostedroot.Store, error) {
			s, err := orgs.Open(ctx, partition)
			return reopened{s}, err
		},
		Published: func(ctx context.Context, org, pattern string) (bool, error) { return catalogs.Knows(ctx, org, pattern) }})
	t.Cleanup(func() { w.must(hostedRoots.Close()) })
	entries := applications.New(applications.Options{Store: w.accounts, Keys: testKeys(t), Relay: far, Meters: meters,
		Hosted: func(ctx context.Context, org string) (relay.Linked, error) {
			return hostedRoots.Link(ctx, org)
		}})
	catalogs = registry.New(registry.Options{Store: w.accounts, Applications: entries, Meters: meters})
	root := orgroot.New(entries, w.clock.Load)
	t.Cleanup(root.Close)
	log := hclog.New(&hclog.LoggerOptions{Output: &w.logs, Level: hclog.Debug})
	w.core, err = service.New(service.Options{Accounts: w.accounts, Keys: testKeys(t), Clock: w.clock.Load, Logger: log,
		Bootstrap: service.Bootstrap{UserID: testUser, Secret: testSecret}, RefusalTime: time.Millisecond, Root: root, Applications: entries, Meters: meters})
	w.must(err)
	t.Cleanup(w.core.Close)
	root.Bind(w.core)
	moves := federation.New(federation.Options{Store: w.accounts, Applications: entries, Roots: hostedRoots, Meters: meters, Account: w.core, Logger: log})
	t.Cleanup(moves.Close)
	watcher := changes.New(LookAt(w.core, root), 20*time.Millisecond)
	t.Cleanup(watcher.Close)
	w.options = Options{PublicURL: w.server.URL, Account: w.accounts, Keys: testKeys(t), Clock: w.clock.Load, Logger: log, Services: Services{
		Core: w.core, Applications: entries, Meters: meters, Root: root, Registry: catalogs,
		Retention:  retention.New(retention.Options{Store: w.accounts, Applications: entries, Meters: meters, Logger: log}),
		Federation: moves, Changes: watcher, Host: testHost{},
	}}
	w.api, err = New(w.options)
	w.must(err)
	return w
}

type reopened struct{ storage.Store }

func (reopened) Reopen(context.Context) error { return nil }

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// serveFar starts the application docs, which is its own org root, with its
// provider API over TLS; the pool vouches for it.
func (w *world) serveFar() *x509.CertPool {
	w.t.Helper()
	in, err := catalog.ParseJSON([]byte(`{"namespaces":["docs"],"scopeTypes":{"docs.doc":{}},
		"permissions":{"docs.files.read":{"scopes":["docs.doc"]},"docs.admin.read":true}}`))
	w.must(err)
	built, err := catalog.Build(in)
	w.must(err)
	document, err := built.Document()
	w.must(err)
	w.publish = `{"document":` + string(document) + `}`
	records := w.store("docs")
	w.app, err = application.New(context.Background(), application.Options{Name: "docs", Catalog: built, Store: records, Clock: w.clock.Load,
		Ancestry: application.Stored(records), HashChain: true, Metrics: &application.Metrics{}})
	w.must(err)
	w.t.Cleanup(func() { _ = w.app.Close() })
	_, err = w.app.PublishCatalog(context.Background(), document, authz.AdminProvenance("setup"))
	w.must(err)
	w.farToken.Store(new("not-linked-yet-0123456789"))
	handler, err := api.NewProviderHandler(api.ProviderOptions{Application: w.app, ApplicationID: "docs", AuditOptIn: true, Storage: w.app,
		OnAuthorityChanged: func(context.Context, bool) error { return nil }, Secrets: func() []string { return []string{*w.farToken.Load()} }})
	w.must(err)
	server := httptest.NewTLSServer(handler)
	w.t.Cleanup(server.Close)
	w.far, w.farURL = server, server.URL
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return roots
}

// store opens a partition of a memory driver of its own.
func (w *world) store(partition string) storage.Store {
	w.t.Helper()
	driver := memory.New(memory.Options{Clock: w.clock.Load})
	w.t.Cleanup(func() { _ = driver.Close() })
	store, err := driver.Open(context.Background(), partition)
	w.must(err)
	return store
}

// caller is one credential.
type caller struct {
	w      *world
	cookie string
	csrf   string
	bearer string
	header http.Header
}

// reply is an answer, read.
type reply struct {
	status int
	header http.Header
	raw    []byte
	body   map[string]any
}

// name and code of an error.
func (r reply) code() string {
	e, _ := r.body["error"].(map[string]any)
	if code, ok := e["code"].(string); ok {
		return code
	}
	name, _ := e["name"].(string)
	return name
}

func (r reply) at(path ...string) any {
	var v any = r.body
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

func (r reply) text(path ...string) string {
	s, _ := r.at(path...).(string)
	return s
}

func (c caller) with(name string, values ...string) caller {
	c.header = c.header.Clone()
	if c.header == nil {
		c.header = http.Header{}
	}
	c.header[name] = values
	return c
}

func (c caller) request(method, path, body string) *http.Request {
	c.w.t.Helper()
	r, err := http.NewRequest(method, c.w.server.URL+base+path, strings.NewReader(body))
	c.w.must(err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.cookie != "" {
		r.Header.Set("Cookie", "authz_session="+c.cookie)
		r.Header.Set("X-Authz-Csrf", c.csrf)
		r.Header.Set("Origin", c.w.server.URL)
	}
	if c.bearer != "" {
		r.Header.Set("Authorization", "Bearer "+c.bearer)
	}
	for name, values := range c.header {
		r.Header[name] = values
	}
	return r
}

func (c caller) call(method, path, body string) reply {
	c.w.t.Helper()
	return c.w.do(c.request(method, path, body))
}

func (w *world) do(r *http.Request) reply {
	w.t.Helper()
	var sent []byte
	if r.GetBody != nil {
		body, err := r.GetBody()
		w.must(err)
		sent, err = io.ReadAll(body)
		w.must(err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	answer, err := transport.RoundTrip(r)
	w.must(err)
	defer answer.Body.Close()
	out := reply{status: answer.StatusCode, header: answer.Header}
	out.raw, err = streamtest.Body(answer)
	w.must(err)
	_ = json.Unmarshal(out.raw, &out.body) // 204 and streams are none
	if err := abides(r, sent, out.status, out.header, out.raw); err != nil {
		w.t.Errorf("%s %s %.300s\nanswered %d %.500s\nis not what the description says: %.1500v", r.Method, r.URL.Path, sent, out.status, out.raw, err)
	}
	return out
}

// signIn is a session of the bootstrap user; org "" is of none.
func (w *world) signIn(org string) caller {
	w.t.Helper()
	body := `{"userId":"` + testUser + `","proof":{"kind":"bootstrap","secret":"` + testSecret + `"}}`
	if org != "" {
		body = `{"org":"` + org + `",` + body[1:]
	}
	r := caller{w: w}.with("Origin", w.server.URL).call("POST", "/auth/sign-in", body)
	if r.status != 200 {
		w.t.Fatalf("sign-in: %d %s", r.status, r.raw)
	}
	cookie := (&http.Response{Header: r.header}).Cookies()[0]
	return caller{w: w, cookie: cookie.Value, csrf: r.text("csrfToken")}
}

func (r reply) want(t *testing.T, status int, code string) reply {
	t.Helper()
	if r.status != status || r.code() != code {
		t.Fatalf("answered %d %s, want %d %s", r.status, r.raw, status, code)
	}
	return r
}

// acme makes the org acme with its owner, and links docs, where the owner may
// administer everything.
func (w *world) acme() caller {
	w.t.Helper()
	w.signIn("").call("POST", "/orgs", `{"id":"acme","name":"Acme","ownerUserId":"`+testUser+`"}`).want(w.t, 201, "")
	owner := w.signIn("acme")
	owner.call("POST", "/orgs/acme/applications", `{"id":"docs","name":"Docs","namespaces":["docs"]}`).want(w.t, 201, "")
	link := owner.call("POST", "/orgs/acme/applications/docs/link", `{"relayUrl":"`+w.farURL+`"}`).want(w.t, 200, "")
	w.farToken.Store(new(link.text("providerSecret")))
	w.grant("user:" + testUser)
	return owner
}

func (w *world) grant(subject string) {
	w.t.Helper()
	_, err := w.app.CreateGrant(context.Background(), provider.GrantInput{Subject: subject, Pattern: "authz_internal.*"}, authz.AdminProvenance("setup"))
	w.must(err)
}

// signInAs is a session of any user with a seat, as OpenID Connect would prove it.
func (w *world) signInAs(user string) caller {
	w.t.Helper()
	in, err := w.core.SignIn(context.Background(), service.Proved{Org: "acme", UserID: user, Method: service.MethodOIDC})
	w.must(err)
	return caller{w: w, cookie: in.Token, csrf: in.CSRFToken}
}

// key makes an API key and is its caller.
func (c caller) key(body string) caller {
	c.w.t.Helper()
	r := c.call("POST", "/orgs/acme/api-keys", body).want(c.w.t, 201, "")
	return caller{w: c.w, bearer: r.text("secret")}
}
