package eventlog_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/authzhost/authz/host/mesh/eventlog"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// overtaken is a node whose logs are in memory: between the head and the first page of a
// look, the log that is read first grows by more than a page.
func overtaken(m *mesh) (n *node, docs *memLog) {
	n, docs = m.nodes[0], newMemLog("d1")
	billing := newMemLog("b1")
	billing.before = sync.OnceFunc(func() {
		billing.append(slices.Repeat([]authz.Event{authz.UserEvent("somebody")}, provider.MaxEventLimit+1)...)
	})
	n.log = eventlog.Compose(eventlog.Fixed(
		eventlog.Part{Kind: eventlog.Own, Partition: "docs", Log: docs},
		eventlog.Part{Kind: eventlog.Owner, Partition: "billing", Log: billing}))
	docs.before = func() {}
	return n, docs
}

func TestAClientDrainsEachLogUpToTheHeadThatItRead(t *testing.T) {
	m := newMesh(t.Fatal, t.Cleanup)
	n, docs := overtaken(m)
	jane := authz.UserPrincipal("jane")
	if n.can(t, jane) {
		t.Fatal("granted by nobody")
	}
	grant(t, m.truth.Application, "user:jane")
	docs.append(authz.UserEvent("jane"))
	billingOf(t, n).append(authz.UserEvent("joe"))
	m.now.Add(window + 1)
	if !n.can(t, jane) {
		t.Error("an event that was in the log at the look was passed over")
	}
}

func TestAPollerDrainsEachLogUpToTheHeadThatItRead(t *testing.T) {
	m := newMesh(t.Fatal, t.Cleanup)
	n, docs := overtaken(m)
	heard := make(chan struct{})
	n.OnInvalidate(func(e authz.Event) {
		if e.UserID == "jane" {
			close(heard)
		}
	})
	hints := make(chan int64)
	p, err := provider.StartEventPoller(n, provider.PollerOptions{Interval: time.Hour, Hints: channel(hints)})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	for p.Status().LastLook.IsZero() {
		time.Sleep(time.Millisecond)
	}
	docs.append(authz.UserEvent("jane"))
	billingOf(t, n).append(authz.UserEvent("joe"))
	hints <- 1 // the number of one log, below the sum
	select {
	case <-heard:
	case <-time.After(30 * time.Second):
		t.Error("an event that was in the log at the look was passed over, or the hint")
	}
}

// billingOf is the log that is read first.
func billingOf(t *testing.T, n *node) *memLog {
	t.Helper()
	terms, err := n.log.Terms(t.Context(), head(t, n.log).Position)
	if err != nil {
		t.Fatal(err)
	}
	return terms[0].Log.(*memLog)
}
