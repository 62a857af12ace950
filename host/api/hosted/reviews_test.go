package hosted

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// forged is a store one of whose audit entries somebody changed.
type forged struct {
	storage.Store
	id string
}

func (s *forged) ListAudit(ctx context.Context, f storage.AuditFilter) iter.Seq2[authz.AuditEntry, error] {
	return func(yield func(authz.AuditEntry, error) bool) {
		for e, err := range s.Store.ListAudit(ctx, f) {
			if s.id != "" && e.ID == s.id {
				e.Actor = "somebody"
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// payments is an application that keeps duties apart, linked to acme as "pay": it has more
// users than a page looks at, and two publications. Older says that it knows no reports.
type payments struct {
	app   *application.Application
	store *forged
	older bool
}

func (w *world) payments(owner caller) *payments {
	w.t.Helper()
	in, err := catalog.ParseJSON([]byte(`{"namespaces":["pay"],"permissions":{"pay.bill.create":true,"pay.bill.approve":true,"pay.bill.read":true},
		"constraints":{"sod":[{"id":"pay","description":"four eyes","sets":[["pay.bill.create"],["pay.bill.approve"]]}]}}`))
	w.must(err)
	built, err := catalog.Build(in)
	w.must(err)
	p := &payments{store: &forged{Store: w.store("pay")}}
	p.app, err = application.New(w.t.Context(), application.Options{Name: "pay", Catalog: built, Store: p.store, Clock: w.clock.Load, HashChain: true})
	w.must(err)
	w.t.Cleanup(func() { _ = p.app.Close() })
	by := authz.AdminProvenance("setup")
	for _, keys := range []string{`{"key":"pay.bill.create"}`, `{"key":"pay.bill.create"},{"key":"pay.bill.approve"}`} {
		_, err = p.app.PublishCatalog(w.t.Context(), json.RawMessage(`{"formatVersion":1,"namespace":"pay","namespaces":["pay"],"leaves":[`+keys+`],"groups":[],"scopeTypes":[],"navigation":[]}`), by)
		w.must(err)
	}
	_, err = p.app.CreateRole(w.t.Context(), provider.RoleInput{ID: new("payer"), Name: "P", Patterns: []string{"pay.bill.*"}}, by)
	w.must(err)
	for i := range 230 {
		grant := provider.GrantInput{Subject: fmt.Sprintf("user:u%03d", i), Pattern: "pay.bill.read"}
		switch i % 3 {
		case 0:
			grant.Pattern = "pay.*"
		case 1:
			grant.Pattern, grant.RoleID = "", "payer"
		}
		_, err = p.app.CreateGrant(w.t.Context(), grant, by)
		w.must(err)
	}
	_, err = p.app.CreateGrant(w.t.Context(), provider.GrantInput{Subject: "user:" + testUser, Pattern: "authz_internal.*"}, by)
	w.must(err)
	secret := "not-linked-yet-0123456789"
	handler, err := api.NewProviderHandler(api.ProviderOptions{Application: p.app, ApplicationID: "pay", Storage: p.app,
		OnAuthorityChanged: func(context.Context, bool) error { return nil }, Secrets: func() []string { return []string{secret} }})
	w.must(err)
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if p.older && strings.HasPrefix(r.URL.Path, "/v1/review") {
			r.URL.Path, r.RequestURI = "/v1/unheardOf", "/v1/unheardOf"
		}
		handler.ServeHTTP(rw, r)
	}))
	w.t.Cleanup(server.Close)
	owner.call("POST", "/orgs/acme/applications", `{"id":"pay","name":"Pay","namespaces":["pay"]}`).want(w.t, 201, "")
	secret = owner.call("POST", "/orgs/acme/applications/pay/link", `{"relayUrl":"`+server.URL+`"}`).want(w.t, 200, "").text("providerSecret")
	return p
}

// pages reads a list to its end, and tells how many pages it had.
func (c caller) pages(t *testing.T, path, member string) (rows []any, pages int) {
	t.Helper()
	for cursor := ""; ; pages++ {
		page := c.call("GET", path+cursor, "").want(t, 200, "")
		if len(page.raw) > provider.MaxReviewBytes {
			t.Errorf("%s: a page of %d bytes", path, len(page.raw))
		}
		found, _ := page.at(member).([]any)
		rows = append(rows, found...)
		if page.at("nextCursor") == nil {
			return rows, pages + 1
		}
		cursor = "&cursor=" + page.text("nextCursor")
	}
}

// asJSON is a whole report as the socket writes it.
func asJSON[Row any](t *testing.T, list iter.Seq2[Row, error]) []any {
	t.Helper()
	rows := []any{}
	for row, err := range list {
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, v)
	}
	return rows
}

// The reports of an application and of the org root are those of the socket, page by page.
func TestReportsAreThoseOfTheSocketPageByPage(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	p := w.payments(owner)
	owner.call("PATCH", "/orgs/acme", `{"primaryApplication":"pay"}`).want(t, 200, "")
	drift, err := p.app.ListWildcardDrift(t.Context(), 1)
	w.must(err)
	for path, want := range map[string][]any{
		"sod-violations?limit=50": asJSON(t, p.app.ListSodViolations(t.Context(), nil)), "entitlements?limit=50": asJSON(t, p.app.ExportEntitlements(t.Context(), nil)),
		"wildcard-drift?since=1&limit=20": asJSON(t, drift.Findings),
	} {
		member := "users"
		if strings.HasPrefix(path, "wildcard") {
			member = "findings"
		}
		for _, at := range []string{"org/", "applications/pay/"} {
			w.clock.Add(60_000)
			got, n := owner.pages(t, "/orgs/acme/"+at+path, member)
			if diff := cmp.Diff(want, got); diff != "" || n < 4 {
				t.Errorf("%s%s in %d pages (-socket +pages):\n%s", at, path, n, diff)
			}
		}
	}
	first := owner.call("GET", "/orgs/acme/applications/pay/entitlements?limit=1", "").want(t, 200, "").text("nextCursor")
	owner.call("GET", "/orgs/acme/applications/pay/sod-violations?limit=1&cursor="+first, "").want(t, 400, "invalid_cursor")
	owner.call("GET", "/orgs/acme/org/entitlements?limit=1&cursor="+first, "").want(t, 400, "invalid_cursor")
	owner.call("GET", "/orgs/acme/applications/pay/entitlements?userId=u001&cursor="+first, "").want(t, 400, "invalid_cursor")
	if got := owner.call("GET", "/orgs/acme/applications/pay/entitlements?userId=u001", "").want(t, 200, ""); got.ids("users", "userId") != "u001" || got.at("nextCursor") != nil {
		t.Errorf("of one user: %s", got.raw)
	}
	if got := owner.call("GET", "/orgs/acme/org/sod-violations?userId=u002", "").want(t, 200, ""); got.ids("users", "userId") != "" {
		t.Errorf("of one who breaks nothing: %s", got.raw)
	}
	owner.call("GET", "/orgs/acme/org/entitlements?userId=user:u001", "").want(t, 400, "invalid_request")
	owner.call("GET", "/orgs/acme/org/wildcard-drift?since=3", "").want(t, 404, "not_found")
	owner.call("GET", "/orgs/acme/applications/none/entitlements", "").want(t, 404, "application_not_found")
	p.older = true
	for _, path := range []string{"sod-violations", "entitlements", "wildcard-drift?since=1", "audit/verify"} {
		for _, at := range []string{"org/", "applications/pay/"} {
			if got := owner.call("GET", "/orgs/acme/"+at+path, "").want(t, 502, "application_protocol_error"); got.text("error", "application") != "pay" {
				t.Errorf("of an older application: %s", got.raw)
			}
		}
	}
}

// A chain is verified part by part, goes on from an entry that was kept, and is found
// broken at the entry that was changed.
func TestABrokenChainIsFoundOverTheHostedAPI(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	p := w.payments(owner)
	owner.call("PATCH", "/orgs/acme", `{"primaryApplication":"pay"}`).want(t, 200, "")
	log := asJSON(t, p.app.ListAuditEvents(t.Context(), provider.AuditQuery{}))
	entry := func(i int, name string) any { return log[i].(map[string]any)[name] }
	verify := func(at, query string) (hashed int, end reply) {
		t.Helper()
		w.clock.Add(60_000)
		for cursor := ""; ; {
			end = owner.call("GET", "/orgs/acme/"+at+"audit/verify?"+query+cursor, "").want(t, 200, "")
			n, _ := end.at("hashed").(float64)
			if hashed += int(n); end.at("nextCursor") == nil {
				return hashed, end
			}
			cursor = "&cursor=" + end.text("nextCursor")
		}
	}
	placed := func(i int) string {
		return fmt.Sprintf("at=%.0f&id=%s&hash=%s", entry(i, "at"), url.QueryEscape(entry(i, "id").(string)), entry(i, "hash"))
	}
	for _, at := range []string{"org/", "applications/pay/"} {
		for _, limit := range []string{"", "limit=50"} {
			if n, end := verify(at, limit); n != len(log) || end.at("ok") != true || end.at("last", "hash") != entry(len(log)-1, "hash") {
				t.Errorf("%s %s: %d of %d, %s", at, limit, n, len(log), end.raw)
			}
		}
		if n, end := verify(at, placed(200)+"&limit=7"); n != len(log)-201 || end.at("ok") != true {
			t.Errorf("%s from an entry on: %d, %s", at, n, end.raw)
		}
		owner.call("GET", "/orgs/acme/"+at+"audit/verify?"+strings.Replace(placed(3), "hash=", "hash=00", 1), "").want(t, 404, "not_found")
		owner.call("GET", "/orgs/acme/"+at+"audit/verify?at=1", "").want(t, 400, "invalid_parameter")
	}
	p.store.id = entry(120, "id").(string)
	for _, at := range []string{"org/", "applications/pay/"} {
		for _, limit := range []string{"", "limit=50", placed(20)} {
			n, end := verify(at, limit)
			want := 120
			if strings.HasPrefix(limit, "at=") {
				want -= 21
			}
			if n != want || end.at("ok") != false || end.at("reason") != "hash_mismatch" || end.at("broken", "id") != p.store.id {
				t.Errorf("%s %s: %d, %s", at, limit, n, end.raw)
			}
		}
	}
}

// A hosted root is asked in process: its reports are of its own rows.
func TestReportsOfAHostedRoot(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	w.federate(t, owner)
	owner.call("POST", "/orgs/acme/org/grants", `{"subject":"user:u_7","pattern":"authz_internal.access.*"}`).want(t, 201, "")
	if got := owner.call("GET", "/orgs/acme/org/entitlements?userId=u_7", "").want(t, 200, ""); !strings.Contains(string(got.raw), `"key":"authz_internal.access.read","held":true`) {
		t.Errorf("entitlements: %s", got.raw)
	}
	all, n := owner.pages(t, "/orgs/acme/org/entitlements?limit=1", "users")
	if len(all) != n || n < 2 || !strings.Contains(fmt.Sprint(all), "u_7") {
		t.Errorf("%d users in %d pages: %v", len(all), n, all)
	}
	if got := owner.call("GET", "/orgs/acme/org/sod-violations", "").want(t, 200, ""); got.ids("users", "userId") != "" || got.at("nextCursor") != nil {
		t.Errorf("violations of what nothing keeps apart: %s", got.raw)
	}
	owner.call("GET", "/orgs/acme/org/wildcard-drift?since=1", "").want(t, 404, "not_found")
	owner.call("GET", "/orgs/acme/applications/docs/wildcard-drift?since=1", "").want(t, 200, "")
	entries, _ := owner.pages(t, "/orgs/acme/org/audit?mode=export", "events")
	got := owner.call("GET", "/orgs/acme/org/audit/verify", "").want(t, 200, "")
	hashed, _ := got.at("hashed").(float64)
	unhashed, _ := got.at("unhashed").(float64)
	if got.at("ok") != true || int(hashed+unhashed) != len(entries) || got.at("last", "id") != entries[len(entries)-1].(map[string]any)["id"] {
		t.Errorf("the log of %d entries: %s", len(entries), got.raw)
	}
}
