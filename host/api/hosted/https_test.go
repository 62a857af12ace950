package hosted

import (
	"net/http"
	"testing"
)

// Over https a browser holds the session to this origin and to TLS.
func TestOverHTTPSCookiesAndHeadersAreStrict(t *testing.T) {
	w := newWorld(t)
	options := w.options
	options.PublicURL = "https://authz.example"
	secure, err := New(options)
	w.must(err)
	w.api = secure
	body := `{"userId":"` + testUser + `","proof":{"kind":"bootstrap","secret":"` + testSecret + `"}}`
	r := caller{w: w}.with("Origin", options.PublicURL).call("POST", "/auth/sign-in", body).want(t, 200, "")
	cookies := (&http.Response{Header: r.header}).Cookies()
	if len(cookies) != 1 {
		t.Fatalf("cookies %v", cookies)
	}
	if c := cookies[0]; c.Name != "__Host-authz_session" || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
		t.Errorf("the session's cookie is %s", c)
	}
	if got := r.header.Get("Strict-Transport-Security"); got != "max-age=31536000" {
		t.Errorf("Strict-Transport-Security is %q", got)
	}
	named := func(name string) reply {
		return caller{w: w}.with("Cookie", name+"="+cookies[0].Value).call("GET", "/auth/session", "")
	}
	named("__Host-authz_session").want(t, 200, "")
	named("authz_session").want(t, 401, "credential_missing") // which any subdomain could have set
}
