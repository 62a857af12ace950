package api_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/authzhost/authz/host/api"
)

// flood sends bad bearers until one is refused by the limit, and returns that
// answer and how many were answered before it.
func (w *world) flood() (answer, int) {
	w.t.Helper()
	for n := range 1000 {
		if a := w.send("POST", "/v1/ping", "{}", "Bearer nonsense-nonsense"); a.status == http.StatusTooManyRequests {
			return a, n
		}
	}
	w.t.Fatal("1000 bad bearers of one address were all looked at")
	return answer{}, 0
}

func TestBadBearersOfAnAddressAreThrottledAndGoodOnesNever(t *testing.T) {
	w := newWorld(t, worldOptions{})
	for range 200 { // good ones use nothing up
		w.mustOK("ping", "{}")
	}
	limited, before := w.flood()
	if before < 60 || before > 120 { // one more each second
		t.Errorf("%d bad bearers were answered before the limit, want 60", before)
	}
	limited.expectError(t, 429, apiName, "rate_limited", "too many bad credentials")
	if limited.header.Get("Retry-After") != "1" || limited.header.Get("WWW-Authenticate") != "" {
		t.Errorf("%v", limited.header)
	}
	for _, path := range []string{"/v1/check", "/v1/nope", "/nowhere"} {
		for _, auth := range [][]string{nil, {"Bearer nonsense-nonsense"}, {"Bearer " + secret, "Bearer " + secret}} {
			if a := w.send("POST", path, "{}", auth...); a.status != 429 && a.status != 401 { // a second may have passed
				t.Errorf("%s %q: %d %s", path, auth, a.status, a.body)
			}
		}
	}
	// A flood of bad ones goes on while the good ones of the address are answered.
	stop, flooding := make(chan struct{}), sync.WaitGroup{}
	for range 4 {
		flooding.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					r := httptest.NewRequest("POST", "/v1/check", strings.NewReader("{}"))
					r.RemoteAddr = "127.0.0.1:9"
					w.handler.ServeHTTP(httptest.NewRecorder(), r)
				}
			}
		})
	}
	for range 500 {
		began := time.Now()
		w.mustOK("ping", "{}")
		w.mustOK("check", `{"principal":{"userId":"u"},"key":"docs.files.read"}`)
		if took := time.Since(began); took > 30*time.Second {
			t.Fatalf("a good bearer waited %s", took)
		}
	}
	close(stop)
	flooding.Wait()
}

// One limit serves all applications of a host, and counts each client behind a
// trusted proxy by itself.
func TestBadBearersAreCountedByClientOverAllApplications(t *testing.T) {
	w := newWorld(t, worldOptions{})
	bearers := api.NewBearers([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")})
	handlers := make([]http.Handler, 2)
	for i := range handlers {
		var err error
		if handlers[i], err = api.NewProviderHandler(api.ProviderOptions{Application: w.app, ApplicationID: "a", Bearers: bearers,
			Secrets: func() []string { return []string{secret} }}); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(n int, peer, forwarded string) int {
		r := httptest.NewRequest("POST", "/v1/ping", nil)
		r.RemoteAddr = peer
		r.Header.Set("X-Forwarded-For", forwarded)
		out := httptest.NewRecorder()
		handlers[n%2].ServeHTTP(out, r)
		return out.Code
	}
	limited := func(peer, forwarded string) bool {
		for n := range 120 {
			if ask(n, peer, forwarded) == http.StatusTooManyRequests {
				return true
			}
		}
		return false
	}
	if !limited("10.0.0.1:1", "203.0.113.1") {
		t.Fatal("the applications count apart")
	}
	if ask(0, "10.0.0.2:1", "198.51.100.7") != http.StatusUnauthorized {
		t.Error("two clients behind one proxy are counted as one")
	}
	if !limited("192.0.2.9:1", "1.1.1.1") || ask(0, "192.0.2.9:1", "2.2.2.2") != http.StatusTooManyRequests {
		t.Error("a client that is no proxy chooses its own address")
	}
	if !limited("[2001:db8::1]:1", "") || ask(0, "[2001:db8::ffff:2]:1", "") != http.StatusTooManyRequests {
		t.Error("a /64 is counted as many clients")
	}
}
