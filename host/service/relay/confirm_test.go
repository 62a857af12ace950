package relay_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/service/relay"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

const mismatch = "CloudError application_mismatch"

// somebody answers at an address: pings as whoever it is, everything else as the
// application that the test made. It counts both.
type somebody struct {
	id           atomic.Value // string
	pings, calls atomic.Int32
	app          http.Handler
}

func (s *somebody) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/v1/ping") {
		s.pings.Add(1)
		_, _ = fmt.Fprintf(w, `{"api":1,"application":%q,"orgRoot":true,"hasEpoch":true,"auditOptIn":false}`, s.id.Load())
		return
	}
	s.calls.Add(1)
	s.app.ServeHTTP(w, r)
}

// at is somebody, as a relay with a clock of the test's asks them.
func at(t *testing.T, id string) (*somebody, *relay.Relay, *clock, string) {
	t.Helper()
	s := &somebody{app: served(t, newApplication(t))}
	s.id.Store(id)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	now := &clock{}
	now.at.Store(1_000_000)
	return s, newRelay(t, relay.Options{Clock: now.now}), now, server.URL
}

// everything is one call of each operation over a link.
func everything(a relay.Backend) map[string]error {
	ctx := context.Background()
	out := map[string]error{
		"read": read(a), "list": listing(a), "write": write(a),
		"deleteGrant":  a.DeleteGrant(ctx, "g", root),
		"deleteRevoke": a.DeleteRevoke(ctx, "r", root),
	}
	_, err := a.Capabilities(ctx)
	out["capabilities"] = err
	_, err = a.GetGrantUsage(ctx, provider.UsageQuery{})
	out["getGrantUsage"] = err
	_, err = a.GetSubjectAccess(ctx, authz.UserPrincipal("u"))
	out["getSubjectAccess"] = err
	_, err = a.ResolveAncestors(ctx, "docs.doc:1")
	out["resolveAncestors"] = err
	_, err = a.GetPublishedCatalog(ctx)
	out["getPublishedCatalog"] = err
	_, err = a.DeleteSubject(ctx, "user:u", root)
	out["deleteSubject"] = err
	for _, err = range a.ListAuditEvents(ctx, provider.AuditQuery{}) {
		out["listAuditEvents"] = err
	}
	if log := a.EventLog(); log != nil {
		_, err = log.Head(ctx)
		out["epoch.head"] = err
	}
	return out
}

// Whoever answers and is another application hears nothing but pings.
func TestNothingIsSentToAnotherApplication(t *testing.T) {
	s, r, _, url := at(t, "payroll")
	for op, err := range everything(r.For(target(url))) {
		if got := said(t, err); got != mismatch {
			t.Errorf("%s: %s", op, got)
		}
	}
	if s.calls.Load() != 0 || s.pings.Load() == 0 {
		t.Errorf("the other application was called %d times and pinged %d times", s.calls.Load(), s.pings.Load())
	}
	s.id.Store("docs") // its operator mended it: nothing has to be linked again
	must(t, write(r.For(target(url))))
}

func TestALinkIsConfirmedOnceAMinute(t *testing.T) {
	s, r, now, url := at(t, "docs")
	a := r.For(target(url))
	pings := func(want int32) {
		t.Helper()
		for range 5 {
			must(t, read(a))
			must(t, listing(a))
		}
		must(t, write(a))
		if got := s.pings.Load(); got != want {
			t.Errorf("%d pings instead of %d", got, want)
		}
	}
	pings(1)
	now.at.Add(59_999)
	pings(1)
	now.at.Add(1)
	pings(2)
	now.at.Add(-1) // a clock that is set back vouches for nothing
	pings(3)
	_, err := a.Ping(context.Background()) // whoever asks
	must(t, err)
	pings(4)
}

func TestAnAddressThatAnotherApplicationTookIsNoticedInAMinute(t *testing.T) {
	s, r, now, url := at(t, "docs")
	must(t, write(r.For(target(url))))
	s.id.Store("payroll")
	now.at.Add(60_000)
	calls := s.calls.Load()
	for op, err := range everything(r.For(target(url))) {
		if got := said(t, err); got != mismatch {
			t.Errorf("%s: %s", op, got)
		}
	}
	if s.calls.Load() != calls {
		t.Error("the other application was called")
	}
}

// What was kept over the link may be the other application's: it goes.
func TestAfterAMismatchTheLinkBeginsAnew(t *testing.T) {
	s, r, now, url := at(t, "docs")
	before := r.For(target(url))
	must(t, read(before))
	s.id.Store("payroll")
	now.at.Add(1)
	_, err := before.Ping(context.Background())
	must(t, err)
	if got := said(t, read(before)); got != mismatch {
		t.Errorf("after a ping that says another id: %s", got)
	}
	s.id.Store("docs")
	after := r.For(target(url))
	must(t, read(after))
	if after == before {
		t.Error("the same application, and what hangs on it, is handed out again")
	}
}

func TestAConfirmationIsOfOneLinkAlone(t *testing.T) {
	s, r, _, url := at(t, "docs")
	first := target(url)
	first.Link = "1"
	must(t, read(r.For(first)))
	for name, change := range map[string]func(*relay.Target){
		"linked again": func(to *relay.Target) { to.Link = "2" },
		"another secret": func(to *relay.Target) {
			to.Secret = farSecret + "x"
		},
		"another URL": func(to *relay.Target) { to.URL += "/deeper" },
		"another application": func(to *relay.Target) {
			to.Application = "payroll"
		},
	} {
		next := first
		change(&next)
		before := s.pings.Load()
		_ = read(r.For(next))
		if s.pings.Load() != before+1 {
			t.Errorf("%s: not asked who answers", name)
		}
	}
	before := s.pings.Load()
	r.Forget("acme", "docs")
	must(t, read(r.For(first)))
	if s.pings.Load() != before+1 {
		t.Error("a link that was forgotten is still confirmed")
	}
}

func TestThoseWhoComeTogetherShareOnePing(t *testing.T) {
	s, r, _, url := at(t, "docs")
	a := r.For(target(url))
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if err := read(a); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if s.pings.Load() != 1 {
		t.Errorf("%d pings", s.pings.Load())
	}
}

// A ping that many wait for does not end with the first of them.
func TestWhoLeavesDoesNotEndThePingOfOthers(t *testing.T) {
	arrived, answer := make(chan struct{}, 10), make(chan struct{})
	app := named(served(t, newApplication(t)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.HasSuffix(q.URL.Path, "/v1/ping") {
			arrived <- struct{}{}
			<-answer
		}
		app.ServeHTTP(w, q)
	}))
	t.Cleanup(server.Close)
	a := newRelay(t, relay.Options{Times: relay.Times{Probe: time.Minute}}).For(target(server.URL))
	leaving, leave := context.WithCancel(context.Background())
	left, stayed := make(chan error, 1), make(chan error, 1)
	go func() { left <- a.Confirm(leaving) }()
	<-arrived
	go func() { stayed <- read(a) }()
	leave()
	if err := <-left; err == nil {
		t.Error("who left was told that the link is confirmed")
	}
	close(answer)
	must(t, <-stayed)
}

// No answer is no mismatch but a failure with its code, and nothing was sent
// (spec: hosted-api §9).
func TestALinkThatCannotBeConfirmedSaysWhy(t *testing.T) {
	for want, far := range map[string]http.Handler{
		timeout:                                http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
		credential:                             envelope(401, `{"name":"ProviderApiError","code":"unauthorized","message":"unauthorized"}`),
		protocol:                               answering(200, `<html>ok</html>`),
		unavailable:                            envelope(503, `{"name":"UnavailableError","code":"unavailable","message":"m"}`),
		broken:                                 envelope(500, `{"name":"Error","message":"internal error"}`),
		"CloudError provider_version_mismatch": answering(200, `{"api":2,"application":"docs","orgRoot":true,"hasEpoch":true,"auditOptIn":false}`),
	} {
		server := httptest.NewServer(far)
		a := newRelay(t, relay.Options{}).For(target(server.URL))
		if got := said(t, read(a)); got != want {
			t.Errorf("a read: %s instead of %s", got, want)
		}
		outcome := isNotApplied
		if strings.HasPrefix(want, "CloudError") {
			outcome = ""
		}
		if got := said(t, write(a)); got != want+outcome {
			t.Errorf("a write: %s instead of %s", got, want+outcome)
		}
		server.Close()
	}
}

// An entry that was linked to a neighbour before this was refused at the link is
// refused in use.
func TestALocalLinkReachesNothingButItsOwnApplication(t *testing.T) {
	apps := map[string]*application.Application{"docs": newApplication(t), "payroll": newApplication(t)}
	r := newRelay(t, relay.Options{Local: func(_, name string) (relay.Backend, bool) {
		app, ok := apps[name]
		return here{Application: app}, ok // whose ping says docs, whoever it is
	}})
	if got := said(t, r.CheckURL(context.Background(), "acme", "payroll", "local:docs")); got != mismatch {
		t.Errorf("the link: %s", got)
	}
	must(t, r.CheckURL(context.Background(), "acme", "docs", "local:docs"))
	stored := r.For(relay.Target{Org: "acme", Application: "docs", URL: "local:payroll"})
	for op, err := range everything(stored) {
		if got := said(t, err); got != mismatch {
			t.Errorf("%s: %s", op, got)
		}
	}
	heard := false
	t.Cleanup(stored.OnInvalidate(func(authz.Event) { heard = true }))
	_, err := apps["payroll"].CreateGrant(context.Background(), provider.GrantInput{Subject: "user:u", Pattern: "docs.admin.read"}, root)
	must(t, err)
	if heard {
		t.Error("it hears the events of another application")
	}
	must(t, write(r.For(relay.Target{Org: "acme", Application: "docs", URL: "local:docs"})))
}
