package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

const (
	readSecret  = "a-secret-that-may-only-read"
	checkSecret = "a-secret-that-may-only-check"
)

// Every operation of the manifest, and names that are none, by a secret of each purpose.
func TestASecretIsGoodForItsPurposeAlone(t *testing.T) {
	w := newWorld(t, worldOptions{})
	limited := api.Limited{Read: []string{readSecret}, Check: []string{checkSecret}}
	handler, err := api.NewProviderHandler(api.ProviderOptions{Application: w.app, ApplicationID: "app-1", Evaluator: evaluator{w.client}, Storage: w.app,
		Secrets: func() []string { return []string{secret} }, Limited: func() api.Limited { return limited }})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(op, bearer string) *httptest.ResponseRecorder {
		// A body that is too large to be read: whoever may not ask is told before.
		r := httptest.NewRequest(http.MethodPost, "/v1/"+op, strings.NewReader("{"))
		r.Header.Set("Authorization", "Bearer "+bearer)
		out := httptest.NewRecorder()
		handler.ServeHTTP(out, r)
		return out
	}
	forbidden := func(a *httptest.ResponseRecorder) bool {
		return a.Code == http.StatusForbidden && strings.Contains(a.Body.String(), `"name":"ProviderApiError","code":"forbidden"`)
	}
	check := map[string]bool{"ping": true, "capabilities": true, "check": true, "explain": true}
	lookups := map[string]bool{"listSubjects": true, "listScopes": true, "listKeys": true}
	for _, op := range provider.Operations {
		for _, name := range append([]string{op.Op}, strings.Fields(op.Older)...) {
			if a := ask(name, secret); forbidden(a) {
				t.Errorf("%s by the secret of everything: %d %s", name, a.Code, a.Body)
			}
			if a := ask(name, readSecret); forbidden(a) != (op.Kind == provider.Write || op.Op == "exportOrgSnapshot") {
				t.Errorf("%s by a reader: %d %s", name, a.Code, a.Body)
			}
			if a := ask(name, checkSecret); forbidden(a) != !check[op.Op] {
				t.Errorf("%s by whoever may check: %d %s", name, a.Code, a.Body)
			}
			wanted := "provider.secrets"
			if op.Kind == provider.Read && op.Op != "exportOrgSnapshot" {
				wanted = "provider.read_secrets"
			}
			if a := ask(name, checkSecret); forbidden(a) && !strings.Contains(a.Body.String(), ": "+op.Op+" takes another one, of `"+wanted+"`") {
				t.Errorf("%s by whoever may check does not tell of %s: %s", name, wanted, a.Body)
			}
			limited.Lookups = true
			if a := ask(name, checkSecret); forbidden(a) != !(check[op.Op] || lookups[op.Op]) {
				t.Errorf("%s by whoever may check and list: %d %s", name, a.Code, a.Body)
			}
			limited.Lookups = false
		}
	}
	for _, bearer := range []string{secret, readSecret, checkSecret} {
		if a := ask("nothing", bearer); forbidden(a) {
			t.Errorf("a name that is none: %d %s", a.Code, a.Body)
		}
	}
	if a := ask("ping", checkSecret+"x"); a.Code != http.StatusUnauthorized {
		t.Errorf("a secret that is none: %d", a.Code)
	}
}

// A secret may be taken out of a purpose, or all of them, while the handler serves.
func TestPurposesFollowRotation(t *testing.T) {
	w := newWorld(t, worldOptions{})
	limited := api.Limited{Check: []string{checkSecret}}
	handler, err := api.NewProviderHandler(api.ProviderOptions{Application: w.app, ApplicationID: "app-1",
		Secrets: func() []string { return nil }, Limited: func() api.Limited { return limited }})
	if err != nil {
		t.Fatal(err) // a handler that only ever answers checks
	}
	ask := func(op string) int {
		r := httptest.NewRequest(http.MethodPost, "/v1/"+op, strings.NewReader("{}"))
		r.Header.Set("Authorization", "Bearer "+checkSecret)
		out := httptest.NewRecorder()
		handler.ServeHTTP(out, r)
		return out.Code
	}
	if ask("ping") != 200 || ask("listRoles") != 403 {
		t.Error(ask("ping"), ask("listRoles"))
	}
	limited = api.Limited{Read: []string{checkSecret}}
	if ask("listRoles") != 200 || ask("deleteRole") != 403 {
		t.Error(ask("listRoles"), ask("deleteRole"))
	}
	limited = api.Limited{}
	if ask("ping") != 401 {
		t.Error(ask("ping"))
	}
}

// Whoever may only check learns what is allowed, and no row.
func TestExplainTellsNoRowsToASecretForChecks(t *testing.T) {
	w := newWorld(t, worldOptions{})
	limited := api.Limited{Check: []string{checkSecret}}
	handler, err := api.NewProviderHandler(api.ProviderOptions{Application: w.app, ApplicationID: "app-1", Evaluator: surrounding{evaluator{w.client}},
		Secrets: func() []string { return []string{secret} }, Limited: func() api.Limited { return limited }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.app.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:u", Pattern: "docs.files.delete"}, authz.AdminProvenance("root")); err != nil {
		t.Fatal(err)
	}
	ask := func(bearer string) string {
		r := httptest.NewRequest(http.MethodPost, "/v1/explain", strings.NewReader(`{"principal":{"userId":"u"},"key":"docs.files.delete"}`))
		r.Header.Set("Authorization", "Bearer "+bearer)
		out := httptest.NewRecorder()
		handler.ServeHTTP(out, r)
		return out.Body.String()
	}
	const rowless = `{"allowed":true,"matchedGrants":[],"matchedRevokes":[],"objectClosure":["*"],"active":true,"implied":false,"impliedBy":[]}`
	if got := ask(checkSecret); got != rowless {
		t.Errorf("by a secret for checks: %s", got)
	}
	limited.Lookups = true
	for _, bearer := range []string{secret, checkSecret} {
		if got := ask(bearer); !strings.Contains(got, `"subject":"user:u"`) || !strings.Contains(got, `"paths":[`) || !strings.Contains(got, `"near":{`) {
			t.Errorf("with rows: %s", got)
		}
	}
}

// surrounding tells of every check what lies around it.
type surrounding struct{ evaluator }

func (s surrounding) Explain(ctx context.Context, q *provider.Explain) (access.Explained, error) {
	e, err := s.evaluator.Explain(ctx, q)
	e.Paths, e.Near = []access.Path{{GrantID: "g", Pattern: q.Key}}, &access.Near{GrantAt: authz.Global}
	return e, err
}
