package meshcases

import (
	"errors"
	"strings"

	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

var errBroken = errors.New("the case broke it")

var importCases = []spec{
	{ID: "X18", Rule: "an import whose owner no edge reaches is no_mesh_edge at the boot check and at every check, never a narrowing", Run: func(w *world) {
		_, billing := w.neighbours("")
		billing.grants("user:jane", "billing.invoices.read", "*")
		docs := w.first.member("docs", docsCatalog, mesh.MemberOptions{Imports: true})
		_, err := docs.lends.VerifyImports(w.ctx)
		w.same("the namespace", "billing", w.found(err, authz.MeshNoEdge)[0].Namespace)
		for _, key := range []string{"billing.invoices.read", "docs.files.read"} {
			w.refused(docs.fails("jane", key), authz.MeshNoEdge)
		}
		w.put(w.first.connect("hq"), three(authz.MeshRead))
		w.pass(cached)
		w.must(only(docs.lends.VerifyImports(w.ctx)), "imports by an edge")
		docs.allows("jane", "billing.invoices.read")
		w.put(w.another("process 3").connect("hq"), three(""))
		w.pass(cached)
		w.refused(docs.fails("jane", "billing.invoices.read"), authz.MeshNoEdge)
	}},
	{ID: "X18a", Rule: "an import of a namespace that nobody owns is import_unresolved, unless it is excepted by name; one that matches nothing published is import_pattern_missing", Run: func(w *world) {
		_, billing := w.neighbours(authz.MeshRead)
		billing.grants("user:jane", "billing.*", "*")
		foreign := docsCatalog + "  zoom: {permissions: {zoom.meetings.join: true}}\n"
		foreign = strings.Replace(foreign, "imports: {billing: {permissions: {billing.invoices.read: true}}}", "imports:\n  billing: {permissions: {billing.invoices.read: true}}", 1)
		docs := w.first.member("docs", foreign, mesh.MemberOptions{Imports: true})
		_, err := docs.lends.VerifyImports(w.ctx)
		w.same("the namespace", "zoom", w.found(err, authz.MeshImportUnresolved)[0].Namespace)
		w.same("the namespace", "zoom", w.refused(docs.fails("jane", "billing.invoices.read"), authz.MeshImportUnresolved).Namespace)
		docs = w.first.member("docs", foreign, mesh.MemberOptions{Imports: true, Except: []string{"zoom"}})
		w.must(only(docs.lends.VerifyImports(w.ctx)), "imports but for the one excepted")
		docs.allows("jane", "billing.invoices.read")
		docs.denies("jane", "zoom.meetings.join")
		billing.publish(strings.Replace(billingCatalog, "billing.invoices.read", "billing.invoices.view", 1))
		_, err = docs.lends.VerifyImports(w.ctx)
		w.found(err, authz.MeshImportPatternMissing)
	}},
	{ID: "X19", Rule: "a global grant of the peer, by role or pattern, allows in the importer, and the explanation names the peer's row", Run: func(w *world) {
		docs, billing := w.importing()
		docs.denies("jane", "billing.invoices.read")
		billing.role("auditor", "billing.*")
		row := billing.grants("user:jane", "role:auditor", "*")
		docs.allows("jane", "billing.invoices.read")
		docs.denies("jane", "docs.files.read")
		explained, err := docs.client.Explain(w.ctx, authz.UserPrincipal("jane"), "billing.invoices.read", "*")
		if err != nil || len(explained.MatchedGrants) != 1 || explained.MatchedGrants[0].ID != "mesh:billing:"+row.ID {
			w.Want("allowed by mesh:billing:"+row.ID, "%+v %v", explained, err)
		}
		w.same("the rows that docs lists", []authz.Grant(nil), rows(w, docs.ListGrants(w.ctx, provider.GrantQuery{})))
		w.rejected(docs.DeleteGrant(w.ctx, "mesh:billing:"+row.ID, admin), authz.CodeNotFound)
		w.same("the grants of billing", 1, len(w.contents("billing").Grants))
		timed, err := billing.CreateGrant(w.ctx, provider.GrantInput{Subject: "user:bob", Pattern: "billing.invoices.read", Scope: "*", ExpiresAt: authz.ExpiresAt(begin + 1000)}, admin)
		w.must(err, "a grant until "+timed.ID)
		docs.allows("bob", "billing.invoices.read")
		w.pass(1000)
		docs.denies("bob", "billing.invoices.read")
	}},
	{ID: "X20", Rule: "grants and revokes of the peer at instances are not merged", Run: func(w *world) {
		docs, billing := w.importing()
		billing.grants("user:jane", "billing.invoices.read", "billing.account:7")
		docs.denies("jane", "billing.invoices.read")
		docs.answers(false, "jane", "billing.invoices.read", "billing.account:7")
		billing.answers(true, "jane", "billing.invoices.read", "billing.account:7")
	}},
	{ID: "X21", Rule: "a global revoke of the peer takes away what its grant gives, and nothing of a user who is inactive there is merged", Run: func(w *world) {
		docs, billing := w.importing()
		billing.grants("user:jane", "billing.invoices.read", "*")
		docs.grants("user:jane", "docs.files.read", "*")
		docs.allows("jane", "billing.invoices.read")
		w.must(billing.SetUserActive(w.ctx, "jane", false, admin), "a user switched off")
		docs.denies("jane", "billing.invoices.read")
		docs.allows("jane", "docs.files.read")
		w.must(billing.SetUserActive(w.ctx, "jane", true, admin), "a user switched on")
		docs.allows("jane", "billing.invoices.read")
		billing.revokes("jane", "*")
		docs.denies("jane", "billing.invoices.read")
		docs.allows("jane", "docs.files.read")
	}},
	{ID: "X21a", Rule: "a revoke of the peer also takes away an imported key that a row of the importer gives", Run: func(w *world) {
		docs, billing := w.importing()
		docs.grants("user:jane", "billing.invoices.read", "*")
		docs.allows("jane", "billing.invoices.read")
		billing.revokes("jane", "billing.*")
		docs.denies("jane", "billing.invoices.read")
	}},
	{ID: "X22", Rule: "a bare * of the peer, and its rows about the importer's namespaces, give imported keys of the peer at most", Run: func(w *world) {
		c := w.first.connect("docs")
		w.put(c, three(authz.MeshRead))
		billing := w.another("process 2").member("billing", billingCatalog+"imports: {docs: {permissions: {docs.files.read: true, docs.files.delete: true}}}\n", mesh.MemberOptions{})
		docs := w.first.member("docs", docsCatalog, mesh.MemberOptions{Imports: true})
		billing.grants("user:jane", "*", "*")
		billing.grants("user:bob", "docs.files.read", "*")
		billing.role("both", "docs.files.read", "billing.*")
		billing.grants("user:eve", "role:both", "*")
		for _, user := range []string{"jane", "bob", "eve"} {
			docs.denies(user, "docs.files.read")
			docs.denies(user, "docs.files.delete")
			docs.answers(user != "bob", user, "billing.invoices.read", "*")
		}
	}},
	{ID: "X23", Rule: "groups and roles of one id in both partitions are never mixed up", Run: func(w *world) {
		docs, billing := w.importing()
		docs.group("ops", "jane")
		billing.group("ops", "bob")
		billing.grants("group:ops", "*", "*")
		docs.denies("jane", "billing.invoices.read")
		docs.allows("bob", "billing.invoices.read")
		docs.role("reader", "docs.files.read")
		billing.role("reader", "billing.invoices.read")
		docs.grants("user:ann", "role:reader", "*")
		billing.grants("user:tom", "role:reader", "*")
		for user, key := range map[string]string{"ann": "docs.files.read", "tom": "billing.invoices.read"} {
			docs.allows(user, key)
			docs.denies(map[string]string{"ann": "tom", "tom": "ann"}[user], key)
		}
	}},
	{ID: "X24", Rule: "a grant of the peer outside the declared import entries gives nothing; a key that is not imported is unknown", Run: func(w *world) {
		docs, billing := w.importing()
		billing.grants("user:jane", "billing.invoices.void", "*")
		billing.grants("user:jane", "invoicing.*", "*")
		docs.denies("jane", "billing.invoices.read")
		var unknown *authz.UnknownPermissionError
		for _, key := range []string{"billing.invoices.void", "invoicing.runs.start"} {
			if err := docs.fails("jane", key); !errors.As(err, &unknown) || unknown.Permission != key {
				w.Want("UnknownPermissionError of "+key, "%v", err)
			}
		}
	}},
	{ID: "X26", Rule: "while the peer cannot be read a check fails; it does not answer", Run: func(w *world) {
		docs, billing := w.importing()
		billing.grants("user:jane", "billing.invoices.read", "*")
		docs.grants("user:jane", "docs.files.read", "*")
		broken := func(partition string) error {
			if partition == "billing" {
				return storage.Unavailable("", errBroken, "billing cannot be read")
			}
			return nil
		}
		fail := func(docs *member) {
			for _, question := range [][2]string{{"jane", "billing.invoices.read"}, {"bob", "billing.invoices.read"}, {"jane", "docs.files.read"}} {
				var unavailable *authz.UnavailableError
				if err := docs.fails(question[0], question[1]); !errors.As(err, &unavailable) {
					w.Want("UnavailableError", "%v", err)
				}
			}
		}
		w.first.onRead(broken)
		fail(docs)
		w.first.onRead(nil)
		docs.allows("jane", "billing.invoices.read")
		docs.allows("jane", "docs.files.read")
		unreachable := w.another("process 3")
		docs = unreachable.member("docs", docsCatalog, mesh.MemberOptions{Imports: true})
		unreachable.onRead(broken)
		fail(docs)
		unreachable.onRead(nil)
		docs.allows("jane", "billing.invoices.read")
	}},
}
