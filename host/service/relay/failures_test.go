package relay_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/host/service/relay"
	"github.com/authzhost/authz/internal/freeport"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

func answering(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func envelope(status int, error string) http.HandlerFunc {
	return answering(status, `{"error":`+error+`}`)
}

const (
	unreachable  = "ProviderTransportError application_unreachable outcome=not_applied"
	timeout      = "ProviderTransportError application_timeout"
	credential   = "ProviderTransportError application_credential_rejected"
	protocol     = "ProviderTransportError application_protocol_error"
	unavailable  = "ProviderTransportError application_unavailable"
	broken       = "ProviderTransportError application_error"
	isUnknown    = " outcome=unknown"
	isNotApplied = " outcome=not_applied"
)

// What the far side does, and what is answered here (spec: hosted-api §9). No row
// is a success, and none is a denial.
func TestWhatTheFarSideDoesIsCalledAsTheTableSays(t *testing.T) {
	huge := strings.Repeat(" ", 9<<20)
	for name, c := range map[string]struct {
		far               http.HandlerFunc
		read, list, write string // list "" is as read
	}{
		"slow to begin": {func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body); <-r.Context().Done() }, timeout, "", timeout + isUnknown},
		"slow to end": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // the end of the connection is noticed only then
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte(" "))
				w.(http.Flusher).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		}, timeout, "", timeout + isUnknown},
		"cut before the answer": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, timeout, "", timeout + isUnknown},
		"cut within the answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(`{"grants":[`))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, timeout, "", timeout + isUnknown},
		"401":              {envelope(401, `{"name":"ProviderApiError","code":"unauthorized","message":"unauthorized"}`), credential, "", credential + isNotApplied},
		"401 of a proxy":   {answering(401, `<html>`), credential, "", credential + isNotApplied},
		"429 of a bad one": {envelope(429, `{"name":"ProviderApiError","code":"rate_limited","message":"m"}`), credential, "", credential + isNotApplied},
		"429 of a proxy":   {answering(429, `<html>`), protocol, "", protocol + isUnknown},
		"400 bad_request":  {envelope(400, `{"name":"ProviderApiError","code":"bad_request","message":"m"}`), protocol, "", protocol + isNotApplied},
		"404 unknown_op":   {envelope(404, `{"name":"ProviderApiError","code":"unknown_op","message":"m"}`), protocol, "", protocol + isNotApplied},
		"405":              {envelope(405, `{"name":"ProviderApiError","code":"method_not_allowed","message":"m"}`), protocol, "", protocol + isNotApplied},
		"413":              {envelope(413, `{"name":"ProviderApiError","code":"payload_too_large","message":"m"}`), protocol, "", protocol + isNotApplied},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, protocol, "", protocol + isUnknown},
		"not JSON":          {answering(200, `<html>ok</html>`), protocol, "", protocol + isUnknown},
		"not JSON, 503":     {answering(503, `<html>down</html>`), protocol, "", protocol + isUnknown},
		"an array":          {answering(200, `[]`), protocol, "", protocol + isUnknown},
		"a truth":           {answering(200, `true`), protocol, "", protocol + isUnknown},
		"empty":             {answering(200, ``), protocol, "", protocol + isUnknown},
		"no member":         {answering(200, `{"allowed":true}`), protocol, "", protocol + isUnknown},
		"null member":       {answering(200, `{"count":null,"grants":null,"grant":null}`), protocol, "", protocol + isUnknown},
		"wrong member":      {answering(200, `{"count":"3","grants":{},"grant":[]}`), protocol, "", protocol + isUnknown},
		"deep":              {answering(200, `{"count":`+strings.Repeat(`[`, 20000)), protocol, "", protocol + isUnknown},
		"trailing":          {answering(200, `{"count":3,"grants":[],"grant":{}} {}`), protocol, "", protocol + isUnknown},
		"over 8 MiB":        {answering(200, `{"count":3,"grants":[],"grant":{"id":"x"}`+huge+`}`), protocol, "ok", protocol + isUnknown},
		"over 64 MiB":       {endless, protocol, "", protocol + isUnknown},
		"unavailable":       {envelope(503, `{"name":"UnavailableError","code":"unavailable","message":"m"}`), unavailable, "", unavailable + isUnknown},
		"not applied":       {envelope(503, `{"name":"UnavailableError","code":"unavailable","message":"m","detail":{"outcome":"not_applied"}}`), unavailable, "", unavailable + isNotApplied},
		"a strange outcome": {envelope(503, `{"name":"UnavailableError","code":"unavailable","message":"m","detail":{"outcome":"applied"}}`), unavailable, "", unavailable + isUnknown},
		"its own failure":   {envelope(500, `{"name":"Error","message":"internal error"}`), broken, "", broken + isUnknown},
		"a denial":          {envelope(403, `{"name":"AccessDeniedError","code":"forbidden","message":"no","detail":{"permissions":["x"]}}`), broken, "", broken + isUnknown},
		"a denial in a 200": {envelope(200, `{"name":"AccessDeniedError","code":"inactive","message":"no"}`), broken, "", broken + isUnknown},
		"our own error":     {envelope(404, `{"name":"CloudError","code":"org_not_found","message":"no"}`), broken, "", broken + isUnknown},
		"a strange code":    {envelope(409, `{"name":"ProviderWriteRejectedError","code":"allowed","message":"m"}`), broken, "", broken + isUnknown},

		"validation":   {rejecting("validation"), "ProviderWriteRejectedError validation", "", "ProviderWriteRejectedError validation"},
		"not_found":    {rejecting("not_found"), "ProviderWriteRejectedError not_found", "", "ProviderWriteRejectedError not_found"},
		"conflict":     {rejecting("conflict"), "ProviderWriteRejectedError conflict", "", "ProviderWriteRejectedError conflict"},
		"graph_cycle":  {rejecting("graph_cycle"), "ProviderWriteRejectedError graph_cycle", "", "ProviderWriteRejectedError graph_cycle"},
		"not_org_root": {rejecting("not_org_root"), "ProviderWriteRejectedError not_org_root", "", "ProviderWriteRejectedError not_org_root"},
		"unsupported":  {rejecting("unsupported"), "ProviderWriteRejectedError unsupported", "", "ProviderWriteRejectedError unsupported"},
		"cycle":        {envelope(409, `{"name":"GraphCycleError","message":"m","detail":{"path":["a","b","a"]}}`), "GraphCycleError", "", "GraphCycleError"},
		"unknown key":  {envelope(500, `{"name":"UnknownPermissionError","message":"m","detail":{"permission":"p"}}`), "UnknownPermissionError", "", "UnknownPermissionError"},
		"no condition": {envelope(500, `{"name":"MissingConditionError","message":"m","detail":{"permission":"p","shape":"can"}}`), "MissingConditionError", "", "MissingConditionError"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(named(c.far))
			t.Cleanup(server.Close)
			times := relay.Times{Connect: time.Minute, Call: 5 * time.Minute} // a busy machine takes its time, with 64 MiB above all
			if strings.HasPrefix(name, "slow ") {
				times.Call = time.Second // in which a busy machine sends the request
			}
			a := newRelay(t, relay.Options{Times: times}).For(target(server.URL))
			if c.list == "" {
				c.list = c.read
			}
			if got := said(t, read(a)); got != c.read {
				t.Errorf("a read: %s, not %s", got, c.read)
			}
			if got := said(t, listing(a)); got != c.list {
				t.Errorf("a list: %s, not %s", got, c.list)
			}
			if got := said(t, write(a)); got != c.write {
				t.Errorf("a write: %s, not %s", got, c.write)
			}
		})
	}
}

func rejecting(code string) http.HandlerFunc {
	return envelope(409, fmt.Sprintf(`{"name":"ProviderWriteRejectedError","code":%q,"message":"m","detail":{"path":["a","a"]}}`, code))
}

// endless is more than any answer may be.
func endless(w http.ResponseWriter, _ *http.Request) {
	row := []byte(`{"id":"` + strings.Repeat("x", 1<<20) + `"},`)
	_, _ = w.Write([]byte(`{"grants":[`))
	for range 65 {
		if _, err := w.Write(row); err != nil {
			return
		}
	}
}

func TestAnApplicationThatIsDownChangedNothing(t *testing.T) {
	address, err := freeport.Address()
	must(t, err)
	base := "http://" + address
	a := newRelay(t, relayOptions()).For(target(base))
	for _, call := range []func() error{func() error { return read(a) }, func() error { return listing(a) }, func() error { return write(a) }} {
		if got := said(t, call()); got != unreachable {
			t.Errorf("%s", got)
		}
	}
}

func TestWhatIsNoHTTPIsAProtocolError(t *testing.T) {
	base := raw(t, func(c net.Conn) {
		asked := make([]byte, 4096)
		n, _ := c.Read(asked)
		if bytes.Contains(asked[:n], []byte("/v1/ping")) {
			_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + pong))
			return
		}
		_, _ = c.Write([]byte("SSH-2.0-OpenSSH_9.2p1\r\n\r\n"))
	})
	if got := said(t, write(newRelay(t, relayOptions()).For(target(base)))); got != protocol+isUnknown {
		t.Errorf("%s", got)
	}
}

func TestAConnectionThatIsNeverEstablishedEndsWithItsOwnTime(t *testing.T) {
	// TLS to a server that says nothing: the handshake is part of connecting.
	base := raw(t, func(net.Conn) { <-t.Context().Done() })
	started := time.Now()
	a := newRelay(t, relay.Options{Times: relay.Times{Connect: 300 * time.Millisecond, Call: time.Minute}}).For(target(strings.Replace(base, "http:", "https:", 1)))
	if got := said(t, write(a)); got != unreachable {
		t.Errorf("%s", got)
	}
	if took := time.Since(started); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
}

// A lying application: a closure of somebody else, or one that leaves out what
// would narrow it.
func TestAClosureThatCannotBeTrustedIsNone(t *testing.T) {
	whole := func(change func(map[string]string)) string {
		members := map[string]string{"userId": `"u"`, "closure": `["user:u"]`, "grants": `[]`, "revokes": `[]`, "roles": `[]`,
			"managerChain": `[]`, "unresolvedRoleIds": `[]`, "active": `true`}
		change(members)
		var parts []string
		for k, v := range members {
			parts = append(parts, fmt.Sprintf("%q:%s", k, v))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	for name, body := range map[string]string{
		"about another user": whole(func(m map[string]string) { m["userId"] = `"admin"` }),
		"about a service":    whole(func(m map[string]string) { m["userId"] = `null` }),
		"no revokes":         whole(func(m map[string]string) { delete(m, "revokes") }),
		"null revokes":       whole(func(m map[string]string) { m["revokes"] = `null` }),
		"no activity":        whole(func(m map[string]string) { delete(m, "active") }),
		"active as text":     whole(func(m map[string]string) { m["active"] = `"yes"` }),
	} {
		_, err := asking(t, answering(200, body)).GetSubjectAccess(context.Background(), authz.UserPrincipal("u"))
		if got := said(t, err); got != protocol {
			t.Errorf("%s: %s", name, got)
		}
	}
	_, err := asking(t, answering(200, whole(func(map[string]string) {}))).GetSubjectAccess(context.Background(), authz.UserPrincipal("u"))
	must(t, err)
}

func TestTheTextOfARefusalIsMadeFitToBePassedOn(t *testing.T) {
	a := asking(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(422)
		_, _ = fmt.Fprintf(w, `{"error":{"name":"ProviderWriteRejectedError","code":"graph_cycle","message":"your %s \u001b[31m%s","detail":{"path":[%q]}}}`,
			r.Header.Get("Authorization"), strings.Repeat("x", 5000), r.Header.Get("Authorization"))
	}))
	err := write(a)
	said(t, err) // refuses the secret
	if text := err.Error(); len(text) > 1100 || strings.Contains(text, "\x1b") {
		t.Errorf("%d bytes: %.80q", len(text), text)
	}
}

func TestARefusalOfARealApplicationKeepsItsClass(t *testing.T) {
	app := newApplication(t)
	a := asking(t, served(t, app))
	ctx := context.Background()
	grant, err := a.CreateGrant(ctx, provider.GrantInput{Subject: "user:u", Pattern: "docs.admin.read"}, root)
	must(t, err)
	n, err := a.CountGrants(ctx, provider.GrantQuery{})
	must(t, err)
	if n != 1 || grant.ID == "" {
		t.Fatalf("%d grants, %+v", n, grant)
	}
	if got := said(t, a.DeleteGrant(ctx, "absent", root)); got != "ProviderWriteRejectedError not_found" {
		t.Error(got)
	}
	for _, id := range []string{"a", "b"} {
		_, err := a.CreateGroup(ctx, provider.GroupInput{ID: &id, Name: id}, root)
		must(t, err)
	}
	_, err = a.SetGroupParents(ctx, "a", []string{"b"}, root)
	must(t, err)
	_, err = a.SetGroupParents(ctx, "b", []string{"a"}, root)
	if got := said(t, err); got != "ProviderWriteRejectedError graph_cycle" {
		t.Error(got)
	}
	if _, err := a.GetGrantUsage(ctx, provider.UsageQuery{}); said(t, err) != "ProviderWriteRejectedError unsupported" {
		t.Error(err)
	}
	ping, err := a.Ping(ctx)
	must(t, err)
	if ping.Application != "docs" || !ping.OrgRoot {
		t.Errorf("%+v", ping)
	}
}
