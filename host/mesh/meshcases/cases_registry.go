package meshcases

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

var registryCases = []spec{
	{ID: "X14", Rule: "the registry is replaced whole by one writer at a time: another version than expected is registry_conflict", Run: func(w *world) {
		c := w.first.connect("hq")
		in := three("")
		in.Expect = ptr(int64(0))
		w.same("the version", int64(1), w.put(c, in).Version)
		e := w.refused(only(c.PutRegistry(w.ctx, in, admin)), authz.MeshRegistryConflict)
		w.same("the versions", [2]int64{0, 1}, [2]int64{*e.Expected, *e.Current})
		writers := []*mesh.Connection{c, w.another("process 2").connect("docs"), w.another("process 3").connect("billing")}
		for round := range int64(5) {
			in.Expect = ptr(round + 1)
			errs := make([]error, len(writers))
			w.Each(len(writers), func(i int) { _, errs[i] = writers[i].PutRegistry(w.ctx, in, admin) })
			won := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err != nil })
			if len(won) != 1 {
				w.Want("one of those that wrote at once wins", "%v", errs)
			}
			for _, err := range errs {
				if err != nil {
					w.refused(err, authz.MeshRegistryConflict)
				}
			}
			m, err := c.Registry(w.ctx)
			w.must(err, "the registry")
			w.same("the version", round+2, m.Version)
		}
	}},
	{ID: "X14a", Rule: "a registry that somebody wrote without its section is not overwritten: the record's version refuses it", Run: func(w *world) {
		c := w.first.connect("hq")
		w.put(c, three(""))
		s := w.raw(mesh.Partition)
		var other storage.Record
		w.first.onCommit(func(_ string, _ storage.Commit, send func() error) error {
			w.first.onCommit(nil)
			row, _, err := s.GetRecord(w.ctx, "mesh", "registry")
			w.must(err, "the record")
			other = row
			_, err = s.Commit(w.ctx, storage.Commit{ID: "another", At: begin, Changes: []storage.Change{storage.PutRecord{Expect: row.Version,
				Record: storage.Record{Collection: "mesh", ID: "registry", Data: row.Data, UpdatedAt: begin + 1}}}})
			w.must(err, "a registry written past its section")
			return send()
		})
		w.refused(only(c.PutRegistry(w.ctx, three(authz.MeshWrite), admin)), authz.MeshRegistryConflict)
		now, _, err := s.GetRecord(w.ctx, "mesh", "registry")
		w.must(err, "the record")
		w.same("the record", string(other.Data), string(now.Data))
	}},
	{ID: "X15", Rule: "an invalid registry is refused with every issue and its path, and nothing of it is stored", Run: func(w *world) {
		c := w.first.connect("hq")
		many := three("")
		for i := range mesh.MaxMembers {
			many.Members = append(many.Members, of(fmt.Sprintf("m%d", i)))
		}
		with := func(members ...authz.MeshMember) mesh.Put {
			return mesh.Put{Members: append(three("").Members, members...)}
		}
		edges := func(edges ...authz.MeshEdge) mesh.Put {
			return mesh.Put{Members: three("").Members, Edges: edges}
		}
		org := three("")
		org.Org = ptr("nobody")
		before := w.contents(mesh.Partition)
		for path, in := range map[string]mesh.Put{
			"members":                                 many,
			"edges":                                   edges(slices.Repeat([]authz.MeshEdge{edge("docs", "billing", authz.MeshRead)}, mesh.MaxEdges+1)...),
			"members[3].partition a b":                with(of("a b")),
			"members[3].partition 64":                 with(of(strings.Repeat("a", 64))),
			"members[3].partition reserved":           with(of("__service")),
			"members[3].partition unpartitioned":      with(of("")),
			"members[3].partition twice":              with(of("docs")),
			"members[3].namespaces[0] no grammar":     with(of("crm", "no-namespace")),
			"members[3].namespaces[0] authz_internal": with(of("crm", "authz_internal")),
			"members[3].namespaces[0] cloud":          with(of("crm", "cloud")),
			"members[3].namespaces[0] of another":     with(of("crm", "billing")),
			"edges[0].from":                           edges(edge("ghost", "docs", authz.MeshRead)),
			"edges[0].to":                             edges(edge("docs", "ghost", authz.MeshRead)),
			"edges[0] to itself":                      edges(edge("docs", "docs", authz.MeshRead)),
			"edges[0].mode":                           edges(edge("docs", "billing", "both")),
			"edges[1] an ordered pair has one":        edges(edge("docs", "billing", authz.MeshRead), edge("docs", "billing", authz.MeshWrite)),
			"org.partition":                           org,
		} {
			path, _, _ = strings.Cut(path, " ")
			_, err := c.PutRegistry(w.ctx, in, admin)
			e := w.refused(err, authz.MeshRegistryInvalid)
			if !slices.ContainsFunc(e.Issues, func(i authz.Issue) bool { return i.Path == path && i.Message != "" }) {
				w.Want("an issue at "+path, "%+v", e.Issues)
			}
			if m, err := c.Registry(w.ctx); m != nil || err != nil {
				w.Want("no registry", "%+v %v", m, err)
			}
		}
		w.same("what is stored", before, w.contents(mesh.Partition))
		w.put(c, edges(edge("docs", "billing", authz.MeshRead), edge("billing", "docs", authz.MeshWrite)))
	}},
	{ID: "X15a", Rule: "a write without provenance is refused before anything of a registry is looked at", Run: func(w *world) {
		c := w.first.connect("hq")
		_, err := c.PutRegistry(w.ctx, three(""), authz.Provenance{})
		w.rejected(err, authz.CodeValidation)
		if m, err := c.Registry(w.ctx); m != nil || err != nil {
			w.Want("no registry", "%+v %v", m, err)
		}
	}},
	{ID: "X16", Rule: "a change of the registry is audited in its own partition, and no member's partition shows it", Run: func(w *world) {
		c := w.first.connect("hq")
		members := []string{"docs", "billing", "hq"}
		before := map[string]contents{}
		for _, m := range members {
			before[m] = w.contents(m)
		}
		w.put(c, three(authz.MeshRead))
		w.pass(1)
		next := three("")
		next.Members = next.Members[:2]
		w.put(c, next)
		entries := w.audit(mesh.Partition)
		if len(entries) != 2 {
			w.Want("two audit entries", "%+v", entries)
		}
		for _, e := range entries {
			w.same("the entry", [3]string{"m.reyes", "mesh.registry_put", "registry"}, [3]string{e.Actor, e.Action, e.Target})
		}
		w.same("the detail", `{"version":2,"membersAdded":[],"membersRemoved":["hq"],"edgesAdded":[],"edgesRemoved":["docs -> billing (read)"],"org":null}`, string(entries[1].Detail))
		w.same("the head of the registry's log", int64(2), w.head(mesh.Partition))
		for _, m := range members {
			w.same("what "+m+" holds", before[m], w.contents(m))
			if _, found, err := w.raw(m).GetRecord(w.ctx, "mesh", "registry"); found || err != nil {
				w.Want("no registry in "+m, "%v %v", found, err)
			}
		}
	}},
	{ID: "X16a", Rule: "a connection sees another's change of the registry within 5 s, and at once where it opens a peer", Run: func(w *world) {
		writer, reader := w.first.connect("hq"), w.another("process 2").connect("docs")
		w.put(writer, three(""))
		edges := func() int {
			into, err := reader.EdgesInto(w.ctx, "billing")
			w.must(err, "the edges")
			return len(into)
		}
		w.same("the edges into billing", 0, edges())
		w.first.member("billing", billingCatalog, mesh.MemberOptions{})
		w.put(writer, three(authz.MeshRead))
		w.pass(cached)
		w.same("the edges into billing", 1, edges())
		w.put(writer, three(""))
		w.refused(only(reader.OpenPeer(w.ctx, "billing", mesh.PeerOptions{As: "m.reyes"})), authz.MeshNoEdge)
		owner, found, err := reader.MemberFor(w.ctx, "invoicing")
		w.same("the owner of invoicing", [3]any{"billing", true, nil}, [3]any{owner.Partition, found, err})
	}},
	{ID: "X17", Rule: "verify refuses the start with every finding at once: registry, membership, namespaces, edges, peers, org root", Run: func(w *world) {
		docs, ghost := w.first.connect("docs"), w.first.connect("ghost")
		fits := mesh.Verify{OrgRoot: true, Namespaces: []string{"docs"}, PersistsEvents: true}
		verify := func(c *mesh.Connection, change func(*mesh.Verify)) error {
			v := fits
			if change != nil {
				change(&v)
			}
			return only(c.Verify(w.ctx, v))
		}
		w.found(verify(docs, nil), authz.MeshNoRegistry)
		w.put(docs, three(authz.MeshRead))
		w.found(verify(ghost, nil), authz.MeshNotAMember)
		w.must(verify(docs, nil), "an application that fits")
		w.found(verify(docs, func(v *mesh.Verify) { v.Namespaces = []string{"docs", "papers"} }), authz.MeshNamespacesMismatch)
		w.found(verify(docs, func(v *mesh.Verify) { v.Read = []string{"billing"} }), authz.MeshPeerNotPublished)
		w.another("process 2").member("billing", billingCatalog, mesh.MemberOptions{})
		w.another("process 3").member("hq", hqCatalog, mesh.MemberOptions{})
		w.must(verify(docs, func(v *mesh.Verify) { v.Read = []string{"billing"} }), "a peer by a read edge")
		findings := w.found(verify(docs, func(v *mesh.Verify) {
			v.Namespaces, v.OrgRoot, v.Read = nil, false, []string{"hq", "ghost"}
		}), authz.MeshOrgNotDesignated, authz.MeshNoEdge, authz.MeshNotAMember)
		w.same("the partitions of the findings", []string{"docs", "hq", "ghost"}, []string{findings[0].Partition, findings[1].Partition, findings[2].Partition})
		org := three("")
		org.Org = ptr("hq")
		w.put(docs, org)
		w.found(verify(docs, nil), authz.MeshOrgRootMismatch)
		w.must(verify(docs, func(v *mesh.Verify) { v.OrgRoot, v.Read = false, []string{"hq"} }), "a member that is no org root, and the edge that the designation implies")
		w.found(verify(w.first.connect("hq"), func(v *mesh.Verify) { v.OrgRoot, v.Namespaces = false, nil }), authz.MeshOrgRootMismatch)
	}},
	{ID: "X17a", Rule: "verify refuses a partition with a foreign writer whose sections or events other processes do not see", Run: func(w *world) {
		w.neighbours(authz.MeshWrite)
		alone := w.first.driver.Info()
		alone.CrossProcess = false
		billing := w.first.connectAs(mesh.Options{Partition: "billing", Driver: alone, Open: w.first.Open})
		w.found(only(billing.Verify(w.ctx, mesh.Verify{OrgRoot: true})), authz.MeshLockNotCrossProcess, authz.MeshEventsNotPersisted)
		hq := w.first.connectAs(mesh.Options{Partition: "hq", Driver: alone, Open: w.first.Open})
		w.must(only(hq.Verify(w.ctx, mesh.Verify{OrgRoot: true})), "a partition that nobody else writes")
		docs := w.first.connectAs(mesh.Options{Partition: "docs", Driver: alone, Open: w.first.Open})
		w.found(only(docs.Verify(w.ctx, mesh.Verify{OrgRoot: true, PersistsEvents: true, Write: []string{"billing"}})),
			authz.MeshLockNotCrossProcess, authz.MeshLockNotCrossProcess)
		across := alone
		across.CrossProcess, across.Durable = true, ptr(false)
		forgetful := w.first.connectAs(mesh.Options{Partition: "docs", Driver: across, Open: w.first.Open})
		warnings, err := forgetful.Verify(w.ctx, mesh.Verify{OrgRoot: true, PersistsEvents: true, Write: []string{"billing"}})
		if err != nil || len(warnings) != 1 {
			w.Want("a driver that forgets is one warning", "%q %v", warnings, err)
		}
		var refused *authz.MeshError
		if _, err := docs.OpenPeer(w.ctx, "billing", mesh.PeerOptions{As: "group:ops"}); errors.As(err, &refused) || authz.CodeOf(err) != authz.CodeValidation {
			w.Want("a peer on behalf of a cohort refused", "%v", err)
		}
	}},
}
