package provider_test

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

const hostedSecret = "a-secret-of-the-test"

func hosted(t *testing.T, serve http.HandlerFunc) *provider.Hosted {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	h, err := provider.NewHosted(provider.HostedOptions{URL: server.URL, Secret: hostedSecret, Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func answering(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func TestASecretTravelsNowhereInTheOpen(t *testing.T) {
	for _, url := range []string{"", "docs", "/v1", "//authz.example", "http://authz.example", "ftp://localhost", "https:", "https://:443", "http:localhost"} {
		_, err := provider.NewHosted(provider.HostedOptions{URL: url, Secret: hostedSecret})
		var transport *provider.TransportError
		if !errors.As(err, &transport) || transport.Status != 0 {
			t.Errorf("%q: %v", url, err)
		}
	}
	for _, url := range []string{"https://u:p@authz.example/apps/docs/?q=1#f", "http://localhost:1", "http://127.0.0.1", "http://[::1]:7/x"} {
		h, err := provider.NewHosted(provider.HostedOptions{URL: url, Secret: hostedSecret})
		if err != nil {
			t.Errorf("%q: %v", url, err)
			continue
		}
		for _, printed := range []string{fmt.Sprint(h), fmt.Sprintf("%+v %#v", h, h)} {
			if strings.Contains(printed, hostedSecret) || strings.Contains(printed, "u:p") || strings.Contains(printed, "?") {
				t.Errorf("printed as %s", printed)
			}
		}
	}
	for _, secret := range []string{hostedSecret + "\n", "\x00" + hostedSecret} {
		_, err := provider.NewHosted(provider.HostedOptions{URL: "https://authz.example", Secret: secret})
		if err == nil || !strings.Contains(err.Error(), "trim it") || strings.Contains(err.Error(), hostedSecret) {
			t.Errorf("a secret that no header carries: %v", err)
		}
	}
	if _, err := provider.NewHosted(provider.HostedOptions{URL: "https://authz.example"}); err == nil {
		t.Error("no secret is accepted")
	}
}

// Every operation reads its answer through one of a few ways; each must tell a
// transport that failed from a far side that refuses.
func TestAnAnswerThatCannotBeUsedIsATransportError(t *testing.T) {
	ways := map[string]func(h *provider.Hosted) error{
		"one": func(h *provider.Hosted) error {
			_, err := h.CountGrants(t.Context(), provider.GrantQuery{})
			return err
		},
		"void": func(h *provider.Hosted) error { return h.DeleteGrant(t.Context(), "g", authz.AdminProvenance("root")) },
		"list": func(h *provider.Hosted) error {
			for _, err := range h.ListGrants(t.Context(), provider.GrantQuery{}) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"supply": func(h *provider.Hosted) error {
			_, err := h.GetSubjectAccess(t.Context(), authz.UserPrincipal("u"))
			return err
		},
		"since": func(h *provider.Hosted) error {
			_, err := h.EventLog().Since(t.Context(), authz.Position{}, 0)
			return err
		},
		"published": func(h *provider.Hosted) error { _, err := h.GetPublishedCatalog(t.Context()); return err },
	}
	for _, c := range []struct {
		status int
		body   string
		want   string
		by     string // "" is every way
	}{
		{502, "<html>", "answered 502 with a non-JSON body", ""},
		{401, `{"error":{"name":"ProviderApiError","code":"unauthorized","message":"unauthorized"}}`, "was rejected by the API: unauthorized", ""},
		{500, `{"oops":1}`, "answered 500", ""},
		{200, `nonsense`, "non-JSON body", ""},
		{307, ``, "redirects are not followed", ""},
		{200, `{}`, `without a usable "count" field`, "one"},
		{200, `{"count":null}`, `without a usable "count" field`, "one"},
		{200, `{"count":"7"}`, `without a usable "count" field`, "one"},
		{200, `{}`, `without a usable "grants" field`, "list"},
		{200, `{"grants":{}}`, `without a usable "grants" field`, "list"},
		{200, `{"grants":[{"id":7}]}`, `without a usable "grants" field`, "list"},
		{200, `{"grants":[{"id":"g"}`, "non-JSON body", "list"},
		{200, `{"error":"x"}`, `without a usable "grants" field`, "list"},
		{200, `{"grants":[]} {}`, "non-JSON body", "list"},
		{200, `{"closure":[],"grants":[],"revokes":[],"roles":[],"managerChain":[],"unresolvedRoleIds":[],"userId":"u"}`, `without a usable "active" field`, "supply"},
		{200, `{"upTo":7}`, `without a usable "events" field`, "since"},
		{200, `{}`, `without a usable "published" field`, "published"},
	} {
		for by, ask := range ways {
			if c.by != "" && c.by != by {
				continue
			}
			err := ask(hosted(t, answering(c.status, c.body)))
			var transport *provider.TransportError
			if !errors.As(err, &transport) || !strings.Contains(err.Error(), c.want) || transport.Status != c.status {
				t.Errorf("%s of %d %s: %v", by, c.status, c.body, err)
			}
			if err != nil && strings.Contains(err.Error(), hostedSecret) {
				t.Errorf("the error shows the secret: %v", err)
			}
		}
	}
	for by, ask := range ways { // an envelope counts whatever the status
		for _, status := range []int{200, 404} {
			err := ask(hosted(t, answering(status, `{"error":{"name":"ProviderWriteRejectedError","code":"not_found","message":"m"}}`)))
			if authz.CodeOf(err) != authz.CodeNotFound {
				t.Errorf("%s of %d: %v", by, status, err)
			}
		}
	}
}

func TestALongListIsReadInPages(t *testing.T) {
	const rows = 25_000
	var bodies []string
	h := hosted(t, func(w http.ResponseWriter, r *http.Request) {
		b := make([]byte, r.ContentLength)
		_, _ = r.Body.Read(b)
		bodies = append(bodies, string(b))
		after, limit := -1, rows
		_, _ = fmt.Sscanf(strings.TrimPrefix(string(b), `{"after":"`), `%d"`, &after)
		if i := strings.Index(string(b), `"limit":`); i >= 0 {
			_, _ = fmt.Sscanf(string(b)[i:], `"limit":%d`, &limit)
		}
		fmt.Fprint(w, `{"grants":[`)
		for n := after + 1; n < min(rows, after+1+limit); n++ {
			if n > after+1 {
				fmt.Fprint(w, ",")
			}
			fmt.Fprintf(w, `{"id":"%05d"}`, n)
		}
		fmt.Fprint(w, `]}`)
	})
	for limit, calls := range map[int]int{0: 1, 5: 1, 10_000: 1, 20_001: 3} {
		list := h.ListGrants(t.Context(), provider.GrantQuery{Paging: provider.Paging{Limit: limit}})
		for range 2 { // a list may be read again
			bodies = nil
			next := 0
			for g, err := range list {
				if err != nil || g.ID != fmt.Sprintf("%05d", next) {
					t.Fatalf("limit %d: row %d is %v, %v", limit, next, g, err)
				}
				next++
			}
			want := limit
			if limit == 0 {
				want = rows
			}
			if next != want || len(bodies) != calls {
				t.Errorf("limit %d: %d rows in %d calls", limit, next, len(bodies))
			}
		}
	}
	for range h.ListGrants(t.Context(), provider.GrantQuery{}) {
		break // a reader that stops is no error
	}
}

// breaking is a transport whose answers break off with the last of their bytes.
type breaking string

func (b breaking) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Body: io.NopCloser(iotest.DataErrReader(io.MultiReader(
		strings.NewReader(string(b)), iotest.ErrReader(io.ErrUnexpectedEOF))))}, nil
}

func TestAListThatBreaksOff(t *testing.T) {
	list := func(answer string) iter.Seq2[authz.Grant, error] {
		h, err := provider.NewHosted(provider.HostedOptions{URL: "https://authz.example", Secret: hostedSecret, Transport: breaking(answer)})
		if err != nil {
			t.Fatal(err)
		}
		return h.ListGrants(t.Context(), provider.GrantQuery{})
	}
	const two = `{"grants":[{"id":"a"},{"id":"b"}`
	for range list(two + ",") {
		break // a reader that stops is asked for nothing more
	}
	for name, answer := range map[string]string{"in the list": two + ",", "after the answer": two + "]}"} {
		var transport *provider.TransportError
		if err := ended(list(answer)); !errors.As(err, &transport) || transport.Status != 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestACallEndsInTime(t *testing.T) {
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"grants":[`))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(ended)
	}))
	defer server.Close()
	h, err := provider.NewHosted(provider.HostedOptions{URL: server.URL, Secret: hostedSecret, Timeout: time.Second}) // in which a busy machine reaches the server
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range h.ListGrants(t.Context(), provider.GrantQuery{}) {
		var transport *provider.TransportError
		if !errors.As(err, &transport) || transport.Status != 0 {
			t.Errorf("got %v", err)
		}
	}
	<-ended
}

func TestTextThatJSONCannotCarryIsRefusedHere(t *testing.T) {
	h := hosted(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	if err := h.DeleteGrant(t.Context(), "g\xff", authz.AdminProvenance("root")); authz.CodeOf(err) != authz.CodeValidation {
		t.Errorf("got %v", err)
	}
	sent := ""
	h = hosted(t, func(w http.ResponseWriter, r *http.Request) {
		b := make([]byte, r.ContentLength)
		_, _ = r.Body.Read(b)
		sent = string(b)
		_, _ = w.Write([]byte(`{}`))
	})
	for _, id := range []string{"g\uFFFD", `g\ufffd`} {
		if err := h.DeleteGrant(t.Context(), id, authz.AdminProvenance("root")); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	if !strings.Contains(sent, `"grantId":"g\\ufffd"`) {
		t.Errorf("sent %s", sent)
	}
}

func TestAHostedProviderTellsOnlyWhatItIsGiven(t *testing.T) {
	h := hosted(t, answering(200, `{}`))
	var heard []authz.Event
	stop := h.OnInvalidate(func(e authz.Event) { heard = append(heard, e) })
	if err := h.DeleteGrant(t.Context(), "g", authz.AdminProvenance("root")); err != nil {
		t.Fatal(err)
	}
	h.IngestEvents([]authz.Event{authz.UserEvent("u"), {Type: authz.EventAll}})
	stop()
	stop()
	h.IngestEvents([]authz.Event{{Type: authz.EventAll}})
	if len(heard) != 2 || heard[0].UserID != "u" {
		t.Errorf("heard %v", heard)
	}
}
