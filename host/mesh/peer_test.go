package mesh_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

const (
	docsCatalog    = "namespaces: [docs]\npermissions: {docs.files.read: true, docs.files.delete: true}\n"
	billingCatalog = "namespaces: [billing, invoicing]\npermissions: {billing.invoices.read: true, billing.invoices.void: true, invoicing.runs.start: true}\n"
)

func TestAPeerRunsTheNeighboursRules(t *testing.T) {
	w := newWorld(t)
	c := w.connect("docs")
	_, err := c.OpenPeer(t.Context(), "billing", mesh.PeerOptions{As: "m.reyes"})
	refused(t, err, authz.MeshNoRegistry)
	w.put(c, three())
	_, err = c.OpenPeer(t.Context(), "ghost", mesh.PeerOptions{As: "m.reyes"})
	refused(t, err, authz.MeshNotAMember)
	_, err = c.OpenPeer(t.Context(), "docs", mesh.PeerOptions{As: "m.reyes"})
	refused(t, err, authz.MeshNotAMember)
	_, err = c.OpenPeer(t.Context(), "hq", mesh.PeerOptions{As: "m.reyes"})
	refused(t, err, authz.MeshNoEdge)
	_, err = c.OpenPeer(t.Context(), "billing", mesh.PeerOptions{As: "m.reyes", Mode: authz.MeshWrite})
	refused(t, err, authz.MeshNoEdge)
	_, err = c.OpenPeer(t.Context(), "billing", mesh.PeerOptions{As: "m.reyes"})
	refused(t, err, authz.MeshPeerNotPublished)

	billing := w.application("billing", w.declare(billingCatalog))
	p := w.open(c, "billing", mesh.PeerOptions{})
	input := provider.GrantInput{Subject: "user:jane", Pattern: "billing.invoices.read", Scope: "*"}
	if _, err := billing.CreateGrant(t.Context(), input, admin); err != nil {
		t.Fatal(err)
	}
	if rows := grants(t, p); len(rows) != 1 {
		t.Fatalf("%v", rows)
	}
	explained, err := p.Explain(t.Context(), authz.UserPrincipal("jane"), "billing.invoices.read", "*")
	if err != nil || !explained.Allowed {
		t.Fatalf("%v %v", explained, err)
	}
	before := log(t, w.store("billing"))
	_, err = p.CreateGrant(t.Context(), input, admin)
	if e := refused(t, err, authz.MeshReadOnlyPeer); e.To != "billing" || e.Operation != "createGrant" {
		t.Errorf("%+v", e)
	}
	if after := log(t, w.store("billing")); len(after) != len(before) {
		t.Error("a peer that only reads wrote into the log")
	}

	in := three()
	in.Edges[0].Mode = authz.MeshWrite
	w.put(c, in)
	p = w.open(c, "billing", mesh.PeerOptions{})
	row, err := p.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:bob", Pattern: "invoicing.*", Scope: "*"}, authz.AdminProvenance("n.cho"))
	if err != nil || row.Provenance.Via != "docs" {
		t.Fatalf("%+v %v", row, err)
	}
	_, err = p.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:bob", Pattern: "docs.files.read", Scope: "*"}, admin)
	if authz.CodeOf(err) != authz.CodeValidation {
		t.Errorf("the caller's vocabulary played a part: %v", err)
	}
	var last authz.AuditEntry // entries of one millisecond come in any order
	for _, e := range log(t, w.store("billing")) {
		if e.Target == row.ID {
			last = e
		}
	}
	if last.Actor != "mesh:docs/n.cho" || !strings.Contains(string(last.Detail), `"mesh":{"from":"docs","as":"m.reyes","registryVersion":2}`) || !strings.Contains(string(last.Detail), `"subject":"user:bob"`) {
		t.Errorf("%+v %s", last, last.Detail)
	}
	if len(log(t, w.store("docs"))) != 0 {
		t.Error("a peer's write is in the caller's log")
	}

	// The neighbour publishes another vocabulary.
	wider := strings.Replace(billingCatalog, "billing.invoices.void", "billing.invoices.send", 1)
	document, _ := w.declare(wider).Document()
	if _, err := billing.PublishCatalog(t.Context(), document, admin); err != nil {
		t.Fatal(err)
	}
	if _, err := p.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:bob", Pattern: "billing.invoices.send", Scope: "*"}, admin); err != nil {
		t.Error(err)
	}
	if _, err := p.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:bob", Pattern: "billing.invoices.void", Scope: "*"}, admin); authz.CodeOf(err) != authz.CodeValidation {
		t.Error(err)
	}

	// The edge goes: the next write is refused at once, and nothing was written.
	w.put(w.connect("hq"), mesh.Put{Members: three().Members})
	_, err = p.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:eve", Pattern: "billing.invoices.read", Scope: "*"}, admin)
	refused(t, err, authz.MeshNoEdge)
	for _, g := range grants(t, billing) {
		if g.Subject == "user:eve" {
			t.Error("written without an edge")
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = p.Capabilities(t.Context())
	refused(t, err, authz.MeshPeerClosed)
}

// The neighbour's rules are those of a member: its organization lives elsewhere.
func TestAPeerOfAMemberReadsTheOrganizationWhereItLives(t *testing.T) {
	w := newWorld(t)
	c := w.connect("docs")
	in := three()
	in.Edges = []authz.MeshEdge{edge("docs", "billing", authz.MeshWrite), edge("docs", "hq", authz.MeshWrite)}
	w.put(c, in)
	hq := w.member("hq", w.declare("namespaces: [hq]\npermissions: {hq.people.read: true}\n"), mesh.MemberOptions{})
	billing := w.member("billing", w.declare("namespaces: [billing, invoicing]\nscopeTypes: {billing.account: {}}\npermissions: {billing.invoices.read: {scopes: [billing.account]}, invoicing.runs.start: true}\n"), mesh.MemberOptions{})
	if _, err := billing.CreateRole(t.Context(), provider.RoleInput{ID: ptr("old"), Name: "Old", Patterns: []string{"billing.*"}}, admin); err != nil {
		t.Fatal(err)
	}
	in.Org = ptr("hq")
	w.put(c, in)
	if _, err := hq.CreateRole(t.Context(), provider.RoleInput{ID: ptr("auditor"), Name: "Auditor", Patterns: []string{"billing.*"}}, admin); err != nil {
		t.Fatal(err)
	}

	org := w.open(c, "hq", mesh.PeerOptions{})
	if _, err := org.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:jane", Pattern: "billing.invoices.read", Scope: "*"}, admin); err != nil {
		t.Errorf("what a member has published is no pattern of the organization's for a peer: %v", err)
	}
	if _, err := org.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:jane", Pattern: "billing.ghosts.read", Scope: "*"}, admin); authz.CodeOf(err) != authz.CodeValidation {
		t.Errorf("a pattern that nobody has published: %v", err)
	}

	p := w.open(c, "billing", mesh.PeerOptions{})
	var roles []string
	for r, err := range p.ListRoles(t.Context(), provider.Paging{}) {
		if err != nil {
			t.Fatal(err)
		}
		roles = append(roles, r.ID)
	}
	if !slices.Equal(roles, []string{"auditor"}) {
		t.Errorf("roles at a peer: %v", roles)
	}
	if _, err := p.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:bob", RoleID: "auditor", Scope: "billing.account:7"}, admin); err != nil {
		t.Errorf("an instance grant of an organization's role: %v", err)
	}
	if _, err := p.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:bob", Pattern: "billing.*", Scope: "*"}, admin); authz.CodeOf(err) != authz.CodeNotOrgRoot {
		t.Error(err)
	}
	e, err := p.Explain(t.Context(), authz.UserPrincipal("jane"), "billing.invoices.read", "*")
	if err != nil || !e.Allowed {
		t.Errorf("the organization's grant does not count at a peer: %+v %v", e, err)
	}
	reader := w.open(c, "billing", mesh.PeerOptions{Mode: authz.MeshRead})
	_, err = reader.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:bob", RoleID: "auditor", Scope: "billing.account:8"}, admin)
	refused(t, err, authz.MeshReadOnlyPeer)
}
