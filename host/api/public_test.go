package api

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// raw sends a request line as it stands and returns status and body.
func raw(t *testing.T, addr, method, target string) (int, string, http.Header) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, method+" "+target+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(newReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body), resp.Header
}

func named(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, name+" "+rawPath(r))
	})
}

func TestPathsOfThePublicListener(t *testing.T) {
	apps := map[string]http.Handler{"docs": named("docs"), "billing": named("billing"), "v1": named("v1")}
	h, err := NewPublicHandler(PublicOptions{Providers: apps, Default: "docs", Ready: func() bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	addr := strings.TrimPrefix(server.URL, "http://")

	const envelope, plain = "envelope", "plain"
	for target, want := range map[string]string{
		"/v1/ping":                       "docs /v1/ping",
		"/v1/a/../b//c":                  "docs /v1/a/../b//c",
		"/v1/epoch%2Ehead?x=/apps/x":     "docs /v1/epoch%2Ehead",
		"/apps/docs/v1/ping":             "docs /apps/docs/v1/ping",
		"/apps/billing/v1/ping":          "billing /apps/billing/v1/ping",
		"/apps/b%69lling/v1/ping":        "billing /apps/b%69lling/v1/ping",
		"/apps/billing/v1/../../v1/ping": "billing /apps/billing/v1/../../v1/ping",
		"/apps/v1/v1/ping":               "v1 /apps/v1/v1/ping",
		"/apps/nobody/v1/ping":           envelope,
		"/apps//v1/ping":                 envelope,
		"/apps/docs/v2/ping":             envelope,
		"/apps/docs":                     envelope,
		"/apps/":                         envelope,
		"/apps/docs/../billing/v1/ping":  envelope,
		"/apps/DOCS/v1/ping":             envelope,
		"/api/v1/orgs":                   envelope,
		"/":                              plain,
		"/v1":                            plain,
		"//v1/ping":                      plain,
		"/x/../v1/ping":                  plain,
		"/healthz/":                      plain,
		"*":                              plain,
	} {
		method := http.MethodPost
		if target == "*" {
			method = http.MethodOptions
		}
		status, body, header := raw(t, addr, method, target)
		switch want {
		case envelope, plain:
			isEnvelope := strings.HasPrefix(body, `{"error":{"name":"ProviderApiError","code":"unknown_op"`)
			if target != "*" && status != http.StatusNotFound || isEnvelope != (want == envelope) {
				t.Errorf("%s: status %d, body %s; want a 404 (%s)", target, status, body, want)
			}
		default:
			if status != http.StatusOK || body != want || header.Get("Location") != "" {
				t.Errorf("%s: status %d, body %q; want %q", target, status, body, want)
			}
		}
	}
}

func TestTheDefaultApplication(t *testing.T) {
	ready := func() bool { return true }
	two := map[string]http.Handler{"a": named("a"), "b": named("b")}
	h, err := NewPublicHandler(PublicOptions{Providers: two, Ready: ready})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/v1/ping", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("two applications, none default: /v1 answers %d", w.Code)
	}
	h, err = NewPublicHandler(PublicOptions{Providers: map[string]http.Handler{"a": named("a")}, Ready: ready})
	if err != nil {
		t.Fatal(err)
	}
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/v1/ping", nil))
	if w.Code != http.StatusOK {
		t.Errorf("the only application is not the default: %d", w.Code)
	}
	if _, err := NewPublicHandler(PublicOptions{Providers: two, Default: "c", Ready: ready}); err == nil {
		t.Error("a default application that is not served was accepted")
	}
}

func TestHealthTellsUpOrNotAndNothingMore(t *testing.T) {
	var ready atomic.Bool
	public, err := NewPublicHandler(PublicOptions{Ready: ready.Load})
	if err != nil {
		t.Fatal(err)
	}
	checks := []Check{{Name: "plugin main", OK: true}, {Name: "store docs", Message: "lost"}}
	ops, err := NewOpsHandler(OpsOptions{Checks: func(context.Context) []Check { return checks }})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(h http.Handler, method, target string) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, target, nil))
		if w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s may be cached, or taken for another type: %v", target, w.Header())
		}
		return w.Code, w.Body.String()
	}
	expect := func(h http.Handler, method, target string, status int, body string) {
		t.Helper()
		if gotStatus, gotBody := ask(h, method, target); gotStatus != status || gotBody != body {
			t.Errorf("%s %s: %d %q, want %d %q", method, target, gotStatus, gotBody, status, body)
		}
	}
	expect(public, "GET", "/healthz", 200, "ok\n")
	expect(public, "GET", "/readyz?verbose=1", 503, "not ready\n")
	ready.Store(true)
	expect(public, "GET", "/readyz", 200, "ok\n")
	expect(public, "HEAD", "/readyz", 200, "")
	expect(public, "POST", "/readyz", 405, "GET or HEAD only\n")

	expect(ops, "GET", "/healthz", 200, "ok\n")
	expect(ops, "GET", "/readyz", 503, "not ready\n")
	status, body := ask(ops, "GET", "/readyz?verbose=1")
	var state readiness
	if err := json.Unmarshal([]byte(body), &state); err != nil || status != 503 {
		t.Fatalf("%d %s: %v", status, body, err)
	}
	if diff := cmp.Diff(readiness{Checks: checks}, state); diff != "" {
		t.Errorf("verbose readiness (-want +got):\n%s", diff)
	}
	checks[1].OK = true
	expect(ops, "GET", "/readyz", 200, "ok\n")
}

func TestProfilesAndMetricsAreServedOnlyWhenThereAreAny(t *testing.T) {
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "m 1") })
	for _, profiles := range []bool{false, true} {
		o := OpsOptions{Checks: func(context.Context) []Check { return nil }, Profiles: profiles}
		if profiles {
			o.Metrics = metrics
		}
		ops, err := NewOpsHandler(o)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		ops.ServeHTTP(w, httptest.NewRequest("GET", "/debug/pprof/cmdline", nil))
		if (w.Code == http.StatusOK) != profiles {
			t.Errorf("profiles %v: status %d", profiles, w.Code)
		}
		w = httptest.NewRecorder()
		ops.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		if (w.Code == http.StatusOK) != profiles {
			t.Errorf("metrics %v: /metrics answers %d", profiles, w.Code)
		}
	}
}
