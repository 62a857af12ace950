package meshcases

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// shortLease is what cases ask for that wait for one to end.
const shortLease = time.Second

var promotionCases = []spec{
	{ID: "X30", Rule: "a promotion that is broken off after any of its steps is completed once by the next call, with one audit trail", Abilities: crossing, Run: func(w *world) {
		for step := 1; ; step++ {
			w := w.apart()
			c := w.company()
			in := w.accepted(c.conn)
			dying := w.another("process that dies")
			sent := 0
			dying.onCommit(func(_ string, commit storage.Commit, send func() error) error {
				if sent++; sent > step {
					return storage.Unavailable(authz.OutcomeNotApplied, errBroken, "the process is dead")
				} else if err := send(); sent < step || err != nil {
					return err
				}
				w.Step("the process dies after %s", commit.ID)
				return storage.Unavailable(authz.OutcomeUnknown, errBroken, "the process is dead")
			})
			_, err := dying.connect("hq").PromoteOrgPartition(w.ctx, in, admin)
			if err == nil {
				w.same("the steps of a promotion of two sources, the last broken off", 9, step)
				return
			}
			var unavailable *authz.UnavailableError
			if !errors.As(err, &unavailable) {
				w.Want("UnavailableError", "%v", err)
			}
			w.pass(cached)
			c.docs.allows("jane", "docs.files.read")
			c.billing.allows("jane", "billing.invoices.void")
			_, err = w.another("process 4").connect("hq").PromoteOrgPartition(w.ctx, in, admin)
			w.must(err, fmt.Sprintf("the promotion that broke off after step %d completed", step))
			w.promoted()
			w.must(c.hq.SetUserActive(w.ctx, "afterwards", true, admin), "a write where the organization lives")
			w.rejected(c.docs.SetUserActive(w.ctx, "afterwards", true, admin), authz.CodeNotOrgRoot)
		}
	}},
	{ID: "X30b", Rule: "a promotion whose process died with its sections is completed after their leases, and its late commits change nothing", Abilities: crossing, Run: func(shared *world) {
		w := newWorld(shared.ctx, shared.Record, shared.target, conformance.Options{Lease: shortLease})
		c := w.company()
		in := w.accepted(c.conn)
		dying := w.another("process that dies")
		late := map[string]storage.Commit{}
		dying.onCommit(func(partition string, commit storage.Commit, send func() error) error {
			if strings.Contains(commit.ID, "/release/") {
				dying.keepSections()
				late[partition] = commit
				return storage.Unavailable(authz.OutcomeUnknown, errBroken, "the process is dead")
			}
			return send()
		})
		if _, err := dying.connect("hq").PromoteOrgPartition(w.ctx, in, admin); err == nil {
			w.Want("a promotion that breaks off", "%v", err)
		}
		_, err := w.another("process 4").connect("hq").PromoteOrgPartition(w.ctx, in, admin)
		w.must(err, "the promotion completed")
		if len(late) == 0 {
			w.Want("a commit held back", "none")
		}
		before := w.contents("billing")
		for partition, commit := range late {
			if _, err := w.raw(partition).Commit(w.ctx, commit); storage.CodeOf(err) != storage.CodeStaleFence && storage.CodeOf(err) != storage.CodeConflict {
				w.Want("a late commit refused: stale_fence or conflict", "%v", err)
			}
		}
		w.same("what billing holds", before, w.contents("billing"))
		w.promoted()
	}},
	{ID: "X30f", Rule: "a promotion whose process is killed at any moment is completed once by another", Abilities: []conformance.Ability{conformance.CrossLocks, conformance.Processes,
		conformance.Durable, conformance.Kill}, Run: func(shared *world) {
		length := 200 * time.Millisecond
		shared.Rounds(shared.ctx, 5, func(int) {
			w := newWorld(shared.ctx, shared.Record, shared.target, conformance.Options{Lease: shortLease})
			c := w.company()
			in := w.accepted(c.conn)
			dying := w.another("process that is killed")
			conn := dying.connect("hq")
			ctx, over := context.WithTimeout(w.ctx, 10*time.Second)
			defer over()
			w.Interrupt(&length, func() { _, _ = conn.PromoteOrgPartition(ctx, in, admin) },
				func() { w.must(w.backend.(conformance.Crasher).Kill(dying.driver), "a process killed"); over() })()
			_, err := w.another("process 4").connect("hq").PromoteOrgPartition(w.ctx, in, admin)
			w.must(err, "the promotion completed")
			w.promoted()
		})
	}},
	{ID: "X31", Rule: "a write of the organization that was under way when it was moved is refused: the record that it was judged by decides", Abilities: crossing, Run: func(w *world) {
		c := w.company()
		slow := w.another("process 3")
		docs := slow.member("docs", spacesCatalog, mesh.MemberOptions{})
		moved := false
		slow.onCommit(func(_ string, _ storage.Commit, send func() error) error {
			if !moved {
				moved = true
				w.must(only(w.promote(c.conn)), "a promotion in the middle of a write")
			}
			return send()
		})
		before := len(w.contents("docs").Grants)
		_, err := docs.CreateGrant(w.ctx, provider.GrantInput{Subject: "user:late", Pattern: "docs.files.read", Scope: "*"}, admin)
		w.rejected(err, authz.CodeNotOrgRoot, authz.CodeConflict)
		w.same("the grants of docs", before, len(w.contents("docs").Grants))
		w.promoted()
	}},
	{ID: "X31a", Rule: "while 20 writers grant at * in a source through two hosts, each acknowledged grant is in what the promotion moved, and every other is refused", Abilities: crossing, Run: func(w *world) {
		c := w.company()
		hosts := []*member{c.docs, w.another("process 3").member("docs", spacesCatalog, mesh.MemberOptions{})}
		in := w.accepted(c.conn)
		const writers = 20
		var (
			mu    sync.Mutex
			acked = map[string]bool{}
			begun atomic.Int64
			moved atomic.Bool
		)
		wait := w.Background(func() {
			w.Each(writers, func(i int) {
				for n := 0; ; n++ {
					late := moved.Load()
					row, err := hosts[i%2].CreateGrant(w.ctx, provider.GrantInput{Subject: fmt.Sprintf("user:w%d.%d", i, n), Pattern: "docs.files.read", Scope: "*"}, admin)
					if err != nil {
						w.rejected(err, authz.CodeConflict, authz.CodeNotOrgRoot)
						begun.Add(1)
						return
					}
					if late {
						w.Want("a grant after the promotion refused", "%s", row.ID)
					}
					mu.Lock()
					acked[row.ID] = true
					mu.Unlock()
					if n == 0 {
						begun.Add(1)
					}
				}
			})
		})
		for begun.Load() < writers && !w.Failed() {
			time.Sleep(time.Millisecond)
		}
		_, err := c.conn.PromoteOrgPartition(w.ctx, in, admin)
		moved.Store(true)
		w.must(err, "a promotion")
		wait()
		w.Step("%d grants were acknowledged", len(acked))
		for _, partition := range []string{"docs", "hq"} {
			stored := map[string]bool{}
			for _, g := range w.contents(partition).Org.GlobalGrants {
				if strings.HasPrefix(g.Subject, "user:w") {
					stored[g.ID] = true
				}
			}
			w.same("the grants in "+partition, acked, stored)
		}
		w.promoted()
	}},
	{ID: "X40", Rule: "a promotion that broke off before anything was moved can be undone, and one that has moved cannot", Abilities: crossing, Run: func(w *world) {
		c := w.company()
		in := w.accepted(c.conn)
		w.rejected(only(c.conn.UndoPromotion(w.ctx, admin)), authz.CodeConflict)
		before := w.orgs()
		breakAt := func(step string) {
			dying := w.another("process that dies")
			dying.onCommit(func(_ string, commit storage.Commit, send func() error) error {
				if strings.Contains(commit.ID, step) {
					return storage.Unavailable(authz.OutcomeNotApplied, errBroken, "the process is dead")
				}
				return send()
			})
			if _, err := dying.connect("hq").PromoteOrgPartition(w.ctx, in, admin); err == nil {
				w.Want("a promotion that breaks off", "%v", err)
			}
		}
		breakAt("/receive/")
		w.rejected(c.docs.SetUserActive(w.ctx, "late", true, admin), authz.CodeConflict)
		w.must(only(c.conn.UndoPromotion(w.ctx, admin)), "a promotion undone")
		w.unmoved(c, before)
		breakAt("/release/")
		w.rejected(only(c.conn.UndoPromotion(w.ctx, admin)), authz.CodeConflict)
		w.must(only(c.conn.PromoteOrgPartition(w.ctx, in, admin)), "the promotion completed")
		w.promoted()
	}},
}

// accepted is a promotion to hq whose rows that widen are accepted.
func (w *world) accepted(c *mesh.Connection) mesh.Promote {
	in := mesh.Promote{DryRun: true}
	_, err := c.PromoteOrgPartition(w.ctx, in, admin)
	in = w.accepting(in, err)
	in.DryRun = false
	return in
}
