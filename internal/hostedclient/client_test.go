package hostedclient_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/internal/hostedclient"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// A far is a server in the place of the hosted API. It keeps what it was asked.
type far struct {
	*httptest.Server
	asked []string // METHOD /path?query body
}

func newFar(t *testing.T, answer http.HandlerFunc) (*far, *hostedclient.Client) {
	t.Helper()
	f := &far{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer key" || r.Header.Get("User-Agent") != "test" || len(body) > 0 != (r.Header.Get("Content-Type") == "application/json") {
			t.Errorf("%s %s with the headers %v", r.Method, r.URL, r.Header)
		}
		f.asked = append(f.asked, strings.TrimSpace(r.Method+" "+strings.TrimPrefix(r.URL.RequestURI(), "/api/v1")+" "+string(body)))
		answer(w, r)
	}))
	t.Cleanup(f.Close)
	return f, &hostedclient.Client{URL: f.URL, Org: "acme", Token: "key", UserAgent: "test"}
}

// says answers everything in the same way.
func says(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

func TestAskEscapesWhatIsNamed(t *testing.T) {
	f, c := newFar(t, says(200, `{"n":7}`))
	var got struct{ N int }
	err := c.Ask(t.Context(), http.MethodPost, []string{"seats", "a b?"}, map[string]any{"kind": "owner", "active": true}, map[string]any{"name": "<x>"}, &got)
	if err != nil || got.N != 7 {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := c.OfNoOrg().Ask(t.Context(), http.MethodGet, []string{"registry"}, nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	if want := []string{`POST /orgs/acme/seats/a%20b%3F?active=true&kind=owner {"name":"<x>"}`, "GET /registry"}; !slices.Equal(f.asked, want) {
		t.Errorf("asked %q", f.asked)
	}
	for _, id := range []string{"", ".", "..", "a/b"} {
		var misuse *hostedclient.UsageError
		if err := c.Ask(t.Context(), http.MethodGet, []string{"seats", id}, nil, nil, nil); !errors.As(err, &misuse) || len(f.asked) != 2 {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestAKeyIsCarriedNowhereElse(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer elsewhere.Close()
	_, c := newFar(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	})
	if err := c.Ask(t.Context(), http.MethodGet, nil, nil, nil, nil); err == nil {
		t.Error("a redirect is an answer")
	}
	if err := c.Stream(t.Context(), nil, nil, func([]byte) error { return nil }); err == nil {
		t.Error("a redirect is a stream")
	}
}

func TestWhatTheFarSideRefuses(t *testing.T) {
	for _, c := range []struct {
		status     int
		body, says string
	}{
		{429, `{"error":{"name":"RateLimitedError","code":"rate_limited","message":"too many","retryAfterMs":2500}}`, "too many (rate_limited)"},
		{409, `{"error":{"name":"CloudError","code":"escalation_refused","message":"no","missing":[{"key":"cloud.seats.read","scope":"*"}]}}`, "no; missing: cloud.seats.read at * (escalation_refused)"},
		{400, `{"error":{"name":"CloudError","code":"invalid_request","message":"a: bad","issues":[{"path":"a","message":"bad"},{"path":"b","message":"worse"}]}}`, "a: bad; b: worse (invalid_request)"},
		{500, `{"error":{"name":"CloudError","code":"internal","message":"oh","requestId":"r1"}}`, "oh (internal), request r1"},
		{409, `{"error":{"name":"CloudError","code":"internal","message":"oh","requestId":"r1"}}`, "oh (internal)"},
	} {
		_, client := newFar(t, says(c.status, c.body))
		for _, err := range []error{
			client.Ask(t.Context(), http.MethodGet, nil, nil, nil, nil),
			client.Stream(t.Context(), nil, nil, nil),
		} {
			var refused *hostedclient.Error
			if !errors.As(err, &refused) || refused.Status != c.status || err.Error() != c.says {
				t.Errorf("%s is told as %v", c.body, err)
			}
		}
	}
	_, c := newFar(t, says(409, `{"error":{"name":"ProviderWriteRejectedError","code":"graph_cycle","message":"\u001b[2J","path":["a","a"]}}`))
	err := c.Ask(t.Context(), http.MethodGet, nil, nil, nil, nil)
	if authz.CodeOf(err) != authz.CodeGraphCycle || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("%q", err)
	}
	for _, body := range []string{"", "<html>", `{"error":"no"}`, "null"} {
		_, c := newFar(t, says(404, body))
		var misuse *hostedclient.UsageError
		if err := c.Ask(t.Context(), http.MethodGet, nil, nil, nil, nil); !errors.As(err, &misuse) {
			t.Errorf("%q is told as %v", body, err)
		}
	}
}

func TestWhatIsNoAnswer(t *testing.T) {
	f, c := newFar(t, says(200, "[]"))
	var object struct{ N int }
	if err := c.Ask(t.Context(), http.MethodGet, nil, nil, nil, &object); err == nil || !strings.Contains(err.Error(), "answered 200 without a usable result") {
		t.Error(err)
	}
	if err := c.Ask(t.Context(), http.MethodGet, nil, nil, nil, nil); err != nil {
		t.Errorf("nothing is wanted of it: %v", err)
	}
	_, cut := newFar(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "9")
		_, _ = io.WriteString(w, "{")
	})
	_, large := newFar(t, says(200, strings.Repeat(" ", hostedclient.MaxAnswer+1)))
	f.Close()
	var lost *provider.TransportError
	if err := c.Ask(t.Context(), http.MethodGet, nil, nil, nil, nil); !errors.As(err, &lost) || !strings.Contains(err.Error(), "cannot be asked") {
		t.Error(err)
	}
	if err := cut.Ask(t.Context(), http.MethodGet, nil, nil, nil, nil); !errors.As(err, &lost) || !strings.Contains(err.Error(), "broke off") {
		t.Error(err)
	}
	if err := large.Ask(t.Context(), http.MethodGet, nil, nil, nil, nil); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Error(err)
	}
}

func TestStreamIsWholeOrSaysWhereItWasCut(t *testing.T) {
	const a, end = `{"action":"a"}` + "\n", `{"end":true,"count":1}` + "\n"
	for text, want := range map[string]string{
		a + end:                              "",
		a + end + "what follows is not read": "",
		a:                                    "broke off after 1 entries",
		a + `{"act`:                          "broke off after 1 entries",
		a + a + end:                          "announced 1 entries and sent 2",
		`{"action":"` + strings.Repeat("a", hostedclient.MaxAnswer): "entry 1 of",
	} {
		f, c := newFar(t, says(200, text))
		got := ""
		err := c.Stream(t.Context(), []string{"retention", "export"}, map[string]any{"from": 1}, func(line []byte) error { got += string(line); return nil })
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || want == "" && got != a {
			t.Errorf("%.60q ends with %v after %q", text, err, got)
		}
		if f.asked[0] != "GET /orgs/acme/retention/export?from=1" {
			t.Errorf("asked %q", f.asked)
		}
	}
	stop := errors.New("enough")
	_, c := newFar(t, says(200, a+end))
	if err := c.Stream(t.Context(), nil, nil, func([]byte) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
}

func TestRowsFollowCursorsAndSayWhatIsMissing(t *testing.T) {
	f, c := newFar(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("cursor") == "" {
			_, _ = io.WriteString(w, `{"rows":[1,2],"nextCursor":"c","unavailable":[{"application":"docs","code":"late"}],"warnings":["odd"]}`)
			return
		}
		_, _ = io.WriteString(w, `{"rows":[3],"nextCursor":null}`)
	})
	var warned []string
	c.Warn = func(text string) { warned = append(warned, text) }
	var got []int
	if err := hostedclient.Rows(t.Context(), c, []string{"list"}, "rows", map[string]any{"of": "me"}, 0, func(n int) error { got = append(got, n); return nil }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, []int{1, 2, 3}) || !slices.Equal(warned, []string{"odd", "what docs has is missing: late"}) {
		t.Errorf("rows %v, warned %q", got, warned)
	}
	if want := []string{"GET /orgs/acme/list?limit=1000&of=me", "GET /orgs/acme/list?cursor=c&limit=1000&of=me"}; !slices.Equal(f.asked, want) {
		t.Errorf("asked %q", f.asked)
	}
	for _, answer := range []string{`{"rows":7}`, `{}`, `{"rows":[],"nextCursor":7}`, `{"rows":[],"unavailable":7}`} {
		_, c := newFar(t, says(200, answer))
		c.Warn = func(string) {}
		if err := hostedclient.Rows(t.Context(), c, nil, "rows", nil, 0, func(json.RawMessage) error { return nil }); err == nil {
			t.Errorf("%s is a list", answer)
		}
	}
}
