package meshcases

import (
	"errors"
	"strings"

	"github.com/authzhost/authz/conformance"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

var orgCases = []spec{
	{ID: "X27", Rule: "a promotion merges the organizations of its sources, is audited in every log concerned, and the registry names the org partition", Abilities: crossing, Run: func(w *world) {
		c := w.company()
		done, err := w.promote(c.conn)
		w.must(err, "a promotion")
		w.same("what was moved", [4]int{1, 1, 3, 1}, [4]int{done.Moved.Groups, done.Moved.Roles, done.Moved.GlobalGrants, done.Moved.Users})
		w.same("the sources", []string{"billing", "docs"}, done.From)
		w.promoted()
		w.pass(cached)
		for _, m := range []*member{c.docs, w.another("process 3").member("docs", spacesCatalog, mesh.MemberOptions{})} {
			m.allows("jane", "docs.files.read")
			m.answers(true, "jane", "docs.files.read", "docs.space:1")
			m.denies("bob", "docs.files.read")
		}
		c.billing.allows("jane", "billing.invoices.void")
	}},
	{ID: "X28", Rule: "while the organization is being moved its writes are refused with conflict, and checks and writes at instances go on. Afterwards a member is no org root and reads the org partition, without a copy", Abilities: crossing, Run: func(w *world) {
		c := w.company()
		asked := 0
		c.hqProcess.onCommit(func(_ string, commit storage.Commit, send func() error) error {
			if strings.Contains(commit.ID, "/receive/") {
				asked++
				for _, m := range []*member{c.docs, c.billing, c.hq} {
					w.rejected(m.SetUserActive(w.ctx, "late", false, admin), authz.CodeConflict)
					w.rejected(only(m.CreateGrant(w.ctx, provider.GrantInput{Subject: "user:late", Pattern: "*", Scope: "*"}, admin)), authz.CodeConflict)
				}
				c.docs.allows("jane", "docs.files.read")
				c.docs.grants("group:writers", "docs.files.read", "docs.space:2")
			}
			return send()
		})
		w.must(only(w.promote(c.conn)), "a promotion")
		w.same("how often the case looked into the promotion", 1, asked)
		for _, m := range []*member{c.docs, c.billing} {
			w.rejected(m.SetUserActive(w.ctx, "late", false, admin), authz.CodeNotOrgRoot)
			w.rejected(only(m.CreateGrant(w.ctx, provider.GrantInput{Subject: "user:late", Pattern: "*", Scope: "*"}, admin)), authz.CodeNotOrgRoot)
			w.rejected(only(m.CreateRole(w.ctx, provider.RoleInput{Name: "late", Patterns: []string{"*"}}, admin)), authz.CodeNotOrgRoot)
			w.rejected(m.SetReportingEdge(w.ctx, "late", "boss", admin), authz.CodeNotOrgRoot)
		}
		w.pass(cached)
		c.docs.answers(true, "jane", "docs.files.read", "docs.space:2")
		w.must(c.hq.SetGroupMembership(w.ctx, "ann", []string{"writers"}, admin), "a membership at the org partition")
		c.docs.allows("ann", "docs.files.read")
		c.docs.answers(true, "ann", "docs.files.read", "docs.space:1")
		w.must(c.hq.SetUserActive(w.ctx, "jane", false, admin), "a user switched off at the org partition")
		c.docs.denies("jane", "docs.files.read")
		c.billing.denies("jane", "billing.invoices.void")
	}},
	{ID: "X28a", Rule: "a designation takes authority from every other member at once, whatever its process was built with; it moves by promotion alone", Run: func(w *world) {
		c := w.first.connect("hq")
		w.put(c, three(""))
		docs := w.another("process 2").member("docs", spacesCatalog, mesh.MemberOptions{})
		docs.grants("user:old", "docs.files.delete", "*")
		org := three("")
		org.Org = ptr("hq")
		m := w.put(c, org)
		w.same("the designation", authz.OrgDesignation{Partition: "hq", Since: begin}, *m.Org)
		w.rejected(docs.SetUserActive(w.ctx, "ann", false, admin), authz.CodeNotOrgRoot)
		w.same("who ended docs' authority", "mesh:hq/m.reyes", w.entry("docs", "org.authority_released").Actor)
		w.pass(cached)
		docs.denies("old", "docs.files.delete")
		org.Org = ptr("docs")
		w.refused(only(c.PutRegistry(w.ctx, org, admin)), authz.MeshRegistryInvalid)
		org = three("")
		org.Members = org.Members[:2]
		w.refused(only(c.PutRegistry(w.ctx, org, admin)), authz.MeshRegistryInvalid)
	}},
	{ID: "X28b", Rule: "the org partition gives what any member has published, a bare * gives each member its own keys, and instances of a member name its groups and roles", Run: func(w *world) {
		c := w.first.connect("hq")
		org := three("")
		org.Org = ptr("hq")
		w.put(c, org)
		hq := w.first.member("hq", hqCatalog, mesh.MemberOptions{})
		p := w.another("process 2")
		docs, billing := p.member("docs", spacesCatalog, mesh.MemberOptions{}), p.member("billing", billingCatalog, mesh.MemberOptions{})
		hq.grants("user:boss", "*", "*")
		hq.role("reader", "docs.files.read", "billing.invoices.read")
		hq.grants("user:jane", "role:reader", "*")
		w.rejected(only(hq.CreateGrant(w.ctx, provider.GrantInput{Subject: "user:jane", Pattern: "docs.files.burn", Scope: "*"}, admin)), authz.CodeValidation)
		for m, key := range map[*member]string{hq: "hq.people.read", docs: "docs.files.delete", billing: "invoicing.runs.start"} {
			m.allows("boss", key)
			m.denies("jane", key)
		}
		docs.allows("jane", "docs.files.read")
		billing.allows("jane", "billing.invoices.read")
		hq.group("eng", "tom")
		docs.grants("group:eng", "role:reader", "docs.space:1")
		docs.answers(true, "tom", "docs.files.read", "docs.space:1")
		docs.answers(false, "tom", "docs.files.read", "docs.space:2")
		w.rejected(only(docs.CreateGrant(w.ctx, provider.GrantInput{Subject: "user:tom", RoleID: "ghost", Scope: "docs.space:1"}, admin)), authz.CodeValidation, authz.CodeNotFound)
	}},
	{ID: "X29", Rule: "organizations that contradict each other are PromotionConflictError: nothing is moved, and the freeze is lifted", Abilities: crossing, Run: func(w *world) {
		c := w.company()
		for m, manager := range map[*member]string{c.docs: "ann", c.billing: "bob"} {
			m.role("reader", map[string]string{"ann": "docs.files.read", "bob": "billing.invoices.read"}[manager])
			w.must(m.SetReportingEdge(w.ctx, "tom", manager, admin), "a manager")
		}
		before := w.orgs()
		_, err := c.conn.PromoteOrgPartition(w.ctx, mesh.Promote{}, admin)
		var conflict *authz.PromotionConflictError
		if !errors.As(err, &conflict) {
			w.Want("PromotionConflictError", "%v", err)
		}
		kinds := map[authz.ConflictKind]bool{}
		for _, one := range conflict.Conflicts {
			kinds[one.Kind] = true
		}
		if !kinds[authz.ConflictRoleID] || !kinds[authz.ConflictReportingEdge] {
			w.Want("a collision of role ids and one of managers", "%+v", conflict.Conflicts)
		}
		w.unmoved(c, before)
	}},
	{ID: "X38", Rule: "a promotion after which nobody active administers is no_org_administrator: nothing is moved, and the freeze is lifted", Abilities: crossing, Run: func(w *world) {
		c := w.company()
		w.must(c.hq.SetUserActive(w.ctx, "boss", false, admin), "the administrator switched off")
		before := w.orgs()
		w.refused(only(w.promote(c.conn)), authz.MeshNoOrgAdministrator)
		w.unmoved(c, before)
	}},
	{ID: "X39", Rule: "what a member still holds of an organization that lives elsewhere is inert, and purged with one audit entry; instances stay", Abilities: crossing, Run: func(w *world) {
		c := w.company()
		docs := w.another("process 3").connect("docs")
		w.refused(only(docs.PurgeSupersededOrgData(w.ctx, admin)), authz.MeshOrgNotDesignated)
		w.must(only(w.promote(c.conn)), "a promotion")
		w.refused(only(c.conn.PurgeSupersededOrgData(w.ctx, admin)), authz.MeshOrgRootMismatch)
		w.pass(cached)
		for _, g := range w.contents("hq").Org.GlobalGrants {
			if g.Subject == "group:writers" {
				w.must(c.hq.DeleteGrant(w.ctx, g.ID, admin), "a grant deleted")
			}
		}
		c.docs.denies("jane", "docs.files.delete")
		counts, err := docs.PurgeSupersededOrgData(w.ctx, admin)
		w.must(err, "a purge")
		w.same("what was purged", [3]int{1, 1, 1}, [3]int{counts.Groups, counts.GlobalGrants, counts.Users})
		left := w.contents("docs")
		w.same("what is left of the organization", 0, len(left.Org.Groups)+len(left.Org.GlobalGrants)+len(left.Org.Users)+len(left.Org.Roles))
		w.same("the grants at instances", 1, len(left.Grants))
		w.entry("docs", "org.superseded_purged")
		c.docs.answers(true, "jane", "docs.files.read", "docs.space:1")
	}},
	{ID: "X41", Rule: "the designation moves on by the same call: the former org partition is no root any more, and nobody else may move it", Abilities: []conformance.Ability{conformance.CrossLocks}, Run: func(w *world) {
		c := w.company()
		w.must(only(w.promote(c.conn)), "a promotion")
		docs := w.another("process 3").connect("docs")
		w.refused(only(w.another("process 4").connect("billing").PromoteOrgPartition(w.ctx, mesh.Promote{To: "docs"}, admin)), authz.MeshNoEdge)
		done, err := docs.PromoteOrgPartition(w.ctx, mesh.Promote{To: "docs"}, admin)
		w.must(err, "a promotion back")
		w.same("where the organization lives, and came from", [2]any{"docs", []string{"hq"}}, [2]any{done.Registry.Org.Partition, done.From})
		w.rejected(c.hq.SetUserActive(w.ctx, "late", false, admin), authz.CodeNotOrgRoot)
		w.must(c.docs.SetUserActive(w.ctx, "jane", false, admin), "a write where the organization lives")
		w.pass(cached)
		c.billing.denies("jane", "billing.invoices.void")
		c.hq.denies("jane", "hq.people.read")
	}},
}

// accepting resolves every conflict that only asks whether a row may speak for the
// whole organization.
func (w *world) accepting(in mesh.Promote, err error) mesh.Promote {
	var conflict *authz.PromotionConflictError
	if err == nil || !errors.As(err, &conflict) {
		return in
	}
	in.Resolutions, in.Fingerprint = map[string]authz.Resolution{}, conflict.Fingerprint
	for _, c := range conflict.Conflicts {
		if c.Kind != authz.ConflictWidens {
			w.Want("no conflict but rows that widen", "%+v", c)
		}
		in.Resolutions[c.ID] = authz.Resolution{Action: authz.ActionAccept}
	}
	return in
}

// promoted wants the organization of docs and billing to live in hq, once.
func (w *world) promoted() {
	m, err := w.another("a process that looks").connect("docs").Registry(w.ctx)
	w.must(err, "the registry")
	if m.Org == nil || m.Org.Partition != "hq" || m.Promoting != nil {
		w.Want("a registry that designates hq, and no move under way", "%+v", m)
	}
	source := w.entry("hq", "org.authority_received").Target
	for _, from := range []string{"docs", "billing"} {
		e := w.entry(from, "org.authority_released")
		w.same("the move that "+from+" tells of", [2]string{"mesh:hq/m.reyes", source}, [2]string{e.Actor, e.Target})
	}
	w.same("where to", "hq", w.entry(mesh.Partition, "mesh.org_promoted").Target)
	for partition, root := range map[string]bool{"docs": false, "billing": false, "hq": true} {
		held, err := application.ReadAuthority(w.ctx, w.raw(partition))
		if err != nil || held == nil || held.OrgRoot != root || held.Moving != "" {
			w.Want("authority of "+partition+" as the move left it", "%+v %v", held, err)
		}
	}
	var subjects []string
	for _, g := range w.contents("hq").Org.GlobalGrants {
		subjects = append(subjects, g.Subject)
	}
	for _, subject := range []string{"user:boss", "group:writers", "user:jane"} {
		if !strings.Contains(" "+strings.Join(subjects, " ")+" ", " "+subject+" ") {
			w.Want("the grants of all three", "%v", subjects)
		}
	}
}

// orgs are the organizations of the company.
func (w *world) orgs() map[string]provider.OrgSnapshot {
	all := map[string]provider.OrgSnapshot{}
	for _, partition := range []string{"docs", "billing", "hq"} {
		all[partition] = w.contents(partition).Org
	}
	return all
}

// unmoved wants a promotion that was refused to have left nothing behind.
func (w *world) unmoved(c company, before map[string]provider.OrgSnapshot) {
	w.same("the organizations", before, w.orgs())
	m, err := w.another("a process that looks").connect("docs").Registry(w.ctx)
	if err != nil || m.Org != nil || m.Promoting != nil {
		w.Want("no designation, and no move under way", "%+v %v", m, err)
	}
	for _, one := range []*member{c.docs, c.billing, c.hq} {
		w.must(one.SetUserActive(w.ctx, "afterwards", true, admin), "a write of the organization")
	}
}
