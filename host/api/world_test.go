package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/internal/admission"
	"github.com/authzhost/authz/host/internal/scripts"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	secret    = "test-secret-0123456789"
	oldSecret = "old-secret-of-last-month"
)

// worldOptions says what differs from the plain world.
type worldOptions struct {
	catalog      string // JSON; "" is worldCatalog
	orgRoot      *bool
	persist      *bool
	metrics      *application.Metrics
	sod          application.SoD
	scopeParents map[string][]string // nil: what the store records
	noEvaluator  bool
	noStorage    bool
	without      []string // storage methods
	hashChain    bool
	auditOptIn   bool
	onAuthority  api.AuthorityHook
	bodyLimit    int64
	socketLimit  int64 // of every body on the socket; 0: small ones
	limiter      *admission.Limiter
	decorate     func(api.Backend) api.Backend
}

const worldCatalog = `{"namespaces":["docs"],"includeAuthzInternal":false,
	"scopeTypes":{"docs.folder":{"parent":"docs.folder"},"docs.doc":{"parent":"docs.folder"}},
	"permissions":{"docs.files.read":{"scopes":["docs.folder","docs.doc"]},"docs.files.delete":true,
	"docs.pay.approve":{"requiresCondition":true}}}`

// world is a real application over the memory driver, served over real HTTP.
type world struct {
	t       testing.TB
	app     *application.Application
	store   storage.Store
	client  *client.Client
	server  *httptest.Server
	handler http.Handler
	clock   atomic.Int64
	ids     atomic.Int64
}

// evaluator asks the client, as the host does.
type evaluator struct{ *client.Client }

func (e evaluator) Check(ctx context.Context, p authz.Principal, keys []string, scope string, fresh bool) (bool, error) {
	return e.Client.Check(ctx, p, client.Gate{Keys: keys, Scope: scope, Fresh: fresh})
}

func (e evaluator) Explain(ctx context.Context, q *provider.Explain) (access.Explained, error) {
	told, err := e.Client.Explain(ctx, q.Principal, q.Key, q.Scope)
	return access.Explained{Explanation: told}, err
}

func newWorld(t testing.TB, o worldOptions) *world {
	t.Helper()
	w := &world{t: t}
	w.clock.Store(1_700_000_000_000)
	text := o.catalog
	if text == "" {
		text = worldCatalog
	}
	input, err := catalog.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	built, err := catalog.Build(input)
	if err != nil {
		t.Fatal(err)
	}
	driver := memory.New(memory.Options{Clock: w.clock.Load})
	if w.store, err = driver.Open(t.Context(), "docs"); err != nil {
		t.Fatal(err)
	}
	w.store = scripts.Without(t, w.store, o.without)
	ancestry := application.Stored(w.store)
	if o.scopeParents != nil {
		ancestry = application.FromParents(func(_ context.Context, scope string) ([]string, error) {
			return o.scopeParents[scope], nil
		})
	}
	w.app, err = application.New(t.Context(), application.Options{Name: "docs", Catalog: built, Store: w.store,
		Ancestry: ancestry, OrgRoot: o.orgRoot, PersistEvents: o.persist, Metrics: o.metrics, SoD: o.sod, HashChain: o.hashChain, Clock: w.clock.Load,
		IDs: func() string { return fmt.Sprintf("raw%06d", w.ids.Add(1)) }})
	if err != nil {
		t.Fatal(err)
	}
	if w.client, err = client.New(client.Options{Provider: w.app, Catalog: built, Clock: w.clock.Load}); err != nil {
		t.Fatal(err)
	}
	options := api.ProviderOptions{Application: w.app, ApplicationID: "app-1",
		Secrets: func() []string { return []string{secret, oldSecret} }, BodyLimit: o.bodyLimit, Limiter: o.limiter, AuditOptIn: o.auditOptIn}
	if !o.noEvaluator {
		options.Evaluator = evaluator{w.client}
	}
	if !o.noStorage {
		options.Storage = w.app
	}
	options.OnAuthorityChanged = o.onAuthority
	if o.decorate != nil {
		options.Application = o.decorate(w.app)
	}
	handler, err := api.NewProviderHandler(options)
	if err != nil {
		t.Fatal(err)
	}
	w.handler = handler
	w.server = httptest.NewServer(handler)
	w.server.Client().Transport = documented{t, w.server.Client().Transport.(*http.Transport)}
	t.Cleanup(func() {
		w.server.Close()
		w.client.Close()
		for _, end := range []io.Closer{w.app, w.store, driver} {
			if err := end.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return w
}

// answer is a response, read whole.
type answer struct {
	status int
	header http.Header
	body   string
}

func (w *world) post(op, body string) answer {
	w.t.Helper()
	return w.send("POST", "/v1/"+op, body, "Bearer "+secret)
}

// send posts with the Authorization values that are given.
func (w *world) send(method, path, body string, authorization ...string) answer {
	w.t.Helper()
	return send(w.t, w.server.Client(), method, w.server.URL+path, body, authorization...)
}

func send(t testing.TB, c *http.Client, method, url, body string, authorization ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if len(authorization) > 0 {
		req.Header["Authorization"] = authorization
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return answer{resp.StatusCode, resp.Header, string(text)}
}

// decoded is the body as JSON.
func (a answer) decoded(t testing.TB) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("the answer is no JSON object: %q", a.body)
	}
	return v
}

// mustOK fails the test unless the operation succeeded.
func (w *world) mustOK(op, body string) map[string]any {
	w.t.Helper()
	a := w.post(op, body)
	if a.status != http.StatusOK {
		w.t.Fatalf("%s %s: %d %s", op, body, a.status, a.body)
	}
	return a.decoded(w.t)
}

// expectError compares status, name and code, and what the message holds.
func (a answer) expectError(t *testing.T, status int, name, code, message string) {
	t.Helper()
	fault, _ := a.decoded(t)["error"].(map[string]any)
	text, _ := fault["message"].(string)
	gotCode, _ := fault["code"].(string)
	if a.status != status || fault["name"] != name || gotCode != code || !strings.Contains(text, message) {
		t.Errorf("answered %d %s\nwant %d %s %s %q", a.status, a.body, status, name, code, message)
	}
	if a.header.Get("Content-Type") != "application/json" || a.header.Get("Cache-Control") != "no-store" || a.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers %v", a.header)
	}
}

func (a answer) expectValidation(t *testing.T, message string) {
	t.Helper()
	a.expectError(t, http.StatusUnprocessableEntity, "ProviderWriteRejectedError", "validation", message)
}

// text is a value as JSON.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// state is everything in the store.
func (w *world) state() any { return scripts.Plain(w.t, scripts.Stored(w.t, w.store)) }
