package hosted

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/service/oidc"
	"github.com/authzhost/authz/host/service/oidc/idptest"
)

// browser keeps the cookies of one, by name.
type browser struct {
	w       *world
	cookies map[string]string
}

// sentBack is the query that a browser is sent to the sign-in screen with.
func sentBack(t *testing.T, w *world, r reply) url.Values {
	t.Helper()
	to, ours := strings.CutPrefix(r.want(t, 303, "").header.Get("Location"), w.server.URL+"/dashboard/sign-in?")
	query, err := url.ParseQuery(to)
	if err != nil || !ours {
		t.Fatalf("Location %q", r.header.Get("Location"))
	}
	if query.Get("request") != r.header.Get("X-Request-Id") {
		t.Errorf("another request: %v", query)
	}
	query.Del("request")
	return query
}

func (b browser) get(t *testing.T, path string, header ...string) reply {
	t.Helper()
	return b.call(t, "GET", path, "", header...)
}

func (b browser) call(t *testing.T, method, path, body string, header ...string) reply {
	t.Helper()
	c := caller{w: b.w}
	var pairs []string
	for name, value := range b.cookies {
		pairs = append(pairs, name+"="+value)
	}
	if len(pairs) > 0 {
		c = c.with("Cookie", strings.Join(pairs, "; "))
	}
	for i := 0; i+1 < len(header); i += 2 {
		c = c.with(header[i], header[i+1])
	}
	r := c.call(method, path, body)
	for _, cookie := range (&http.Response{Header: r.header}).Cookies() {
		if cookie.Path != "/" || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Domain != "" {
			t.Errorf("cookie %s", cookie)
		}
		if delete(b.cookies, cookie.Name); cookie.MaxAge >= 0 {
			b.cookies[cookie.Name] = cookie.Value
		}
	}
	return r
}

func TestSignInAtAnOpenIDProviderOverHTTP(t *testing.T) {
	w := newWorld(t)
	w.clock.Store(time.Now().UnixMilli())
	owner := w.acme()
	owner.call("POST", "/orgs/acme/seats", `{"userId":"u_42","kind":"admin"}`).want(t, 201, "")
	caller{w: w}.call("GET", "/auth/oidc/start?org=acme", "").want(t, 404, "route_not_found")
	caller{w: w}.call("GET", "/auth/oidc/callback?code=c&state=s", "").want(t, 401, "sign_in_failed")
	proof := func(code, state string) string {
		return `{"org":"acme","proof":{"kind":"oidc","code":"` + code + `","state":"` + state + `"}}`
	}
	caller{w: w}.with("Origin", w.server.URL).call("POST", "/auth/sign-in", proof("c", "s")).want(t, 401, "sign_in_failed")

	const clientSecret = "a client secret of this test"
	idp, err := idptest.Start(oidc.CallbackPath, clientSecret)
	w.must(err)
	t.Cleanup(func() { w.must(idp.Stop()) })
	// Tokens are of this world's time, however long the provider took to be built.
	times := map[string]any{"iat": w.clock.Load() / 1000, "exp": w.clock.Load()/1000 + 3600}
	w.must(idp.Behave(idptest.Behaviour{Claims: times}))
	o := w.options
	o.Services.OIDC, err = oidc.New(oidc.Options{Issuer: idp.Issuer, ClientID: idptest.ClientID, ClientSecret: clientSecret, UserIDClaim: "sub",
		PublicURL: w.server.URL, Accounts: w.accounts, Keys: o.Keys, Clock: w.clock.Load})
	w.must(err)
	w.api, err = New(o)
	w.must(err)

	if got := (caller{w: w}).call("GET", "/auth/methods", "").want(t, 200, ""); string(got.raw) != `{"methods":[{"kind":"oidc","start":"/api/v1/auth/oidc/start"},{"kind":"bootstrap"}]}` {
		t.Errorf("methods: %s", got.raw)
	}

	fresh := func() browser { return browser{w, map[string]string{}} }
	start := func(b browser, query string) url.Values {
		t.Helper()
		to := b.get(t, "/auth/oidc/start?"+query).want(t, 303, "").header.Get("Location")
		back, err := idp.Consent(to)
		w.must(err)
		return back
	}
	callback := func(b browser, back url.Values) reply {
		return b.get(t, "/auth/oidc/callback?"+back.Encode(), "Accept", "text/html")
	}

	b := fresh()
	back := start(b, "org=acme&returnTo=%2Forgs%2Facme%3Ftab%3Dkeys")
	done := callback(b, back).want(t, 303, "")
	if got := done.header.Get("Location"); got != w.server.URL+"/orgs/acme?tab=keys" || b.cookies["authz_oidc"] != "" || b.cookies["authz_session"] == "" {
		t.Fatalf("Location %q, cookies %v", got, b.cookies)
	}
	session := b.get(t, "/auth/session").want(t, 200, "")
	if session.text("session", "userId") != "u_42" || session.text("session", "authMethod") != "oidc" || session.text("csrfToken") == "" {
		t.Errorf("session: %s", session.raw)
	}
	if seat := owner.call("GET", "/orgs/acme/seats?kind=admin", ""); !strings.Contains(string(seat.raw), `"state":"active"`) {
		t.Errorf("the seat was not activated: %s", seat.raw)
	}
	callback(b, back).want(t, 401, "sign_in_failed") // a state works once
	b.get(t, "/auth/session").want(t, 200, "")       // and a failed proof ends no session

	b = fresh()
	stolen := start(fresh(), "org=acme")
	callback(b, stolen).want(t, 401, "sign_in_failed") // another browser's
	denied := start(b, "org=acme")
	denied.Del("code")
	denied.Set("error", "access_denied")
	callback(b, denied).want(t, 401, "sign_in_failed")
	if len(b.cookies) > 0 {
		t.Errorf("cookies of who did not sign in: %v", b.cookies)
	}
	for _, bad := range []string{"//evil.example", "https://evil.example", "evil", "/\\evil.example"} {
		fresh().get(t, "/auth/oidc/start?org=acme&returnTo="+url.QueryEscape(bad)).want(t, 400, "invalid_parameter")
	}
	if r := fresh().get(t, "/auth/oidc/start?org=acme", "Accept", "application/json").want(t, 200, ""); !strings.HasPrefix(r.text("authorizationUrl"), idp.Issuer) {
		t.Errorf("start: %s", r.raw)
	}

	b = fresh()
	back = start(b, "org=acme")
	b.call(t, "POST", "/auth/sign-in", proof(back.Get("code"), back.Get("state"))).want(t, 403, "csrf_failed")
	signed := b.call(t, "POST", "/auth/sign-in", proof(back.Get("code"), back.Get("state")), "Origin", w.server.URL).want(t, 200, "")
	if signed.text("session", "userId") != "u_42" || signed.text("seat", "kind") != "admin" || b.cookies["authz_session"] == "" {
		t.Errorf("signed in: %s", signed.raw)
	}
	// iss (RFC 9207) is the provider's own where it is sent, by either way back.
	for iss, status := range map[string]int{idp.Issuer: 200, "https://evil.example": 401, "": 401} {
		w.clock.Add(15_000) // sign-ins of an address are few a minute
		code := map[int]string{401: "sign_in_failed"}[status]
		b = fresh()
		back = start(b, "org=acme")
		named := strings.Replace(proof(back.Get("code"), back.Get("state")), `"code"`, `"iss":"`+iss+`","code"`, 1)
		b.call(t, "POST", "/auth/sign-in", named, "Origin", w.server.URL).want(t, status, code)
		b = fresh()
		back = start(b, "org=acme")
		back.Set("iss", iss)
		callback(b, back).want(t, map[int]int{200: 303, 401: 401}[status], code)
	}
	b.call(t, "POST", "/auth/sign-in", `{"userId":"u","proof":{"kind":"bootstrap","secret":"s","iss":"x"}}`, "Origin", w.server.URL).want(t, 400, "invalid_request")
	w.must(idp.Behave(idptest.Behaviour{Subject: "u_stranger", Claims: times}))
	for _, org := range []string{"acme", "nowhere"} {
		b = fresh()
		callback(b, start(b, "org="+org)).want(t, 403, "seat_required")
	}

	// With a dashboard a browser goes to its sign-in, with what the sign-in began with.
	o.SignIn = "/dashboard/sign-in"
	w.api, err = New(o)
	w.must(err)
	for i, c := range []struct {
		reply func() reply
		want  url.Values
	}{
		{func() reply { b = fresh(); return callback(b, start(b, "org=acme&returnTo=%2Fdashboard%2Fx")) },
			url.Values{"problem": {"seat_required"}, "org": {"acme"}, "returnTo": {"/dashboard/x"}}},
		{func() reply { return callback(b, start(fresh(), "org=acme&returnTo=%2Fdashboard%2Fx")) }, url.Values{"problem": {"sign_in_failed"}}}, // another browser's: nothing of it
		{func() reply { return callback(b, url.Values{"state": {"x"}, "code": {"secret"}}) }, url.Values{"problem": {"sign_in_failed"}}},
		{func() reply { return b.get(t, "/auth/oidc/start?org=acme&returnTo=%2F%2Fevil.example") }, url.Values{"problem": {"invalid_parameter"}, "org": {"acme"}}},
		{func() reply { return b.get(t, "/auth/oidc/callback?nobody=knows", "Accept", "*/*") }, url.Values{"problem": {"invalid_parameter"}}},
	} {
		w.clock.Add(15_000)
		if d := cmp.Diff(c.want, sentBack(t, w, c.reply())); d != "" {
			t.Errorf("%d: %s", i, d)
		}
	}
	b.get(t, "/auth/oidc/callback?state=x&code=y", "Accept", "application/json").want(t, 401, "sign_in_failed")
	if got := callback(b, start(b, "org=nowhere")); len(b.cookies) > 0 || got.header.Get("WWW-Authenticate") != "" {
		t.Errorf("cookies %v, %v", b.cookies, got.header)
	}

	b = fresh()
	back = start(b, "org=acme")
	other := strings.Replace(proof(back.Get("code"), back.Get("state")), `{"org"`, `{"userId":"u_42","org"`, 1)
	b.call(t, "POST", "/auth/sign-in", other, "Origin", w.server.URL).want(t, 401, "sign_in_failed")
	if r := owner.call("GET", "/orgs/acme/audit?action=session.refuse", ""); len(r.at("events").([]any)) < 5 || strings.Contains(w.logs.String(), back.Get("code")) {
		t.Errorf("refusals: %s", r.raw)
	}
}
