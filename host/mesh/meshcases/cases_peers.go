package meshcases

import (
	"context"
	"encoding/json"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/internal/lacking"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

var peerCases = []spec{
	{ID: "X01", Rule: "a peer is opened only where there is a registry, of a member, by an edge", Run: func(w *world) {
		c := w.first.connect("docs")
		open := func(c *mesh.Connection, to string) error {
			return only(c.OpenPeer(w.ctx, to, mesh.PeerOptions{As: "m.reyes"}))
		}
		w.refused(open(c, "billing"), authz.MeshNoRegistry)
		w.refused(only(c.Members(w.ctx)), authz.MeshNoRegistry)
		w.put(c, three(""))
		e := w.refused(open(c, "billing"), authz.MeshNoEdge)
		w.same("the edge that is missing", [3]string{"docs", "billing", "read"}, [3]string{e.From, e.To, string(e.Mode)})
		for _, to := range []string{"ghost", "docs", mesh.Partition} {
			w.same("who is no member", to, w.refused(open(c, to), authz.MeshNotAMember).Partition)
		}
		w.same("who is no member", "ghost", w.refused(open(w.first.connect("ghost"), "billing"), authz.MeshNotAMember).Partition)
	}},
	{ID: "X02", Rule: "an edge leads one way: the edge back opens nothing", Run: func(w *world) {
		_, billing := w.neighbours(authz.MeshWrite)
		docs := w.first.member("docs", docsCatalog, mesh.MemberOptions{})
		docs.grants("user:jane", "docs.files.read", "*")
		billing.grants("user:jane", "billing.invoices.read", "*")
		e := w.refused(only(w.first.connect("billing").OpenPeer(w.ctx, "docs", mesh.PeerOptions{As: "m.reyes"})), authz.MeshNoEdge)
		w.same("the edge that is missing", [2]string{"billing", "docs"}, [2]string{e.From, e.To})
	}},
	{ID: "X03", Rule: "through a read edge lists and explanations are of the target's rows, by the target's catalog", Run: func(w *world) {
		docs, billing := w.neighbours(authz.MeshRead)
		w.first.member("docs", docsCatalog, mesh.MemberOptions{}).grants("user:jane", "docs.files.read", "*")
		billing.role("auditor", "billing.invoices.*")
		want := billing.grants("user:jane", "role:auditor", "*")
		p := w.peer(docs, "billing", "")
		w.same("the rows", []authz.Grant{want}, rows(w, p.ListGrants(w.ctx, provider.GrantQuery{})))
		explained, err := p.Explain(w.ctx, authz.UserPrincipal("jane"), "billing.invoices.read", "*")
		if err != nil || !explained.Allowed || len(explained.MatchedGrants) != 1 || explained.MatchedGrants[0].ID != want.ID {
			w.Want("allowed by "+want.ID, "%+v %v", explained, err)
		}
		vocabulary, err := p.Catalog(w.ctx)
		w.must(err, "the target's catalog")
		w.same("whether docs.files.read is known there", false, vocabulary.HasKey("docs.files.read"))
	}},
	{ID: "X04", Rule: "every write through a read peer is refused with read_only_peer, and nothing of the target changes", Run: func(w *world) {
		for _, mode := range []authz.MeshMode{authz.MeshRead, authz.MeshWrite} {
			w := w.apart()
			docs, billing := w.neighbours(mode)
			row := billing.grants("user:jane", "billing.invoices.read", "*")
			p := w.peer(docs, "billing", authz.MeshRead)
			before := w.contents("billing")
			for _, op := range provider.Operations {
				if op.Kind == provider.Write {
					e := w.refused(p.Invoke(w.ctx, op, nil, nil), authz.MeshReadOnlyPeer)
					w.same("what was refused", [2]string{"billing", op.Op}, [2]string{e.To, e.Operation})
				}
			}
			w.refused(p.DeleteGrant(w.ctx, row.ID, admin), authz.MeshReadOnlyPeer)
			w.refused(only(p.CreateGrant(w.ctx, provider.GrantInput{Subject: "user:eve", Pattern: "*", Scope: "*"}, admin)), authz.MeshReadOnlyPeer)
			w.same("what billing holds", before, w.contents("billing"))
		}
	}},
	{ID: "X05", Rule: "a write edge reads as well", Abilities: []conformance.Ability{conformance.CrossLocks}, Run: func(w *world) {
		docs, billing := w.neighbours(authz.MeshWrite)
		want := billing.grants("user:jane", "billing.invoices.read", "*")
		p := w.peer(docs, "billing", "")
		w.same("the peer's mode", authz.MeshWrite, p.Mode())
		w.same("the rows", []authz.Grant{want}, rows(w, p.ListGrants(w.ctx, provider.GrantQuery{})))
	}},
	{ID: "X06", Rule: "no peer writes where sections end with a process, or where events are not persisted", Run: func(w *world) {
		_, billing := w.neighbours(authz.MeshWrite)
		billing.grants("user:jane", "billing.invoices.read", "*")
		info := w.first.driver.Info()
		alone, across := info, info
		alone.CrossProcess, across.CrossProcess = false, true
		deaf := func(ctx context.Context, partition string) (storage.Store, error) {
			s, err := w.first.Open(ctx, partition)
			if err != nil {
				return nil, err
			}
			return lacking.Store(s, storage.CapEvents, storage.CapWatch), nil
		}
		for _, c := range []struct {
			o    mesh.Options
			code authz.MeshCode
		}{
			{mesh.Options{Partition: "docs", Driver: alone, Open: w.first.Open}, authz.MeshLockNotCrossProcess},
			{mesh.Options{Partition: "docs", Driver: across, Open: deaf}, authz.MeshEventsNotPersisted},
		} {
			conn := w.first.connectAs(c.o)
			e := w.refused(only(conn.OpenPeer(w.ctx, "billing", mesh.PeerOptions{As: "m.reyes"})), c.code)
			w.same("where", [2]string{"billing", info.Name}, [2]string{e.Partition, e.DriverName})
			w.peer(conn, "billing", authz.MeshRead)
		}
	}},
	{ID: "X07", Rule: "a target that has published nothing is peer_not_published", Run: func(w *world) {
		c := w.first.connect("docs")
		w.put(c, three(authz.MeshRead))
		w.same("whose", "billing", w.refused(only(c.OpenPeer(w.ctx, "billing", mesh.PeerOptions{As: "m.reyes"})), authz.MeshPeerNotPublished).To)
	}},
}

var refusalCases = []spec{
	{ID: "X33", Rule: "a target whose stored catalog breaks the rules of documents is peer_catalog_invalid", Run: func(w *world) {
		docs, _ := w.neighbours(authz.MeshRead)
		p := w.peer(docs, "billing", "")
		_, err := w.raw("billing").Commit(w.ctx, storage.Commit{ID: "broken", At: begin, Changes: []storage.Change{
			storage.PutCatalog{Version: 2, Expect: ptr(int64(1)), PublishedAt: begin, Document: json.RawMessage(`{"formatVersion":1,"namespaces":"all of them"}`)}}})
		w.must(err, "a document that is none")
		w.same("whose", "billing", w.refused(only(docs.OpenPeer(w.ctx, "billing", mesh.PeerOptions{As: "m.reyes"})), authz.MeshPeerCatalogInvalid).To)
		w.refused(only(p.CountGrants(w.ctx, provider.GrantQuery{})), authz.MeshPeerCatalogInvalid)
	}},
	{ID: "X34", Rule: "a peer whose connection is closed is peer_closed, and so is the connection", Run: func(w *world) {
		docs, _ := w.neighbours(authz.MeshRead)
		p := w.peer(docs, "billing", "")
		w.must(docs.Close(), "a closed connection")
		w.same("whose", "billing", w.refused(only(p.CountGrants(w.ctx, provider.GrantQuery{})), authz.MeshPeerClosed).To)
		w.refused(only(docs.OpenPeer(w.ctx, "billing", mesh.PeerOptions{As: "m.reyes"})), authz.MeshPeerClosed)
	}},
	{ID: "X35", Rule: "a driver function that opens another partition than asked is partition_mismatch, and nothing of it is read or written", Run: func(w *world) {
		_, billing := w.neighbours(authz.MeshWrite)
		billing.grants("user:jane", "billing.invoices.read", "*")
		for asked, got := range map[string]string{"billing": "hq", mesh.Partition: "docs", "docs": "billing"} {
			before := w.contents(got)
			c := w.first.connectAs(mesh.Options{Partition: "docs", Driver: w.first.driver.Info(), Open: func(ctx context.Context, partition string) (storage.Store, error) {
				if partition == asked {
					partition = got
				}
				return w.first.Open(ctx, partition)
			}})
			err := only(c.OpenPeer(w.ctx, "billing", mesh.PeerOptions{As: "m.reyes", Mode: authz.MeshRead}))
			if asked == "docs" {
				err = only(c.Storage(w.ctx))
			}
			e := w.refused(err, authz.MeshPartitionMismatch)
			w.same("asked and got", [2]string{asked, got}, [2]string{e.Asked, e.Got})
			w.same("what "+got+" holds", before, w.contents(got))
		}
	}},
	{ID: "X36", Rule: "a driver without records is unsupported", Run: func(w *world) {
		c := w.first.connectAs(mesh.Options{Partition: "docs", Driver: w.first.driver.Info(), Open: func(ctx context.Context, partition string) (storage.Store, error) {
			s, err := w.first.Open(ctx, partition)
			if err != nil {
				return nil, err
			}
			return lacking.Store(s, storage.CapRecords), nil
		}})
		for _, err := range []error{only(c.Registry(w.ctx)), only(c.Storage(w.ctx)), only(c.PutRegistry(w.ctx, three(""), admin))} {
			w.same("whose", w.first.driver.Info().Name, w.refused(err, authz.MeshUnsupported).DriverName)
		}
	}},
	{ID: "X37", Rule: "no check through a peer runs on a chain that only the target can resolve", Run: func(w *world) {
		c := w.first.connect("docs")
		w.put(c, three(authz.MeshRead))
		billing := w.another("process 2").member("billing", `
namespaces: [billing, invoicing]
scopeTypes: {billing.account: {}, billing.invoice: {parent: billing.account}}
permissions: {billing.invoices.read: {scopes: [billing.account, billing.invoice]}}
`, mesh.MemberOptions{})
		billing.grants("user:jane", "billing.invoices.read", "billing.invoice:1")
		billing.grants("user:jane", "billing.invoices.read", "billing.account:1")
		p := w.peer(c, "billing", "")
		explained, err := p.Explain(w.ctx, authz.UserPrincipal("jane"), "billing.invoices.read", "billing.account:1")
		if err != nil || !explained.Allowed {
			w.Want("a flat scope is resolved by its declaration", "%+v %v", explained, err)
		}
		w.refused(only(p.Explain(w.ctx, authz.UserPrincipal("jane"), "billing.invoices.read", "billing.invoice:1")), authz.MeshUnsupported)
		w.same("the rows at any scope", 2, len(rows(w, p.ListGrants(w.ctx, provider.GrantQuery{}))))
	}},
}
