package hosted

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/authzhost/authz/internal/streamtest"
)

// listen opens the stream of an org.
func (c caller) listen(query string) <-chan streamtest.Event {
	c.w.t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	c.w.t.Cleanup(transport.CloseIdleConnections)
	r := c.with("Accept", "text/event-stream").request("GET", "/orgs/acme/changes"+query, "")
	answer, err := transport.RoundTrip(r)
	c.w.must(err)
	if answer.StatusCode != 200 || answer.Header.Get("Content-Type") != "text/event-stream" {
		c.w.t.Fatalf("%d %s", answer.StatusCode, answer.Header)
	}
	c.w.t.Cleanup(func() { _ = answer.Body.Close() })
	return streamtest.Events(answer)
}

// next waits for an event: that something was written at a place, perhaps beside others, or
// that the stream ends for a reason.
func next(t *testing.T, events <-chan streamtest.Event, name, want string) {
	t.Helper()
	for over := time.After(30 * time.Second); ; {
		select {
		case e, more := <-events:
			switch {
			case !more:
				t.Fatalf("the stream ended before %s of %s", name, want)
			case e.Name == name && strings.Contains(e.Data, strconv.Quote(want)):
				return
			}
			t.Logf("%s %s", e.Name, e.Data)
		case <-over:
			t.Fatalf("no %s of %s", name, want)
		}
	}
}

func TestAStreamTellsThatSomethingWasWritten(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	events := owner.listen("?application=docs")
	begun := map[string]bool{}
	for !begun["account"] || !begun["org"] || !begun["application:docs"] {
		e := <-events
		var data struct{ Changed []string }
		w.must(json.Unmarshal([]byte(e.Data), &data))
		for _, name := range data.Changed {
			begun[name] = true
		}
	}
	owner.call("POST", "/orgs/acme/org/groups", `{"id":"g","name":"x"}`).want(t, 201, "")
	next(t, events, "change", "org")
	owner.call("PATCH", "/orgs/acme/org/groups/g", `{"name":"y"}`).want(t, 200, "") // which is no event
	next(t, events, "change", "org")
	owner.call("PATCH", "/orgs/acme", `{"name":"Acme & Sons"}`).want(t, 200, "")
	next(t, events, "change", "account")
	owner.call("GET", "/orgs/acme/changes?application=ghost", "").want(t, 404, "application_not_found")
	owner.call("GET", "/orgs/other/changes", "").want(t, 404, "org_not_found")
}

func TestAStreamEndsWithItsSessionAndIsNoUseOfIt(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	owner.call("POST", "/orgs/acme/seats", `{"userId":"u_9"}`).want(t, 201, "")
	user := w.signInAs("u_9")
	seen := func() string {
		t.Helper()
		return string(owner.call("GET", "/orgs/acme/seats/u_9", "").want(t, 200, "").raw)
	}
	before := seen()
	w.clock.Add(40 * 60_000) // of the hour that a session may be idle
	events := user.listen("")
	next(t, events, "change", "account")
	if after := seen(); after != before {
		t.Errorf("a stream is a use of the seat: %s, and was %s", after, before)
	}
	w.clock.Add(30 * 60_000)
	owner = w.signIn("acme") // tells of an account write, whereupon the stream looks
	next(t, events, "end", "session_expired")
	if _, more := <-events; more {
		t.Error("the stream goes on")
	}
	user.call("GET", "/orgs/acme", "").want(t, 401, "session_expired")

	user = w.signInAs("u_9")
	events = user.listen("")
	owner.call("DELETE", "/orgs/acme/seats/u_9", "").want(t, 204, "")
	next(t, events, "end", "session_expired")
}

func TestStreamsAreBounded(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	for range maxStreams {
		owner.listen("")
	}
	if r := owner.call("GET", "/orgs/acme/changes", ""); r.status != 429 || r.code() != "rate_limited" {
		t.Errorf("%d %s", r.status, r.raw)
	}
	w.signIn("acme").listen("")
}

// The server's deadlines are of requests, and a stream is longer than any.
func TestAStreamOutlivesTheDeadlinesOfARequest(t *testing.T) {
	w := newWorld(t)
	owner := w.acme()
	server := httptest.NewUnstartedServer(w.api)
	server.Config.ReadTimeout, server.Config.WriteTimeout = 300*time.Millisecond, 300*time.Millisecond
	server.Start()
	t.Cleanup(server.Close)
	r := owner.with("Accept", "text/event-stream").request("GET", "/orgs/acme/changes", "")
	r.URL.Host = strings.TrimPrefix(server.URL, "http://")
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	answer, err := transport.RoundTrip(r)
	for tries := 1; err != nil && tries < 20; tries++ { // the server had not read it by its deadline
		answer, err = transport.RoundTrip(r)
	}
	w.must(err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	events := streamtest.Events(answer)
	<-events
	time.Sleep(700 * time.Millisecond) // more than both
	owner.call("PATCH", "/orgs/acme", `{"name":"Acme & Sons"}`).want(t, 200, "")
	next(t, events, "change", "account")
}
