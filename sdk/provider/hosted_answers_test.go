package provider_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/authzhost/authz/sdk/provider"
)

func TestEveryOperationInsistsOnTheMemberThatItsAnswerIsAbout(t *testing.T) {
	for _, op := range provider.Operations {
		if _, ok := hostedCalls[op.Op]; !ok && !elsewhere[op.Op] {
			t.Errorf("%s is not called", op.Op)
		}
	}
	for op, c := range hostedCalls {
		if c.member == "" {
			if err := c.do(t.Context(), hosted(t, answering(200, `{}`))); err != nil {
				t.Errorf("%s is content with any object: %v", op, err)
			}
			continue
		}
		spoiled := map[string]string{"list": `{}`, "object": `[]`, "number": `"7"`, "boolean": `"true"`, "nullable": `7`}[c.kind]
		bodies := []string{`{}`, fmt.Sprintf(`{%q:%s}`, c.member, spoiled)}
		if c.kind == "boolean" {
			bodies = append(bodies, fmt.Sprintf(`{%q:false}`, c.member))
		}
		if c.kind != "nullable" {
			bodies = append(bodies, fmt.Sprintf(`{%q:null}`, c.member))
		}
		for _, body := range bodies {
			err := c.do(t.Context(), hosted(t, answering(201, body)))
			var transport *provider.TransportError
			want := fmt.Sprintf("answered 201 without a usable %q field", c.member)
			if !errors.As(err, &transport) || transport.Status != 201 || !strings.Contains(err.Error(), want) {
				t.Errorf("%s answered with %s: %v, want %q", op, body, err, want)
			}
		}
		if c.kind == "nullable" {
			if err := c.do(t.Context(), hosted(t, answering(200, fmt.Sprintf(`{%q:null}`, c.member)))); err != nil {
				t.Errorf("%s of nothing: %v", op, err)
			}
		}
	}
}

func TestAnAnswerThatIsNoObjectIsShown(t *testing.T) {
	for body, shown := range map[string]string{`[]`: "an array", `null`: "null", ` 7 `: "7", `"x"`: `"x"`, `false`: "false"} {
		for op, c := range hostedCalls {
			err := c.do(t.Context(), hosted(t, answering(200, body)))
			var transport *provider.TransportError
			if want := "answered 200 with " + shown + ", not the JSON object the contract requires"; !errors.As(err, &transport) ||
				transport.Status != 200 || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %s: %v, want %q", op, body, err, want)
			}
		}
	}
}

// The checks of an answer have an order: the first that fails is told.
func TestTheFirstThingWrongWithAnAnswerIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   string
		code   provider.APICode
	}{
		"no JSON, whatever the status": {404, `<html>`, "answered 404 with a non-JSON body", ""},
		"nothing at all":               {204, ``, "answered 204 with a non-JSON body", ""},
		"the API before the status":    {200, `{"error":{"name":"ProviderApiError","code":"unknown_op","message":"m"}}`, "was rejected by the API: m", provider.UnknownOp},
		"the status before the shape":  {500, `[]`, "answered 500", ""},
		"an error without a name":      {503, `{"error":{"message":"m"}}`, "answered 503", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for op, call := range hostedCalls {
				err := call.do(t.Context(), hosted(t, answering(c.status, c.body)))
				var transport *provider.TransportError
				if !errors.As(err, &transport) || transport.Code != c.code || !strings.HasSuffix(err.Error(), c.want) || !strings.Contains(err.Error(), "/v1/"+op+" ") {
					t.Errorf("%s: %v, want %q", op, err, c.want)
				} else if transport.Status != c.status {
					t.Errorf("%s: status %d", op, transport.Status)
				}
			}
		})
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	visited := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visited++ }))
	defer other.Close()
	for status := range map[int]bool{301: true, 302: true, 303: true, 307: true, 308: true} {
		for op, c := range hostedCalls {
			err := c.do(t.Context(), hosted(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", other.URL)
				w.WriteHeader(status)
			}))
			var transport *provider.TransportError
			if !errors.As(err, &transport) || transport.Status != status || !strings.Contains(err.Error(), " failed: ") {
				t.Errorf("%s: %v", op, err)
			}
		}
	}
	if visited > 0 {
		t.Errorf("the secret was carried elsewhere %d times", visited)
	}
}

// A write that is sent twice is done twice.
func TestACallIsSentOnceHoweverItFails(t *testing.T) {
	for name, fail := range map[string]http.HandlerFunc{
		"an outage":                answering(503, `{"error":{"name":"UnavailableError","code":"unavailable","message":"m","detail":{"outcome":"unknown"}}}`),
		"a gateway":                answering(502, `<html>`),
		"a connection that breaks": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"an answer that breaks midway": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9")
			_, _ = io.WriteString(w, `{`)
		},
		"a request to wait and try anew": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "0"); w.WriteHeader(429) },
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex // a broken connection orders nothing
			sent := map[string]int{}
			broken := false
			h := hosted(t, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				sent[r.URL.Path]++
				whole := !broken
				mu.Unlock()
				if whole {
					_, _ = io.WriteString(w, `{}`)
					return
				}
				fail(w, r)
			})
			for op, c := range hostedCalls {
				mu.Lock()
				broken = false
				mu.Unlock()
				if _, err := h.Capabilities(t.Context()); err != nil { // so that a kept connection breaks
					t.Fatal(err)
				}
				mu.Lock()
				broken = true
				clear(sent)
				mu.Unlock()
				if err := c.do(t.Context(), h); err == nil {
					t.Errorf("%s succeeded", op)
				}
				mu.Lock()
				if !reflect.DeepEqual(sent, map[string]int{"/v1/" + op: 1}) {
					t.Errorf("%s was sent as %v", op, sent)
				}
				mu.Unlock()
			}
		})
	}
}

func TestTheBaseLosesWhatIsNoPathAndOneSlash(t *testing.T) {
	var asked, authorization string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, authorization = r.RequestURI, r.Header.Get("Authorization")
		_, _ = io.WriteString(w, `{}`)
	}))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	for url, want := range map[string]string{
		server.URL:                            "/v1/ping",
		server.URL + "/":                      "/v1/ping",
		server.URL + "/apps/docs/":            "/apps/docs/v1/ping",
		server.URL + "/api/v1":                "/api/v1/v1/ping",
		server.URL + "/x//":                   "/x//v1/ping",
		"http://u:p@" + address + "/x/?q=1#f": "/x/v1/ping",
	} {
		h, err := provider.NewHosted(provider.HostedOptions{URL: url, Secret: hostedSecret})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Ping(t.Context()); err != nil || asked != want || authorization != "Bearer "+hostedSecret {
			t.Errorf("%s: asked %s with %q, %v", url, asked, authorization, err)
		}
	}
}

// carried counts the requests that a transport of the caller's own carries.
type carried struct{ n int }

func (c *carried) RoundTrip(*http.Request) (*http.Response, error) {
	c.n++
	return nil, errors.New("no route to host")
}

func TestTheTransportIsTheCallers(t *testing.T) {
	via := &carried{}
	h, err := provider.NewHosted(provider.HostedOptions{URL: "https://authz.example", Secret: hostedSecret, Transport: via})
	if err != nil {
		t.Fatal(err)
	}
	for op, c := range hostedCalls {
		via.n = 0
		err := c.do(t.Context(), h)
		var transport *provider.TransportError
		if !errors.As(err, &transport) || transport.Status != 0 || via.n != 1 || !strings.Contains(err.Error(), "failed: ") {
			t.Errorf("%s: %v after %d requests", op, err, via.n)
		}
	}
}

// The time of a call ends with the last byte, not with the first.
func TestEveryCallEndsInTime(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{`)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	h, err := provider.NewHosted(provider.HostedOptions{URL: server.URL, Secret: hostedSecret, Timeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for op, c := range hostedCalls {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		err := c.do(ctx, h)
		var transport *provider.TransportError
		if !errors.As(err, &transport) || transport.Status != 0 || !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			t.Errorf("%s: %v", op, err)
		}
		cancel()
	}
}

// An application may know the operations on org snapshots by their older names only.
func TestOrgSnapshotsFallBackToTheOlderNames(t *testing.T) {
	var asked []string
	h := hosted(t, func(w http.ResponseWriter, r *http.Request) {
		op := strings.TrimPrefix(r.URL.Path, "/v1/")
		asked = append(asked, op)
		switch op {
		case "org.exportSnapshot":
			_, _ = io.WriteString(w, `{"snapshot":{"groups":[],"roles":[],"globalGrants":[],"globalRevokes":[],"users":[],"pendingGlobalRequests":[]}}`)
		case "org.applySnapshot":
			_, _ = io.WriteString(w, `{"applied":true}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":{"name":"ProviderApiError","code":"unknown_op","message":"unknown operation"}}`)
		}
	})
	if _, err := h.ExportOrgSnapshot(t.Context()); err != nil {
		t.Error(err)
	}
	if err := h.ApplyOrgSnapshot(t.Context(), provider.ApplyOrgSnapshotInput{Source: "sync:acme"}); err != nil {
		t.Error(err)
	}
	if want := []string{"exportOrgSnapshot", "org.exportSnapshot", "applyOrgSnapshot", "org.applySnapshot"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %v, want %v", asked, want)
	}
	// What is refused otherwise is not tried again under another name.
	asked = nil
	h = hosted(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"name":"ProviderApiError","code":"unauthorized","message":"unauthorized"}}`)
	})
	if _, err := h.ExportOrgSnapshot(t.Context()); err == nil || len(asked) != 1 {
		t.Errorf("%v after %v", err, asked)
	}
}
