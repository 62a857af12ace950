package mesh_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// company is a mesh whose members have organizations of their own.
func company(t *testing.T) (w *world, docs, billing, hq *running, c *mesh.Connection) {
	w = newWorld(t)
	docs, billing, hq, c = staffed(w)
	return w, docs, billing, hq, c
}

func staffed(w *world) (docs, billing, hq *running, c *mesh.Connection) {
	t := w.T
	hq = w.member("hq", w.declare("namespaces: [hq]\npermissions: {hq.people.read: true}\n"), mesh.MemberOptions{})
	docs = w.member("docs", w.declare("scopeTypes: {docs.space: {}}\n"+strings.Replace(docsCatalog, "docs.files.read: true", "docs.files.read: {scopes: [docs.space]}", 1)), mesh.MemberOptions{})
	billing = w.member("billing", w.declare(billingCatalog), mesh.MemberOptions{})
	c = w.connect("hq")
	w.put(c, mesh.Put{Members: []authz.MeshMember{member("docs", "docs"), member("billing", "billing", "invoicing"), member("hq", "hq")}})
	for _, err := range []error{
		create(hq.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:boss", Pattern: "authz_internal.*", Scope: "*"}, admin)),
		create(docs.CreateGroup(t.Context(), provider.GroupInput{ID: ptr("writers"), Name: "Writers"}, admin)),
		docs.SetGroupMembership(t.Context(), "jane", []string{"writers"}, admin),
		create(docs.CreateGrant(t.Context(), provider.GrantInput{Subject: "group:writers", Pattern: "docs.files.*", Scope: "*"}, admin)),
		create(billing.CreateRole(t.Context(), provider.RoleInput{ID: ptr("auditor"), Name: "Auditor", Patterns: []string{"billing.*"}}, admin)),
		create(billing.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:jane", RoleID: "auditor", Scope: "*"}, admin)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return docs, billing, hq, c
}

// accepting resolves every conflict that only asks whether a row may speak for the
// whole organization.
func accepting(t *testing.T, err error) (map[string]authz.Resolution, string) {
	t.Helper()
	var conflict *authz.PromotionConflictError
	if !errors.As(err, &conflict) {
		t.Fatalf("%v", err)
	}
	resolutions := map[string]authz.Resolution{}
	for _, c := range conflict.Conflicts {
		if c.Kind != authz.ConflictWidens {
			t.Fatalf("%+v", c)
		}
		resolutions[c.ID] = authz.Resolution{Action: authz.ActionAccept}
	}
	return resolutions, conflict.Fingerprint
}

func TestAPromotionMovesTheOrganizationsOfSeveralMembers(t *testing.T) {
	w, docs, billing, hq, c := company(t)
	_, err := c.PromoteOrgPartition(t.Context(), mesh.Promote{}, admin)
	resolutions, fingerprint := accepting(t, err)
	if err := docs.SetUserActive(t.Context(), "x", true, admin); err != nil {
		t.Errorf("a promotion that was refused left the freeze behind: %v", err)
	}
	in := mesh.Promote{Resolutions: resolutions, Fingerprint: fingerprint}
	in.DryRun = true
	dry, err := c.PromoteOrgPartition(t.Context(), in, admin)
	if err != nil || dry.Registry.Promoting != nil || dry.Registry.Org != nil {
		t.Fatalf("%+v %v", dry, err)
	}
	in.DryRun = false
	done, err := c.PromoteOrgPartition(t.Context(), in, admin)
	if err != nil {
		t.Fatal(err)
	}
	if done.Registry.Org == nil || done.Registry.Org.Partition != "hq" || done.Registry.Promoting != nil || done.Moved.Groups != 1 || done.Moved.GlobalGrants != 3 || done.Moved.Roles != 1 {
		t.Fatalf("%+v", done)
	}
	for _, r := range []*running{docs, billing} {
		if err := r.SetUserActive(t.Context(), "x", false, admin); authz.CodeOf(err) != authz.CodeNotOrgRoot {
			t.Errorf("a member still writes as a root: %v", err)
		}
	}
	// The members' processes read the registry that they had for five seconds; new ones see the move.
	docs, billing = w.member("docs", docs.Catalog(), mesh.MemberOptions{}), w.member("billing", billing.Catalog(), mesh.MemberOptions{})
	if !w.can(docs, "jane", "docs.files.read") || !w.can(billing, "jane", "billing.invoices.read") {
		t.Error("what was moved does not count")
	}
	if err := hq.SetUserActive(t.Context(), "jane", false, admin); err != nil {
		t.Fatal(err)
	}
	if w.can(docs, "jane", "docs.files.read") || w.can(billing, "jane", "billing.invoices.read") {
		t.Error("a write at the org partition does not count at its members")
	}
	for partition, want := range map[string]string{"hq": "org.authority_received mesh:", "docs": "mesh:hq/m.reyes org.authority_released mesh:", "billing": "mesh:hq/m.reyes org.authority_released mesh:", mesh.Partition: "mesh.org_promoted hq"} {
		if all := actions(log(t, w.store(partition))); !strings.Contains(all, want) {
			t.Errorf("%s: %s", partition, all)
		}
	}
}

func TestNobodyIsLeftWithoutAnAdministrator(t *testing.T) {
	w, docs, _, hq, c := company(t)
	for _, g := range grants(t, hq) {
		if err := hq.DeleteGrant(t.Context(), g.ID, admin); err != nil {
			t.Fatal(err)
		}
	}
	_, err := c.PromoteOrgPartition(t.Context(), mesh.Promote{From: []string{"docs"}}, admin)
	refused(t, err, authz.MeshNoOrgAdministrator)
	if err := docs.SetUserActive(t.Context(), "x", true, admin); err != nil {
		t.Error(err)
	}
	if m, err := w.connect("docs").Registry(t.Context()); err != nil || m.Promoting != nil {
		t.Errorf("%+v %v", m, err)
	}
}

func TestAPromotionThatIsOverIsNotRepeated(t *testing.T) {
	w, _, _, _, c := company(t)
	_, err := c.PromoteOrgPartition(t.Context(), mesh.Promote{}, admin)
	in := mesh.Promote{}
	in.Resolutions, in.Fingerprint = accepting(t, err)
	first, err := c.PromoteOrgPartition(t.Context(), in, admin)
	if err != nil {
		t.Fatal(err)
	}
	before := len(log(t, w.store("hq"))) + len(log(t, w.store(mesh.Partition)))
	for _, in := range []mesh.Promote{in, {From: first.From, To: "hq"}, {DryRun: true}} {
		again, err := c.PromoteOrgPartition(t.Context(), in, admin)
		if err != nil || again.Registry.Version != first.Registry.Version || len(again.From) != 0 {
			t.Errorf("%+v %v", again, err)
		}
	}
	if after := len(log(t, w.store("hq"))) + len(log(t, w.store(mesh.Partition))); after != before {
		t.Error("a promotion that is over left another trail")
	}
}

func TestADesignationMovesToAMemberWhoseRowsNameItsGroups(t *testing.T) {
	w, docs, _, _, c := company(t)
	if _, err := docs.CreateGrant(t.Context(), provider.GrantInput{Subject: "group:writers", Pattern: "docs.files.read", Scope: "docs.space:1"}, admin); err != nil {
		t.Fatal(err)
	}
	_, err := c.PromoteOrgPartition(t.Context(), mesh.Promote{}, admin)
	in := mesh.Promote{}
	in.Resolutions, in.Fingerprint = accepting(t, err)
	if _, err := c.PromoteOrgPartition(t.Context(), in, admin); err != nil {
		t.Fatal(err)
	}
	back, err := w.connect("docs").PromoteOrgPartition(t.Context(), mesh.Promote{To: "docs"}, admin)
	if err != nil || back.Registry.Org.Partition != "docs" || back.Moved.Groups != 1 {
		t.Fatalf("%+v %v", back, err)
	}
}

func TestNobodyTakesBackWhatHeMayNotPromote(t *testing.T) {
	w, docs, _, _, c := company(t)
	_, err := c.PromoteOrgPartition(t.Context(), mesh.Promote{DryRun: true}, admin)
	in := mesh.Promote{}
	in.Resolutions, in.Fingerprint = accepting(t, err)
	const begun = 2 // the registry's section, and the commit that says what is moved
	dying, err := mesh.Connect(mesh.Options{Partition: "hq", Driver: w.info, Open: newFuse(begun, diesAfter).opening(w.driver)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dying.PromoteOrgPartition(t.Context(), in, admin); err == nil {
		t.Fatal("it did not end")
	}
	_ = dying.Close()
	_, err = w.connect("docs").UndoPromotion(t.Context(), admin)
	if e := refused(t, err, authz.MeshNoEdge); e.From != "docs" || e.Mode != authz.MeshWrite {
		t.Errorf("%+v", e)
	}
	if m, err := w.connect("docs").Registry(t.Context()); err != nil || m.Promoting == nil {
		t.Errorf("%+v %v", m, err)
	}
	if m, err := w.connect("hq").UndoPromotion(t.Context(), admin); err != nil || m.Promoting != nil {
		t.Errorf("%+v %v", m, err)
	}
	if err := docs.SetUserActive(t.Context(), "x", true, admin); err != nil {
		t.Error(err)
	}
}

func TestAnApplicationThatJoinsBringsItsOrganizationByName(t *testing.T) {
	w, docs, _, hq, c := company(t)
	joined := mesh.Put{Members: []authz.MeshMember{member("docs", "docs"), member("hq", "hq")}}
	w.put(c, mesh.Put{Members: joined.Members[1:], Org: ptr("hq")})
	w.put(c, joined)
	if w.can(w.member("docs", docs.Catalog(), mesh.MemberOptions{}), "jane", "docs.files.read") {
		t.Error("what a designation superseded counts")
	}
	done, err := c.PromoteOrgPartition(t.Context(), mesh.Promote{From: []string{"docs"}}, admin)
	if err != nil || done.Moved.Groups != 1 {
		t.Fatalf("%+v %v", done, err)
	}
	docs = w.member("docs", docs.Catalog(), mesh.MemberOptions{})
	if !w.can(docs, "jane", "docs.files.read") {
		t.Error("what the application brought does not count")
	}
	// What was moved once is not moved again: it has gone on elsewhere.
	for _, g := range grants(t, hq) {
		if g.Subject == "group:writers" {
			if err := hq.DeleteGrant(t.Context(), g.ID, admin); err != nil {
				t.Fatal(err)
			}
		}
	}
	if again, err := c.PromoteOrgPartition(t.Context(), mesh.Promote{From: []string{"docs"}}, admin); err != nil || len(again.From) != 0 {
		t.Errorf("%+v %v", again, err)
	}
	if w.can(docs, "jane", "docs.files.read") {
		t.Error("a grant that was deleted came back")
	}
}

func TestAnOrganizationThatMovesToOneThatJoinedKeepsBoth(t *testing.T) {
	w, docs, _, _, c := company(t)
	w.put(c, mesh.Put{Members: []authz.MeshMember{member("hq", "hq")}, Org: ptr("hq")})
	w.put(c, mesh.Put{Members: []authz.MeshMember{member("docs", "docs"), member("hq", "hq")}})
	if _, err := w.connect("docs").PromoteOrgPartition(t.Context(), mesh.Promote{To: "docs"}, admin); err != nil {
		t.Fatal(err)
	}
	docs = w.member("docs", docs.Catalog(), mesh.MemberOptions{})
	if !w.can(docs, "jane", "docs.files.read") || !w.can(docs, "boss", "authz_internal.access.manage_grants") {
		t.Error("one organization is lost")
	}
}

func TestAPromotionOfSomeLeavesOneRoot(t *testing.T) {
	_, docs, billing, _, c := company(t)
	in := mesh.Promote{From: []string{"docs"}}
	_, err := c.PromoteOrgPartition(t.Context(), in, admin)
	in.Resolutions, in.Fingerprint = accepting(t, err)
	if _, err := c.PromoteOrgPartition(t.Context(), in, admin); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*running{docs, billing} {
		if err := r.SetUserActive(t.Context(), "x", false, admin); authz.CodeOf(err) != authz.CodeNotOrgRoot {
			t.Errorf("%s still writes as a root: %v", r.Name(), err)
		}
	}
	// What billing brought is not lost.
	in = mesh.Promote{From: []string{"billing"}}
	if done, err := c.PromoteOrgPartition(t.Context(), in, admin); err != nil || done.Moved.Roles != 1 {
		t.Errorf("%+v %v", done, err)
	}
}

// An id of what is moved that an instance row of the receiving partition has is no obstacle.
func TestAnIDThatAnInstanceRowHasIsNoObstacleToAPromotion(t *testing.T) {
	w, docs, _, _, c := company(t)
	var moved authz.Grant
	for g, err := range docs.ListGrants(t.Context(), provider.GrantQuery{Subject: ptr("group:writers")}) {
		if err != nil {
			t.Fatal(err)
		}
		moved = g
	}
	instance := authz.Grant{ID: moved.ID, Subject: "user:zoe", Pattern: "hq.people.read", Scope: "hq.team:1", Provenance: admin, CreatedAt: 1}
	if _, err := w.store("hq").Commit(t.Context(), storage.Commit{ID: "beside", At: 1, Changes: []storage.Change{storage.InsertGrant{Grant: instance}}}); err != nil {
		t.Fatal(err)
	}
	_, err := c.PromoteOrgPartition(t.Context(), mesh.Promote{}, admin)
	resolutions, fingerprint := accepting(t, err)
	done, err := c.PromoteOrgPartition(t.Context(), mesh.Promote{Resolutions: resolutions, Fingerprint: fingerprint}, admin)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(done.Warnings, "\n"), "another row has its id") {
		t.Errorf("%v", done.Warnings)
	}
	found := map[string]string{}
	for g, err := range w.store("hq").ListGrants(t.Context(), storage.GrantFilter{}, storage.Page{}) {
		if err != nil {
			t.Fatal(err)
		}
		found[g.Subject] = g.ID
	}
	if found["user:zoe"] != moved.ID || found["group:writers"] == "" || found["group:writers"] == moved.ID {
		t.Errorf("%v", found)
	}
}
