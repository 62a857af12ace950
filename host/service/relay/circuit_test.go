package relay_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/relay"
	"github.com/authzhost/authz/internal/freeport"
	"github.com/authzhost/authz/sdk/provider"
)

func relayOptions() relay.Options { return relay.Options{} }

// switched answers, or drops every connection without an answer.
type switched struct {
	down  atomic.Bool
	calls atomic.Int32
	up    http.Handler
}

func (s *switched) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.calls.Add(1)
	if s.down.Load() {
		panic(http.ErrAbortHandler)
	}
	s.up.ServeHTTP(w, r)
}

func TestFiveFailuresLeaveAnApplicationAloneAndOneProbeEndsIt(t *testing.T) {
	far := &switched{up: served(t, newApplication(t))}
	server := httptest.NewServer(far)
	t.Cleanup(server.Close)
	var at clock
	at.at.Store(1_000_000)
	a := newRelay(t, relay.Options{Clock: at.now}).For(target(server.URL))
	must(t, write(a))

	far.down.Store(true)
	for i := range 5 {
		if got := said(t, write(a)); got != timeout+isUnknown {
			t.Fatalf("failure %d: %s", i, got)
		}
	}
	far.down.Store(false)
	before := far.calls.Load()
	err := write(a)
	if got := said(t, err); got != unavailable+isNotApplied {
		t.Fatal(got)
	}
	if e := err.(*fault.Error); e.RetryAfterMs != 30_000 {
		t.Errorf("to be repeated after %d ms", e.RetryAfterMs)
	}
	at.at.Add(29_999)
	if got := said(t, read(a)); got != unavailable {
		t.Error(got)
	}
	if far.calls.Load() != before {
		t.Error("an application behind an open circuit was asked")
	}
	at.at.Add(1)
	must(t, read(a))
	must(t, write(a))
}

func TestAFailedProbeKeepsTheCircuitOpen(t *testing.T) {
	far := &switched{up: served(t, newApplication(t))}
	server := httptest.NewServer(far)
	t.Cleanup(server.Close)
	var at clock
	a := newRelay(t, relay.Options{Clock: at.now}).For(target(server.URL))
	far.down.Store(true)
	for range 5 {
		_ = write(a)
	}
	at.at.Add(30_000)
	if got := said(t, write(a)); got != timeout+isNotApplied { // of the ping before it
		t.Fatal(got)
	}
	before := far.calls.Load()
	if got := said(t, write(a)); got != unavailable+isNotApplied || far.calls.Load() != before {
		t.Fatal(got)
	}
	_, err := a.Ping(context.Background())
	if got := said(t, err); got != unavailable || far.calls.Load() != before {
		t.Fatalf("a ping that is no probe: %s", got)
	}
	far.down.Store(false)
	if _, err := a.Ping(relay.Probing(context.Background())); err != nil { // asked for by a person, it need not wait
		t.Fatal(err)
	}
	must(t, write(a))
}

func TestAClockThatIsSetBackKeepsNoCircuitOpen(t *testing.T) {
	far := &switched{up: served(t, newApplication(t))}
	server := httptest.NewServer(far)
	t.Cleanup(server.Close)
	var at clock
	at.at.Store(3_600_000)
	a := newRelay(t, relay.Options{Clock: at.now}).For(target(server.URL))
	far.down.Store(true)
	for range 5 {
		_ = read(a)
	}
	far.down.Store(false)
	if got := said(t, read(a)); got != unavailable {
		t.Fatal(got)
	}
	at.at.Store(1_000_000)
	must(t, read(a))
}

func TestRefusalsAndCallersWhoLeaveDoNotOpenTheCircuit(t *testing.T) {
	a := asking(t, served(t, newApplication(t)))
	for range 6 {
		if got := said(t, a.DeleteGrant(context.Background(), "absent", root)); got != "ProviderWriteRejectedError not_found" {
			t.Fatal(got)
		}
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	for range 6 {
		_, err := a.CountGrants(gone, provider.GrantQuery{})
		said(t, err)
	}
	must(t, read(a))
}

func TestAReadIsRepeatedOnceAndAWriteNever(t *testing.T) {
	var reads, writes atomic.Int32
	app := served(t, newApplication(t))
	a := asking(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := &reads
		if r.URL.Path == "/authz/v1/createGrant" {
			n = &writes
		}
		if n.Add(1) == 1 {
			panic(http.ErrAbortHandler)
		}
		app.ServeHTTP(w, r)
	}))
	if got := said(t, write(a)); got != timeout+isUnknown || writes.Load() != 1 {
		t.Errorf("a write: %s, sent %d times", got, writes.Load())
	}
	if got := said(t, read(a)); got != "ok" || reads.Load() != 2 {
		t.Errorf("a read: %s, sent %d times", got, reads.Load())
	}
}

func TestRowsThatWereHandedOutAreNotAskedForAgain(t *testing.T) {
	var calls atomic.Int32
	a := asking(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.Header().Set("Content-Length", "10000")
		_, _ = w.Write([]byte(`{"grants":[{"id":"g1","subject":"user:u"},`))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	if got := said(t, listing(a)); got != timeout || calls.Load() != 1 {
		t.Errorf("%s after %d calls", got, calls.Load())
	}
}

func TestACircuitBelongsToOneTarget(t *testing.T) {
	address, err := freeport.Address()
	must(t, err)
	gone := "http://" + address
	server := httptest.NewServer(served(t, newApplication(t)))
	t.Cleanup(server.Close)
	r := newRelay(t, relay.Options{})
	a := r.For(target(gone))
	for range 6 {
		_ = write(a)
	}
	if got := said(t, write(r.For(target(gone)))); got != unavailable+isNotApplied {
		t.Error("the circuit of a target is forgotten:", got)
	}
	other := target(gone)
	other.Application = "billing"
	if got := said(t, write(r.For(other))); got != unreachable {
		t.Error("another application:", got)
	}
	must(t, write(r.For(target(server.URL)))) // linked again
}
