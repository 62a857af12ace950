package meshcases

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// The cases of members that write into one partition from processes of their own, of
// which one is killed or stopped.
var processCases = []spec{
	{ID: "X42f", Rule: "two members that write into one partition from two processes, of which one is killed, leave no group cycle, no forked audit log and no lost event",
		Abilities: []conformance.Ability{conformance.CrossLocks, conformance.Processes, conformance.Durable, conformance.Kill}, Run: func(shared *world) {
			length := 100 * time.Millisecond
			shared.Rounds(shared.ctx, 4, func(int) {
				t := twoWriters(shared)
				ctx, over := context.WithTimeout(t.ctx, 10*time.Second)
				defer over()
				t.Interrupt(&length, func() { t.both(ctx) }, func() { t.must(t.backend.(conformance.Crasher).Kill(t.doomed.driver), "a process killed"); over() })()
				t.judge()
			})
		}},
	{ID: "X43f", Rule: "a member's process that stands still in the middle of its writes, and goes on after its sections went to another, is refused: what both leave is whole",
		Abilities: []conformance.Ability{conformance.CrossLocks, conformance.Processes, conformance.Durable, conformance.Freeze}, Run: func(shared *world) {
			t := twoWriters(shared)
			freezer := t.backend.(conformance.Freezer)
			length := 50 * time.Millisecond
			t.Interrupt(&length, func() { t.both(t.ctx) }, func() {
				t.must(freezer.Stop(t.doomed.driver), "a process stopped")
				time.Sleep(2 * shortLease)
				t.must(freezer.Continue(t.doomed.driver), "a process that goes on")
			})()
			t.judge()
		}},
}

// writers are two members that write into billing by peers, each in a process of its
// own, with an audit log that is linked by hashes.
type writers struct {
	*world
	doomed          *process
	dying, lasting  *mesh.Peer
	number          atomic.Int64
	mu              sync.Mutex
	acked           []string // ids of grants
	edges, refusals int
}

const sharedGroups = 6

func twoWriters(shared *world) *writers {
	w := newWorld(shared.ctx, shared.Record, shared.target, conformance.Options{Lease: shortLease})
	in := three("")
	in.Edges = []authz.MeshEdge{edge("docs", "billing", authz.MeshWrite), edge("hq", "billing", authz.MeshWrite)}
	w.put(w.first.connect("hq"), in)
	billing := w.first.member("billing", billingCatalog, mesh.MemberOptions{})
	for i := range sharedGroups {
		billing.group(fmt.Sprint(i))
	}
	w.must(w.first.connect("billing").PublishSettings(w.ctx, mesh.Settings{HashChain: true}), "settings")
	t := &writers{world: w, doomed: w.another("process that is broken off")}
	t.dying = w.peer(t.doomed.connect("hq"), "billing", "")
	t.lasting = w.peer(w.another("process 3").connect("docs"), "billing", "")
	return t
}

// both has both members write until one of them is broken off, and the other to its end.
func (t *writers) both(ctx context.Context) {
	const each = 12
	t.Each(2, func(i int) {
		on, ctx := t.dying, ctx
		if i == 1 {
			on, ctx = t.lasting, t.ctx
		}
		for n := range each {
			if ctx.Err() != nil {
				return
			}
			t.write(ctx, on, i == 1, n)
		}
	})
}

func (t *writers) write(ctx context.Context, on *mesh.Peer, lasts bool, n int) {
	number := int(t.number.Add(1))
	var err error
	if n%2 == 0 {
		subject := fmt.Sprint("service:w", number)
		var row authz.Grant
		row, err = on.CreateGrant(ctx, provider.GrantInput{Subject: subject, Pattern: "billing.invoices.void", Scope: "*"}, admin)
		if err == nil {
			t.note(func() { t.acked = append(t.acked, row.ID) })
		}
	} else {
		_, err = on.SetGroupParents(ctx, fmt.Sprint(number%sharedGroups), []string{fmt.Sprint((number * 5) % sharedGroups)}, admin)
		if err == nil {
			t.note(func() { t.edges++ })
		}
	}
	if err != nil && authz.CodeOf(err) != authz.CodeGraphCycle && lasts {
		t.Want("a write of the member that goes on", "%v", err)
	}
	if err != nil {
		t.note(func() { t.refusals++ })
	}
}

func (t *writers) note(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
}

// judge looks at what both left.
func (t *writers) judge() {
	t.Step("%d grants and %d edges were acknowledged, %d writes were not", len(t.acked), t.edges, t.refusals)
	t.acyclic("billing")
	s := t.raw("billing")
	report, err := authz.VerifyHashChain(s.ListAudit(t.ctx, storage.AuditFilter{}), "")
	t.must(err, "the chain of the audit log")
	if !report.OK {
		t.Want("one chain of audit entries", "%+v", report)
	}
	for _, id := range t.acked {
		if _, found, err := s.GetGrant(t.ctx, id); err != nil || !found {
			t.Want("an acknowledged grant", "%s: %v %v", id, found, err)
		}
	}
	head, err := s.Head(t.ctx)
	t.must(err, "the head")
	told, at := map[string]bool{}, authz.Position{}
	for at.Seq < head.Seq {
		page, err := s.EventsSince(t.ctx, at, 500)
		t.must(err, "events")
		if len(page.Events) == 0 {
			t.Want("every number of the log", "none after %s of %s", at, head)
		}
		for _, e := range page.Events {
			told[e.Subject] = true
		}
		at = page.UpTo
	}
	for _, g := range rows(t.world, s.ListGrants(t.ctx, storage.GrantFilter{}, storage.Page{})) {
		if !told[g.Subject] {
			t.Want("an event of every stored grant", "%s", g.Subject)
		}
	}
}
