package host_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/config"
	"github.com/authzhost/authz/host/service/oidc"
	"github.com/authzhost/authz/host/service/oidc/idptest"
)

// secrets are what a walk made or was configured with, each with the endpoints
// whose answers may hold it.
type secrets struct {
	t    *testing.T
	told map[string][]string
}

func (s secrets) add(secret string, endpoints ...string) string {
	s.t.Helper()
	if len(secret) < 16 {
		s.t.Fatalf("%q is no secret", secret)
	}
	s.told[secret] = append(s.told[secret], endpoints...)
	return secret
}

// forms are what a secret looks like where it leaks: itself, or the beginning of
// it, encoded or not. Of a token only what is secret in it counts.
func forms(secret string) []string {
	if strings.HasPrefix(secret, "authz_") {
		secret = secret[strings.LastIndexByte(secret, '_')+1:]
	}
	encoded := []string{secret, hex.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(secret)),
		base64.URLEncoding.EncodeToString([]byte(secret)), url.QueryEscape(secret)}
	for i, form := range encoded {
		encoded[i] = form[:min(len(form), 24)]
	}
	if raw, err := base64.StdEncoding.DecodeString(secret); err == nil {
		encoded = append(encoded, string(raw[:min(len(raw), 16)])) // of a host key
	}
	return encoded
}

// absent checks that a text holds no secret, and that it is not empty.
func (s secrets) absent(where string, text []byte) {
	s.t.Helper()
	if len(text) == 0 {
		s.t.Errorf("%s: there is nothing to search", where)
	}
	for secret := range s.told {
		for _, form := range forms(secret) {
			if at := bytes.Index(text, []byte(form)); at >= 0 {
				s.t.Errorf("%s holds %s: …%q…", where, secret, text[max(0, at-60):min(len(text), at+90)])
			}
		}
	}
}

// TestNoSecretIsAnywhere walks through the API with every kind of credential and
// searches everything that came out of it, and what is at rest.
func TestNoSecretIsAnywhere(t *testing.T) {
	buildPlugin(t, "sqlite")
	s := secrets{t, map[string][]string{}}
	const signIn, linking, keys = "POST /auth/sign-in", "POST /orgs/acme/applications/docs/link", "POST /orgs/acme/api-keys"
	files := hostedFiles(t)
	hostKey, err := os.ReadFile(filepath.Join(files, "key"))
	if err != nil {
		t.Fatal(err)
	}
	s.add(string(hostKey))
	s.add(bootSecret)
	clientSecret := s.add("a client secret of this very test")
	write(t, filepath.Join(files, "client"), clientSecret)
	idp, err := idptest.Start(oidc.CallbackPath, clientSecret)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = idp.Stop() })

	// The application is another host's, so that the provider secret is really sent.
	clock := &testClock{}
	far := configure(t, "log: {access: true}\n")
	docs := far.Applications["docs"]
	docs.Provider.AuditOptIn = true
	far.Applications = map[string]config.Application{"docs": docs}
	app := openHosted(t, far, clock)
	call(t, caller(app.Host), "createGrant", object{"input": object{"subject": "user:" + bootUser, "pattern": "*", "provenance": root}})
	call(t, caller(app.Host), "setScopeParents", object{"provenance": root, "entries": []object{
		{"scope": "docs.folder:9", "parents": []string{}}, {"scope": "docs.doc:1", "parents": []string{"docs.folder:9"}}}})

	database := filepath.Join(t.TempDir(), "authz.db")
	cfg := configure(t, strings.Replace(hostedLines(files, bootUser), "  relay: {allowed_networks: [127.0.0.1]}\n  local:", `  relay: {allow_loopback: true}
  oidc: {issuer: "`+idp.Issuer+`", client_id: `+idptest.ClientID+`, client_secret: "file:`+files+`/client"}
  local:`, 1))
	cfg.Service.Bootstrap.Keep = true
	edit(cfg, func(p *config.Plugin) {
		p.Plugin, p.Config = "sqlite", config.NewSettings(map[string]any{"path": database})
	})
	h := openHosted(t, cfg, clock)
	heard := &hearing{}
	anybody := h.visitor(t)
	anybody.heard = heard
	remember := func(v visitor) visitor {
		s.add(v.cookie, signIn)
		s.add(v.csrf, signIn, "GET /auth/session")
		return v
	}

	// An org, its application far away, and a new provider secret by linking again.
	remember(anybody.signIn("", bootUser)).must(201, "POST", "/orgs", `{"id":"acme","name":"Acme","ownerUserId":"`+bootUser+`"}`)
	owner := remember(anybody.signIn("acme", bootUser))
	owner.must(201, "POST", "/orgs/acme/applications", `{"id":"docs","name":"Docs","namespaces":["docs"]}`)
	for i := range 2 {
		body := `{"relayUrl":"http://` + app.Address() + `"}`
		secret := s.add(owner.must(200, "POST", "/orgs/acme/applications/docs/link", body, "Idempotency-Key", "link-"+string(rune('a'+i))).text("providerSecret"), linking)
		owner.must(200, "POST", "/orgs/acme/applications/docs/link", body, "Idempotency-Key", "link-"+string(rune('a'+i)))
		next := *far
		docs.Provider.Secrets = []config.Secret{config.NewSecret(secret, "")}
		next.Applications = map[string]config.Application{"docs": docs}
		app.Reload(&next)
		probe := owner.must(200, "POST", "/orgs/acme/applications/docs/probe", `{}`)
		if probe.text("health", "status") != "healthy" {
			t.Fatalf("the application is not asked: %s", probe.raw)
		}
	}

	// Keys of every kind, rotated, one of them revoked.
	callers := map[string]visitor{"anybody": anybody, "owner": owner}
	for kind, more := range map[string]string{"admin": "", "principal": `,"serviceId":"ci"`, "publisher": `,"namespace":"docs"`} {
		body := `{"kind":"` + kind + `","name":"` + kind + `"` + more + `}`
		made := owner.must(201, "POST", "/orgs/acme/api-keys", body, "Idempotency-Key", kind)
		owner.must(201, "POST", "/orgs/acme/api-keys", body, "Idempotency-Key", kind)
		old := s.add(made.text("secret"), keys)
		path := "/orgs/acme/api-keys/" + made.text("apiKey", "id") + "/rotate"
		renewed := s.add(owner.must(200, "POST", path, `{}`).text("secret"), "POST "+path)
		callers[kind], callers[kind+", rotated out"] = owner.with(renewed), owner.with(old)
	}
	gone := owner.must(201, "POST", "/orgs/acme/api-keys", `{"kind":"admin","name":"gone"}`)
	callers["revoked"] = owner.with(s.add(gone.text("secret"), keys))
	owner.must(204, "DELETE", "/orgs/acme/api-keys/"+gone.text("apiKey", "id"), "")

	// A sign-in by OpenID, through the browser's way and through the body.
	owner.must(201, "POST", "/orgs/acme/seats", `{"userId":"u_42","kind":"admin","email":"u42@example.com"}`)
	for _, byCallback := range []bool{true, false} {
		begun := anybody.must(200, "GET", "/auth/oidc/start?org=acme&returnTo=/", "", "Accept", "application/json")
		cookie := s.add((&http.Response{Header: begun.header}).Cookies()[0].Value, "GET /auth/oidc/start?org=acme&returnTo=/")
		back, err := idp.Consent(begun.text("authorizationUrl"))
		if err != nil {
			t.Fatal(err)
		}
		s.add(back.Get("code"))
		s.add(back.Get("state"), "GET /auth/oidc/start?org=acme&returnTo=/")
		path := "/auth/oidc/callback?" + back.Encode()
		var in answer
		if byCallback {
			in = anybody.must(303, "GET", path, "", "Cookie", "authz_oidc="+cookie)
			again := anybody.must(303, "GET", path, "", "Cookie", "authz_oidc="+cookie)
			if to := again.header.Get("Location"); !strings.Contains(to, "/dashboard/sign-in?problem=sign_in_failed") || strings.Contains(to, back.Get("code")) || strings.Contains(to, back.Get("state")) {
				t.Errorf("a code that was used: %s", to)
			}
		} else {
			body, _ := json.Marshal(object{"org": "acme", "proof": object{"kind": "oidc", "code": back.Get("code"), "state": back.Get("state")}})
			in = anybody.must(200, "POST", "/auth/sign-in", string(body), "Cookie", "authz_oidc="+cookie)
		}
		user := anybody
		for _, c := range (&http.Response{Header: in.header}).Cookies() {
			if c.Name == "authz_session" {
				user.cookie = s.add(c.Value, signIn, "GET "+path)
			}
		}
		user.csrf = s.add(user.must(200, "GET", "/auth/session", "").text("csrfToken"), signIn, "GET /auth/session")
		callers["user"] = user
	}

	// Writes everywhere, and retention of what they left.
	for _, c := range [][3]string{
		{"PATCH", "/orgs/acme", `{"name":"Acme Ltd"}`},
		{"POST", "/orgs/acme/org/roles", `{"id":"reader","name":"Reader","patterns":["docs.files.read"],"requestable":{"stages":[{"kind":"any_of_users","userIds":["u_42"]}]}}`},
		{"POST", "/orgs/acme/org/groups", `{"id":"all","name":"All"}`},
		{"POST", "/orgs/acme/org/grants", `{"subject":"user:u_42","pattern":"authz_internal.*"}`},
		{"POST", "/orgs/acme/org/grants", `{"subject":"service:ci","pattern":"cloud.applications.read"}`},
		{"POST", "/orgs/acme/org/revokes", `{"userId":"u_9","pattern":"docs.files.read"}`},
		{"POST", "/orgs/acme/applications/docs/grants", `{"subject":"user:u_9","pattern":"docs.files.read","scope":"docs.doc:1"}`},
		{"POST", "/orgs/acme/applications/docs/revokes", `{"userId":"u_9","pattern":"docs.files.read","scope":"docs.doc:1"}`},
		{"POST", "/orgs/acme/view-as", `{"viewAs":{"kind":"user","userId":"u_9"}}`},
		{"POST", "/orgs/acme/view-as", `{"viewAs":null}`},
		{"PUT", "/orgs/acme/billing/caps/admin_seats", `{"cap":10}`},
		{"POST", "/orgs/acme/applications/docs/audit-optin", `{"optIn":true}`},
		{"POST", "/orgs/acme/applications/docs/ingest-audit", `{}`},
	} {
		if a := owner.call(c[0], c[1], c[2]); a.status >= 300 && !strings.Contains(c[2], "requestable") {
			t.Errorf("%s %s: %d %s", c[0], c[1], a.status, a.raw)
		}
	}
	document := `{"document":{"formatVersion":1,"namespace":"docs","namespaces":["docs"],"leaves":[],"groups":[],"scopeTypes":[],"navigation":[]}}`
	callers["publisher"].must(201, "POST", "/registry/publish", document)
	callers["principal"].must(200, "POST", "/orgs/acme/evaluate", `{"key":["authz_internal.access.read"]}`)

	// Secrets where they do not belong.
	for _, c := range []struct{ body, code string }{
		{`{"userId":"` + bootUser + `","proof":{"kind":"bootstrap","secret":["` + bootSecret + `"]}}`, "invalid_request"},
		{`{"userId":"` + bootUser + `","proof":{"kind":"bootstrap","secret":"` + bootSecret + `","secret":""}}`, "invalid_request"},
		{`{"userId":"` + bootUser + `","proof":{"kind":"` + bootSecret + `"}}`, "invalid_request"},
		{`{"userId":"` + bootUser + `","proof":{"kind":"bootstrap","secret":"` + bootSecret + `"`, "invalid_request"},
		{signInBody("acme", bootUser, bootSecret[1:]), "sign_in_failed"},
		{signInBody("acme", bootUser, owner.cookie), "sign_in_failed"},
		{signInBody("acme", bootUser, callers["admin"].bearer), "sign_in_failed"},
	} {
		if a := anybody.call("POST", "/auth/sign-in", c.body); a.code() != c.code && a.status != 429 {
			t.Errorf("%s: %d %s", c.body, a.status, a.raw)
		}
	}
	for _, bad := range []visitor{anybody.with(owner.cookie), anybody.with(callers["admin"].bearer + "x"), anybody.with(bootSecret), anybody.with("x " + bootSecret)} {
		bad.refused(401, "credential_invalid", "GET", "/orgs/acme", "")
	}
	confused := owner
	confused.csrf = owner.cookie
	confused.refused(403, "csrf_failed", "POST", "/orgs/acme/seats", `{"userId":"`+bootUser+`"}`)
	confused.cookie = callers["admin"].bearer
	confused.refused(401, "credential_invalid", "GET", "/orgs/acme", "")
	app.visitor(t).with(callers["admin"].bearer).call("POST", "/v1/ping", `{}`)

	// Every endpoint, as everybody.
	walked := walk(t, clock, anybody, callers)
	export := owner.must(200, "GET", "/orgs/acme/retention/export", "")
	if !bytes.Contains(export.raw, []byte(`"end":true`)) || bytes.Contains(export.raw, []byte(`"count":0}`)) || walked < 300 {
		t.Errorf("there is little to search: %d calls, export %s", walked, export.raw)
	}

	for secret, allowed := range s.told {
		for _, form := range forms(secret) {
			for _, endpoint := range heard.with(form) {
				if !slices.Contains(allowed, endpoint) {
					t.Errorf("%s answers %s", endpoint, secret)
				}
			}
		}
	}
	for where, at := range map[string]string{"metrics": h.OpsAddress() + "/metrics", "metrics of the application": app.OpsAddress() + "/metrics", "health": h.Address() + "/readyz"} {
		got, err := http.Get("http://" + at)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(got.Body)
		_ = got.Body.Close()
		if err != nil || got.StatusCode != 200 {
			t.Fatal(where, got.Status, err)
		}
		s.absent(where, text)
	}
	var plugins json.RawMessage
	if err := localCaller(h.Host).Call(t.Context(), "_host/plugins", nil, &plugins); err != nil {
		t.Fatal(err)
	}
	s.absent("the socket", plugins)
	closeHost(t, h.Host)
	closeHost(t, app.Host)
	s.absent("the log", []byte(h.log.String()))
	s.absent("the access log", []byte(h.access.String()))
	s.absent("the application's log", []byte(app.log.String()))
	s.absent("the application's access log", []byte(app.access.String()))
	s.absent("the database", atRest(t, database, callers["admin"].bearer))
}

// atRest is every file of the database, in which the digests of tokens are found:
// it is the right one, and legible.
func atRest(t *testing.T, database, token string) (all []byte) {
	t.Helper()
	names, err := filepath.Glob(database + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	for _, known := range []string{"Acme Ltd", base64.StdEncoding.EncodeToString(digestOf(token)), "api_key.rotate", "secretWithheld"} {
		if !bytes.Contains(all, []byte(known)) && !bytes.Contains(all, []byte(base64.StdEncoding.EncodeToString([]byte(known))[:12])) {
			t.Errorf("the database does not hold %q", known)
		}
	}
	return all
}

var pathParameter = regexp.MustCompile(`\{([a-zA-Z]+)\}`)

// walk calls every endpoint of the served description, as everybody: reads as they
// are meant, writes with a body that none accepts.
func walk(t *testing.T, clock *testClock, v visitor, callers map[string]visitor) (calls int) {
	t.Helper()
	described := v.must(200, "GET", "/openapi.json", "")
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(described.raw, &document); err != nil {
		t.Fatal(err)
	}
	values := map[string]string{"org": "acme", "app": "docs", "id": "reader", "ns": "docs", "userId": bootUser, "subject": "user:u_9",
		"scope": "docs.doc:1", "dimension": "grants"}
	queries := map[string]string{"/orgs/{org}/org/subject-access": "?userId=u_9", "/orgs/{org}/org/explain": "?userId=u_9&key=authz_internal.access.read&scope=*",
		"/orgs/{org}/org/who-can": "?key=authz_internal.access.read", "/orgs/{org}/org/where-can": "?userId=u_9&key=authz_internal.access.read", "/orgs/{org}/org/what-can": "?userId=u_9",
		"/orgs/{org}/me/explain":         "?key=authz_internal.access.read&scope=*",
		"/orgs/{org}/org/wildcard-drift": "?since=1", "/orgs/{org}/applications/{app}/wildcard-drift": "?since=1",
		"/orgs/{org}/applications/{app}/ancestors": "?scope=docs.doc:1", "/orgs/{org}/audit": "?mode=export&limit=1000", "/orgs/{org}/retention": "?mode=export&limit=1000"}
	var refused []string
	for path, methods := range document.Paths {
		path = strings.TrimPrefix(path, "/api/v1")
		fill := func(path string) string {
			return pathParameter.ReplaceAllStringFunc(path, func(p string) string { return url.PathEscape(values[strings.Trim(p, "{}")]) })
		}
		at := fill(path)
		if list, one := strings.CutSuffix(path, "/{id}"); one && (document.Paths[list]["get"] != nil || document.Paths["/api/v1"+list]["get"] != nil) {
			if id, instant := firstOf(callers["owner"].must(200, "GET", fill(list), "").raw); id != "" {
				at = fill(list) + "/" + url.PathEscape(id)
				if strings.HasSuffix(list, "/audit") {
					at += fmt.Sprint("?at=", instant)
				}
			}
		}
		for method := range methods {
			method = strings.ToUpper(method)
			if method == "DELETE" || path == "/auth/sign-out" || path == "/auth/sign-in" || path == "/openapi.json" || !slices.Contains([]string{"GET", "POST", "PUT", "PATCH"}, method) {
				continue
			}
			for name, who := range callers {
				if calls%50 == 0 {
					clock.pass(time.Minute) // buckets are full again
				}
				body := ""
				if method != "GET" {
					body = `{"unheardOf":1}`
				}
				a := who.call(method, at+queries[path], body)
				calls++
				if name == "owner" && method == "GET" && a.status != 200 && !strings.HasPrefix(path, "/auth/oidc") {
					refused = append(refused, path+" "+a.code())
				}
			}
		}
	}
	slices.Sort(refused)
	if diff := cmp.Diff([]string{"/orgs/{org}/applications/{app}/usage/{dimension} unsupported", "/orgs/{org}/applications/{app}/wildcard-drift not_found", // it has published nothing itself
		"/orgs/{org}/org/wildcard-drift not_found", "/orgs/{org}/requests/{id} not_found"}, refused); diff != "" {
		t.Errorf("reads that the owner was refused (-want +got):\n%s", diff)
	}
	return calls
}

// firstOf is the id of the first object in a list that an answer has, and its instant.
func firstOf(answer []byte) (id string, at int64) {
	var members map[string]json.RawMessage
	if json.Unmarshal(answer, &members) != nil {
		return "", 0
	}
	for _, list := range members {
		var rows []struct {
			ID string
			At int64
		}
		if json.Unmarshal(list, &rows) == nil && len(rows) > 0 && rows[0].ID != "" {
			return rows[0].ID, rows[0].At
		}
	}
	return "", 0
}

func digestOf(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}
