package meshcases

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

var crossing = []conformance.Ability{conformance.CrossLocks}

var writeCases = []spec{
	{ID: "X08", Rule: "a peer's write is judged by the target's vocabulary: what only the caller knows is refused", Abilities: crossing, Run: func(w *world) {
		docs, _ := w.neighbours(authz.MeshWrite)
		w.first.member("docs", docsCatalog, mesh.MemberOptions{})
		p := w.peer(docs, "billing", "")
		before := w.contents("billing")
		for _, pattern := range []string{"docs.files.read", "docs.*"} {
			w.rejected(only(p.CreateGrant(w.ctx, provider.GrantInput{Subject: "user:jane", Pattern: pattern, Scope: "*"}, admin)), authz.CodeValidation)
		}
		w.same("what billing holds", before, w.contents("billing"))
		w.must(only(p.CreateGrant(w.ctx, provider.GrantInput{Subject: "user:jane", Pattern: "invoicing.*", Scope: "*"}, admin)), "a grant that the target knows")
	}},
	{ID: "X09", Rule: "a write is judged by what the target has published when it is written, both ways", Abilities: crossing, Run: func(w *world) {
		docs, billing := w.neighbours(authz.MeshWrite)
		p := w.peer(docs, "billing", "")
		grant := func(pattern string) error {
			return only(p.CreateGrant(w.ctx, provider.GrantInput{Subject: "user:jane", Pattern: pattern, Scope: "*"}, admin))
		}
		w.must(grant("billing.invoices.void"), "a grant")
		w.rejected(grant("billing.invoices.send"), authz.CodeValidation)
		billing.publish(strings.Replace(billingCatalog, "billing.invoices.void", "billing.invoices.send", 1))
		w.must(grant("billing.invoices.send"), "a grant of a permission that is new")
		w.rejected(grant("billing.invoices.void"), authz.CodeValidation)
	}},
	{ID: "X10", Rule: "a peer's write is audited in the target's log alone, as done by the member on somebody's behalf", Abilities: crossing, Run: func(w *world) {
		docs, billing := w.neighbours(authz.MeshWrite)
		w.first.member("docs", docsCatalog, mesh.MemberOptions{})
		before := w.audit("docs")
		p, err := docs.OpenPeer(w.ctx, "billing", mesh.PeerOptions{As: "service:sync"})
		w.must(err, "a peer")
		row, err := p.CreateGrant(w.ctx, provider.GrantInput{Subject: "user:jane", Pattern: "billing.invoices.read", Scope: "*"}, authz.AdminProvenance("n.cho"))
		w.must(err, "a grant")
		w.same("the provenance", "docs", row.Provenance.Via)
		entry := w.entry("billing", "grant.create")
		w.same("who did it", [2]string{"mesh:docs/n.cho", row.ID}, [2]string{entry.Actor, entry.Target})
		var detail struct{ Mesh json.RawMessage }
		w.must(json.Unmarshal(entry.Detail, &detail), "a detail")
		w.same("the detail", `{"from":"docs","as":"service:sync","registryVersion":1}`, string(detail.Mesh))
		w.same("the caller's log", before, w.audit("docs"))
		forged := admin
		forged.Via = "docs"
		row, err = billing.CreateGrant(w.ctx, provider.GrantInput{Subject: "user:bob", Pattern: "billing.invoices.read", Scope: "*"}, forged)
		w.must(err, "a grant")
		w.same("what nobody but a peer says", "", row.Provenance.Via)
	}},
	{ID: "X10a", Rule: "a peer obeys what binds writers of the target: the hash chain of its log stays whole", Abilities: crossing, Run: func(w *world) {
		docs, billing := w.neighbours(authz.MeshWrite)
		w.must(w.another("process 3").connect("billing").PublishSettings(w.ctx, mesh.Settings{HashChain: true}), "the target's settings")
		billing.grants("user:old", "billing.invoices.read", "*")
		p := w.peer(docs, "billing", "")
		for i := range 3 {
			w.must(only(p.CreateGrant(w.ctx, provider.GrantInput{Subject: fmt.Sprintf("user:u%d", i), Pattern: "billing.invoices.read", Scope: "*"}, admin)), "a grant")
			w.pass(1)
		}
		report, err := authz.VerifyHashChain(w.raw("billing").ListAudit(w.ctx, storage.AuditFilter{}), "")
		newest := w.audit("billing")
		if err != nil || !report.OK || newest[len(newest)-1].Hash == "" {
			w.Want("a chain that is whole up to its newest entry", "%+v %v", report, err)
		}
	}},
	{ID: "X11", Rule: "a peer's write is an event of the target's log; the caller's log does not move", Abilities: crossing, Run: func(w *world) {
		docs, billing := w.neighbours(authz.MeshWrite)
		w.first.member("docs", docsCatalog, mesh.MemberOptions{})
		p := w.peer(docs, "billing", "")
		own, theirs := w.head("docs"), w.head("billing")
		before, err := billing.EventLog().Head(w.ctx)
		w.must(err, "a head")
		w.must(only(p.CreateGrant(w.ctx, provider.GrantInput{Subject: "user:jane", Pattern: "billing.invoices.read", Scope: "*"}, admin)), "a grant")
		page, err := billing.EventLog().Since(w.ctx, before.Position, 10)
		w.must(err, "the events")
		if !slices.Contains(page.Events, authz.Event{Type: authz.EventSubject, Subject: "user:jane"}) {
			w.Want("an event of user:jane", "%+v", page.Events)
		}
		w.same("the head of docs", own, w.head("docs"))
		if now := w.head("billing"); now <= theirs {
			w.Want("a head of billing that moved", "%d after %d", now, theirs)
		}
	}},
	{ID: "X12", Rule: "two edges, each acyclic, written at once through a peer and by the owner are no cycle: one is refused with graph_cycle", Abilities: crossing, Run: func(w *world) {
		docs, billing := w.neighbours(authz.MeshWrite)
		for _, id := range []string{"a", "b", "c"} {
			billing.group(id)
		}
		p := w.peer(docs, "billing", "")
		w.must(only(p.SetGroupParents(w.ctx, "a", []string{"c"}, admin)), "an edge through the peer")
		w.rejected(only(p.SetGroupParents(w.ctx, "c", []string{"a"}, admin)), authz.CodeGraphCycle)
		var owners error
		var wait func()
		w.first.onCommit(func(partition string, c storage.Commit, send func() error) error {
			w.first.onCommit(nil)
			ended := make(chan struct{})
			wait = w.Background(func() {
				defer close(ended)
				_, owners = billing.SetGroupParents(w.ctx, "b", []string{"a"}, admin)
			})
			select { // long enough for an owner whom no section keeps waiting
			case <-ended:
			case <-time.After(300 * time.Millisecond):
			}
			return send()
		})
		_, peers := p.SetGroupParents(w.ctx, "a", []string{"b"}, admin)
		wait()
		w.Step("a below b through the peer → %v; b below a by the owner → %v", peers, owners)
		if (peers == nil) == (owners == nil) {
			w.Want("one of the two is written", "%v, %v", peers, owners)
		}
		for _, err := range []error{peers, owners} {
			if err != nil {
				w.rejected(err, authz.CodeGraphCycle)
			}
		}
		w.acyclic("billing")
	}},
	{ID: "X12a", Rule: "owner and peers in several processes that write group edges at random never store a cycle", Abilities: crossing, Run: func(w *world) {
		docs, billing := w.neighbours(authz.MeshWrite)
		writers := []provider.Groups{billing, w.peer(docs, "billing", ""), w.peer(w.another("process 3").connect("docs"), "billing", "")}
		const groups = 6
		for i := range groups {
			billing.group(fmt.Sprint(i))
		}
		w.Each(len(writers), func(writer int) {
			for i := range 2 * groups {
				child, parent := (i*(writer+2)+writer)%groups, (i+1)%groups
				_, err := writers[writer].SetGroupParents(w.ctx, fmt.Sprint(child), []string{fmt.Sprint(parent)}, admin)
				if err != nil && authz.CodeOf(err) != authz.CodeGraphCycle {
					w.Want("an edge, or graph_cycle", "%v", err)
				}
			}
		})
		w.acyclic("billing")
	}},
	{ID: "X13", Rule: "after an edge is taken away the next write is refused at once, and reads end within 5 s", Abilities: crossing, Run: func(w *world) {
		docs, billing := w.neighbours(authz.MeshWrite)
		p := w.peer(docs, "billing", "")
		input := provider.GrantInput{Subject: "user:jane", Pattern: "billing.invoices.read", Scope: "*"}
		w.must(only(p.CreateGrant(w.ctx, input, admin)), "a grant")
		w.put(w.another("process 3").connect("hq"), three(authz.MeshRead))
		before := w.contents("billing")
		w.same("what is missing", authz.MeshWrite, w.refused(only(p.CreateGrant(w.ctx, input, admin)), authz.MeshNoEdge).Mode)
		w.same("what billing holds", before, w.contents("billing"))
		w.put(w.another("process 4").connect("hq"), three(""))
		w.pass(cached)
		w.refused(only(p.CountGrants(w.ctx, provider.GrantQuery{})), authz.MeshNoEdge)
		billing.grants("user:jane", "billing.invoices.void", "*")
	}},
}

// acyclic wants no group of a partition to be above itself.
func (w *world) acyclic(partition string) {
	stored, err := application.ReadOrg(w.ctx, w.raw(partition))
	w.must(err, "the groups")
	parents := map[string][]string{}
	for _, g := range stored.Groups {
		parents[g.ID] = g.Parents
	}
	var above func(id string, path []string)
	above = func(id string, path []string) {
		if slices.Contains(path, id) {
			w.Want("no stored cycle", "%v", append(path, id))
		}
		for _, parent := range parents[id] {
			above(parent, append(slices.Clip(path), id))
		}
	}
	for id := range parents {
		above(id, nil)
	}
}
