package dashboard_test

import (
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/authzhost/authz/host/api/dashboard"
	"github.com/authzhost/authz/web"
)

func serve(t *testing.T, secure bool) func(method, path string, headers ...string) *http.Response {
	t.Helper()
	h, err := dashboard.New(web.Files(), secure)
	if err != nil {
		t.Fatal(err)
	}
	return func(method, path string, headers ...string) *http.Response {
		r := httptest.NewRequest(method, path, nil)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Result()
	}
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEveryScreenIsTheIndex(t *testing.T) {
	get := serve(t, false)
	index, err := fs.ReadFile(web.Files(), "index.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/dashboard/", "/dashboard/sign-in", "/dashboard/orgs/acme/people/a%2Fb", "/dashboard/index.html", "/dashboard/sources.sha256", "/dashboard/../x"} {
		r := get("GET", path)
		if r.StatusCode != 200 || body(t, r) != string(index) {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
		if r.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s is kept: %s", path, r.Header.Get("Cache-Control"))
		}
	}
	for _, path := range []string{"/", "/dashboard"} {
		if r := get("GET", path); r.StatusCode != 303 || r.Header.Get("Location") != "/dashboard/" {
			t.Errorf("%s: %d to %q", path, r.StatusCode, r.Header.Get("Location"))
		}
	}
	if r := get("POST", "/dashboard/"); r.StatusCode != 405 || r.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d, Allow %q", r.StatusCode, r.Header.Get("Allow"))
	}
	if r := get("HEAD", "/dashboard/"); r.StatusCode != 200 || body(t, r) != "" || r.ContentLength == 0 {
		t.Errorf("HEAD: %d, %d bytes", r.StatusCode, r.ContentLength)
	}
}

var asset = regexp.MustCompile(`/dashboard/(assets/[^"]+)"`)

func TestAssetsAreKeptAndUnknownOnesAreNotThere(t *testing.T) {
	get := serve(t, false)
	found := asset.FindAllStringSubmatch(body(t, get("GET", "/dashboard/")), -1)
	if len(found) < 4 {
		t.Fatalf("the index names %d assets", len(found))
	}
	for _, name := range found {
		r := get("GET", "/dashboard/"+name[1])
		want, err := fs.ReadFile(web.Files(), name[1])
		if err != nil {
			t.Fatal(err)
		}
		if r.StatusCode != 200 || body(t, r) != string(want) || r.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" {
			t.Errorf("%s: %d, %s", name[1], r.StatusCode, r.Header.Get("Cache-Control"))
		}
	}
	for _, path := range []string{"/dashboard/assets/", "/dashboard/assets/index-00000000.js", "/dashboard/assets/../index.html"} {
		if r := get("GET", path); r.StatusCode != 404 || r.Header.Get("Cache-Control") != "no-store" || r.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
	}
}

func TestTheHeadersOfEveryAnswer(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for _, path := range []string{"/", "/dashboard/", "/dashboard/assets/none.js"} {
			h := serve(t, secure)("GET", path).Header
			for name, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
				"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
				"Strict-Transport-Security": map[bool]string{true: "max-age=31536000"}[secure],
			} {
				if h.Get(name) != want {
					t.Errorf("%s: %s is %q", path, name, h.Get(name))
				}
			}
			policy := h.Get("Content-Security-Policy")
			for _, rule := range []string{"default-src 'none'", "script-src 'self'", "connect-src 'self'", "base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
				if !strings.Contains(policy+";", rule+";") {
					t.Errorf("%s: the policy lacks %s", path, rule)
				}
			}
			if strings.Contains(policy, "unsafe") {
				t.Errorf("%s: %s", path, policy)
			}
		}
	}
}

func TestWhoAcceptsGzipGetsIt(t *testing.T) {
	get := serve(t, false)
	plain := body(t, get("GET", "/dashboard/"))
	for accepted, coded := range map[string]bool{"gzip": true, "br, gzip;q=0.5": true, "gzip;q=0": false, "br": false, "": false, "gzip;q=x": true} {
		r := get("GET", "/dashboard/", "Accept-Encoding", accepted)
		if got := r.Header.Get("Content-Encoding") == "gzip"; got != coded || r.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: gzip %t, Vary %q", accepted, got, r.Header.Get("Vary"))
		}
		if !coded {
			continue
		}
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(z); err != nil || string(text) != plain {
			t.Errorf("%q: another text, %v", accepted, err)
		}
	}
}

func TestABuildThatCannotBeServedIsRefused(t *testing.T) {
	for name, files := range map[string]fstest.MapFS{
		"no index":        {"assets/a.js": {}},
		"an unknown type": {"index.html": {}, "assets/a.wasm": {}},
	} {
		if _, err := dashboard.New(files, false); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
