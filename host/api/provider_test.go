package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

const (
	refusedName = "ProviderWriteRejectedError"
	apiName     = "ProviderApiError"
	admin       = `"provenance":{"kind":"admin","actorUserId":"root"}`
)

// Each step (spec: provider-api §2), and that an earlier one answers before a later
// one.
func TestStepsOfServingARequest(t *testing.T) {
	w := newWorld(t, worldOptions{bodyLimit: 1000, persist: new(bool)})
	good := "Bearer " + secret
	badBody := "the request body must be a JSON object of the operation's named parameters"
	for name, c := range map[string]struct {
		method, path, body, auth string
		status                   int
		name, code, message      string
	}{
		"1 only POST":                       {"GET", "/v1/ping", "", good, 405, apiName, "method_not_allowed", "POST only"},
		"1 comes before credentials":        {"PUT", "/v1/ping", "", "", 405, apiName, "method_not_allowed", "POST only"},
		"1 comes before the path":           {"DELETE", "/nowhere", "", good, 405, apiName, "method_not_allowed", "POST only"},
		"1 POST is spelt in capitals":       {"post", "/v1/ping", "", good, 405, apiName, "method_not_allowed", "POST only"},
		"2 credentials":                     {"POST", "/v1/ping", "{}", "Bearer wrong", 401, apiName, "unauthorized", "unauthorized"},
		"2 comes before the path":           {"POST", "/nowhere", "{}", "", 401, apiName, "unauthorized", "unauthorized"},
		"2 comes before the body":           {"POST", "/v1/ping", "no JSON", "", 401, apiName, "unauthorized", "unauthorized"},
		"3 the path names an operation":     {"POST", "/ping", "{}", good, 404, apiName, "unknown_op", "expected a path of the form {base}/v1/{op}"},
		"3 an ambiguous path":               {"POST", "/v1/ping/v1/listGrants", "{}", good, 404, apiName, "unknown_op", "expected a path of the form {base}/v1/{op}"},
		"3 comes before the size":           {"POST", "/ping", strings.Repeat(" ", 2000), good, 404, apiName, "unknown_op", "expected a path"},
		"4 the body within the limit":       {"POST", "/v1/ping", strings.Repeat(" ", 1001), good, 413, apiName, "payload_too_large", "1000"},
		"4 comes before its form":           {"POST", "/v1/ping", strings.Repeat("x", 1001), good, 413, apiName, "payload_too_large", ""},
		"5 the body is an object":           {"POST", "/v1/ping", "[]", good, 400, apiName, "bad_request", badBody},
		"5 comes before the name":           {"POST", "/v1/nope", "not json", good, 400, apiName, "bad_request", badBody},
		"6 the name is known":               {"POST", "/v1/nope", "{}", good, 404, apiName, "unknown_op", `unknown operation "nope"`},
		"6 names are quoted and cut":        {"POST", "/v1/" + strings.Repeat("n", 130), "{}", good, 404, apiName, "unknown_op", `…(+10 more)"`},
		"6 names have their case":           {"POST", "/v1/PING", "{}", good, 404, apiName, "unknown_op", `unknown operation "PING"`},
		"7 required parameters":             {"POST", "/v1/deleteGrant", "{}", good, 422, refusedName, "validation", `deleteGrant requires the "grantId" field`},
		"7 the first missing one":           {"POST", "/v1/deleteGrant", `{"grantId":"g"}`, good, 422, refusedName, "validation", `deleteGrant requires the "provenance" field`},
		"7 null is missing":                 {"POST", "/v1/deleteGrant", `{"grantId":null}`, good, 422, refusedName, "validation", `deleteGrant requires the "grantId" field`},
		"7 names have their exact case":     {"POST", "/v1/deleteGrant", `{"GrantId":"g",` + admin + `}`, good, 422, refusedName, "validation", `deleteGrant requires the "grantId" field`},
		"7 comes before the gate":           {"POST", "/v1/epoch.since", `{}`, good, 422, refusedName, "validation", `epoch.since requires the "seq" field`},
		"8 the gate of the operation":       {"POST", "/v1/epoch.head", `{}`, good, 501, refusedName, "unsupported", "this application does not persist events (events.persist is off)"},
		"8 comes before types":              {"POST", "/v1/epoch.since", `{"seq":"x"}`, good, 501, refusedName, "unsupported", "events.persist is off"},
		"9 the operation: not found":        {"POST", "/v1/deleteGrant", `{"grantId":"g",` + admin + `}`, good, 404, refusedName, "not_found", "grant not found"},
		"9 the operation: type of a member": {"POST", "/v1/deleteGrant", `{"grantId":5,` + admin + `}`, good, 422, refusedName, "validation", `deleteGrant: "grantId" must be a string`},
	} {
		t.Run(name, func(t *testing.T) {
			auth := []string{c.auth}
			if c.auth == "" {
				auth = nil
			}
			a := w.send(c.method, c.path, c.body, auth...)
			a.expectError(t, c.status, c.name, c.code, c.message)
			if got := a.header.Get("Allow"); (c.status == 405) != (got == "POST") {
				t.Errorf("Allow: %q", got)
			}
			if got := a.header.Get("WWW-Authenticate"); (c.status == 401) != (got == "Bearer") {
				t.Errorf("WWW-Authenticate: %q", got)
			}
			if got := a.header.Get("Access-Control-Allow-Origin") + a.header.Get("Set-Cookie") + a.header.Get("Location"); got != "" {
				t.Errorf("a header that must not be there: %q", got)
			}
		})
	}
	if got := w.mustOK("countGrants", ""); got["count"] != 0.0 {
		t.Errorf("bad input wrote grants: %v", got)
	}
}

func TestTheBodyIsMeasuredWhileItIsRead(t *testing.T) {
	w := newWorld(t, worldOptions{bodyLimit: 1000})
	conn, err := net.Dial("tcp", w.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// Chunked: no Content-Length promises anything.
	fmt.Fprintf(conn, "POST /v1/ping HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nTransfer-Encoding: chunked\r\n\r\n", secret)
	for range 3 {
		fmt.Fprintf(conn, "190\r\n%s\r\n", strings.Repeat(" ", 400))
	}
	fmt.Fprint(conn, "0\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("1200 bytes in chunks: %d", resp.StatusCode)
	}
	exact := "{" + strings.Repeat(" ", 998) + "}"
	if a := w.post("ping", exact); a.status != http.StatusOK {
		t.Errorf("1000 bytes: %d %s", a.status, a.body)
	}
}

func TestCredentials(t *testing.T) {
	w := newWorld(t, worldOptions{})
	for name, headers := range map[string][]string{
		"the current secret":                 {"Bearer " + secret},
		"the secret before":                  {"Bearer " + oldSecret},
		"without a scheme, the value itself": {secret},
	} {
		if a := w.send("POST", "/v1/ping", "", headers...); a.status != http.StatusOK {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	var first *answer
	for name, headers := range map[string][]string{
		"none":                       nil,
		"empty":                      {""},
		"no token":                   {"Bearer"},
		"an empty token":             {"Bearer "},
		"a wrong token":              {"Bearer " + strings.Repeat("x", len(secret))},
		"a prefix":                   {"Bearer " + secret[:len(secret)-1]},
		"a suffix":                   {"Bearer " + secret + "x"},
		"another case of the scheme": {"bearer " + secret},
		"another scheme":             {"Basic " + secret},
		"two spaces":                 {"Bearer  " + secret},
		"twice in one":               {"Bearer Bearer " + secret},
		"two headers":                {"Bearer " + secret, "Bearer " + secret},
		"two headers, one good":      {"Bearer nonsense", "Bearer " + secret},
		"both secrets in one":        {"Bearer " + secret + ", Bearer " + oldSecret},
	} {
		a := w.send("POST", "/v1/ping", "{}", headers...)
		a.header.Del("Date")
		if a.status != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, a.status)
		}
		if first == nil {
			first = &a
		}
		if diff := cmp.Diff(*first, a, cmp.AllowUnexported(answer{})); diff != "" {
			t.Errorf("%s: this failure differs from another:\n%s", name, diff)
		}
	}
}

func TestAHandlerNeedsStrongSecrets(t *testing.T) {
	w := newWorld(t, worldOptions{})
	build := func(secrets ...string) error {
		_, err := api.NewProviderHandler(api.ProviderOptions{Application: w.app, ApplicationID: "a",
			Secrets: func() []string { return secrets }})
		return err
	}
	for _, weak := range [][]string{nil, {""}, {"undefined"}, {"fifteen chars.."}, {"  fifteen chars..  "}, {secret, "sh0rt"}} {
		err := build(weak...)
		if err == nil {
			t.Errorf("%q was accepted", weak)
		} else if len(weak) > 0 && weak[len(weak)-1] != "" && strings.Contains(err.Error(), weak[len(weak)-1]) {
			t.Errorf("the error repeats the secret: %v", err)
		}
	}
	if err := build("sixteen chars..."); err != nil {
		t.Errorf("16 characters: %v", err)
	}
	for name, o := range map[string]api.ProviderOptions{
		"no application": {ApplicationID: "a", Secrets: func() []string { return []string{secret} }},
		"no id":          {Application: w.app, Secrets: func() []string { return []string{secret} }},
		"no secrets":     {Application: w.app, ApplicationID: "a"},
	} {
		if _, err := api.NewProviderHandler(o); err == nil {
			t.Errorf("%s: built", name)
		}
	}
}

func TestRotatedSecretsHoldAtOnceAndWeakOnesOpenNothing(t *testing.T) {
	w := newWorld(t, worldOptions{})
	secrets := []string{secret}
	h, err := api.NewProviderHandler(api.ProviderOptions{Application: w.app, ApplicationID: "a", Secrets: func() []string { return secrets }})
	if err != nil {
		t.Fatal(err)
	}
	w.server.Config.Handler = h
	secrets = []string{"weak", "", oldSecret}
	for token, want := range map[string]int{secret: 401, "weak": 401, oldSecret: 200} {
		if a := w.send("POST", "/v1/ping", "", "Bearer "+token); a.status != want {
			t.Errorf("%s: %d, want %d", token, a.status, want)
		}
	}
}

// faulty is an application with one method replaced.
type faulty struct {
	api.Backend
	listGrants   func(ctx context.Context) func(func(authz.Grant, error) bool)
	capabilities func(ctx context.Context) (provider.Capabilities, error)
}

func (f faulty) Capabilities(ctx context.Context) (provider.Capabilities, error) {
	if f.capabilities == nil {
		return f.Backend.Capabilities(ctx)
	}
	return f.capabilities(ctx)
}

func TestErrorsThatAreNotOurOwnCrossWithoutTheirText(t *testing.T) {
	var fail func() error
	w := newWorld(t, worldOptions{decorate: func(a api.Backend) api.Backend {
		return faulty{Backend: a, capabilities: func(context.Context) (provider.Capabilities, error) {
			return provider.Capabilities{}, fail()
		}}
	}})
	fail = func() error { return errors.New("SELECT secret FROM driver") }
	a := w.post("capabilities", "")
	a.expectError(t, 500, "Error", "", "internal error")
	if strings.Contains(a.body, "SELECT") {
		t.Errorf("the text of the error crossed: %s", a.body)
	}
	fail = func() error { panic("SELECT secret FROM driver") }
	a = w.post("capabilities", "")
	a.expectError(t, 500, "Error", "", "internal error")
	if strings.Contains(a.body, "SELECT") {
		t.Errorf("the text of the panic crossed: %s", a.body)
	}
	fail = func() error {
		return &authz.UnavailableError{Message: "storage is unavailable", Outcome: authz.OutcomeUnknown, Cause: errors.New("SELECT")}
	}
	a = w.post("capabilities", "")
	a.expectError(t, 503, "UnavailableError", "unavailable", "storage is unavailable")
	if !strings.Contains(a.body, `"detail":{"outcome":"unknown"}`) || strings.Contains(a.body, "SELECT") {
		t.Errorf("outcome and nothing of the cause: %s", a.body)
	}
	fail = func() error { return nil }
	w.mustOK("capabilities", "") // the server lives
}

func TestAPanicLeavesTheConnectionUsable(t *testing.T) {
	panics := true
	w := newWorld(t, worldOptions{decorate: func(a api.Backend) api.Backend {
		return faulty{Backend: a, capabilities: func(context.Context) (provider.Capabilities, error) {
			if panics {
				panic("once")
			}
			return provider.Capabilities{}, nil
		}}
	}})
	conn, err := net.Dial("tcp", w.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	for _, want := range []int{500, 200} {
		fmt.Fprintf(conn, "POST /v1/capabilities HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 2\r\n\r\n{}", secret)
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != want {
			t.Errorf("status %d, want %d", resp.StatusCode, want)
		}
		panics = false
	}
}

func TestResultsAreObjectsWithoutHTMLEscaping(t *testing.T) {
	w := newWorld(t, worldOptions{})
	a := w.post("createRole", `{"input":{"id":"<r&d>","name":"R & D","patterns":[]},`+admin+`}`)
	if a.status != 200 || a.body != `{"role":{"id":"<r&d>","name":"R & D","patterns":[]}}` {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := w.post("setUserActive", `{"userId":"u","active":true,`+admin+`}`); a.body != `{}` {
		t.Errorf("a void operation answered %q", a.body)
	}
}
