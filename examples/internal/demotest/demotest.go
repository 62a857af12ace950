// Package demotest runs an example over real HTTP. Only tests of examples import
// it.
package demotest

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/authzhost/authz/examples/internal/demo"
	"github.com/authzhost/authz/sdk/catalog"
)

// Open opens an application for the time of the test. What an example declares is
// copied, so it must be free of lint.
func Open(t testing.TB, c *catalog.Catalog, rows demo.Rows) *demo.App {
	t.Helper()
	for _, issue := range catalog.Lint(c) {
		t.Errorf("lint: %s: %s", issue.Path, issue.Message)
	}
	app, err := demo.Open(t.Context(), c, rows)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(app.Close)
	return app
}

// Site is a handler that is being served.
type Site struct {
	t   testing.TB
	url string
}

// Serve serves the handler behind the login for the time of the test.
func Serve(t testing.TB, handler http.Handler) Site {
	t.Helper()
	server := httptest.NewServer(demo.SignIn(handler))
	t.Cleanup(server.Close)
	return Site{t, server.URL}
}

// Visitor is a browser: it signs in, keeps cookies and does not follow redirects.
type Visitor struct {
	site   Site
	user   string
	client *http.Client
}

// As answers a browser of the user's; "" is signed in as nobody.
func (s Site) As(user string) Visitor {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return Visitor{s, user, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}}
}

// Do sends a request, with the form if there is one, and answers the status and
// the body.
func (v Visitor) Do(method, path string, form url.Values) (status int, body string) {
	v.site.t.Helper()
	req, err := http.NewRequestWithContext(v.site.t.Context(), method, v.site.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.site.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if v.user != "" {
		req.SetBasicAuth(v.user, "")
	}
	resp, err := v.client.Do(req)
	if err != nil {
		v.site.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		v.site.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// Cookie sets a cookie as though the site had.
func (v Visitor) Cookie(name, value string) {
	v.site.t.Helper()
	at, err := url.Parse(v.site.url)
	if err != nil {
		v.site.t.Fatal(err)
	}
	v.client.Jar.SetCookies(at, []*http.Cookie{{Name: name, Value: value}})
}
