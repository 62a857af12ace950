package mesh_test

import (
	"slices"
	"testing"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

const importingCatalog = `namespaces: [docs]
permissions: {docs.files.read: true}
imports: {billing: {permissions: {billing.invoices.read: true}}}
`

func create[Row any](_ Row, err error) error { return err }

// running is an application of a member with what the mesh lends to it.
type running struct {
	*application.Application
	client *client.Client
}

func (w *world) member(partition string, c *catalog.Catalog, o mesh.MemberOptions) *running {
	w.Helper()
	conn := w.connect(partition)
	store := conn.Member(w.store(partition), c, o)
	app, err := application.New(w.Context(), application.Options{Name: partition, Catalog: c, Store: store, Elsewhere: store.Elsewhere, Log: store.Log})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = app.Close() })
	asks, err := client.New(client.Options{Provider: app, Catalog: c, Strict: true})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(asks.Close)
	document, err := c.Document()
	if err != nil {
		w.Fatal(err)
	}
	if _, err := app.PublishCatalog(w.Context(), document, admin); err != nil {
		w.Fatal(err)
	}
	return &running{app, asks}
}

func (w *world) can(r *running, user, key string) bool {
	w.Helper()
	allowed, err := r.client.Can(w.Context(), authz.UserPrincipal(user), key, "*")
	if err != nil {
		w.Fatal(err)
	}
	return allowed
}

func TestTheWorkedCasesOfImports(t *testing.T) {
	w := newWorld(t)
	billing := w.application("billing", w.declare(billingCatalog))
	admins := w.connect("hq")
	registry := three()
	w.put(admins, registry)
	docs := w.member("docs", w.declare(importingCatalog), mesh.MemberOptions{Imports: true})
	if w.can(docs, "jane", "billing.invoices.read") {
		t.Fatal("allowed without a row")
	}
	auditor, err := billing.CreateRole(t.Context(), provider.RoleInput{ID: ptr("auditor"), Name: "Auditor", Patterns: []string{"billing.*"}}, admin)
	if err != nil {
		t.Fatal(err)
	}
	grant, err := billing.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:jane", RoleID: auditor.ID, Scope: "*"}, admin)
	if err != nil {
		t.Fatal(err)
	}
	if !w.can(docs, "jane", "billing.invoices.read") || w.can(docs, "jane", "docs.files.read") {
		t.Error("the owner's row does not count as it should")
	}
	explained, err := docs.client.Explain(t.Context(), authz.UserPrincipal("jane"), "billing.invoices.read", "*")
	if err != nil || len(explained.MatchedGrants) != 1 || explained.MatchedGrants[0].ID != "mesh:billing:"+grant.ID {
		t.Errorf("%+v %v", explained, err)
	}
	if rows := grants(t, docs); len(rows) != 0 {
		t.Errorf("a merged row is listed: %v", rows)
	}
	if err := billing.SetUserActive(t.Context(), "jane", false, admin); err != nil {
		t.Fatal(err)
	}
	if w.can(docs, "jane", "billing.invoices.read") {
		t.Error("allowed to whom the owner has switched off")
	}
	registry.Edges = registry.Edges[1:]
	w.put(admins, registry)
	stale := w.member("docs", w.declare(importingCatalog), mesh.MemberOptions{Imports: true})
	_, err = stale.client.Can(t.Context(), authz.UserPrincipal("jane"), "billing.invoices.read", "*")
	refused(t, err, authz.MeshNoEdge)
}

func TestAMemberReadsTheOrganizationWhereItLives(t *testing.T) {
	w := newWorld(t)
	admins := w.connect("hq")
	hq := w.member("hq", w.declare("namespaces: [hq]\npermissions: {hq.people.read: true}\n"), mesh.MemberOptions{})
	c := w.declare("namespaces: [docs]\nscopeTypes: {docs.space: {}}\npermissions: {docs.files.read: {scopes: [docs.space]}, docs.admin.run: true}\n")
	docs := w.member("docs", c, mesh.MemberOptions{})
	in := three()
	w.put(admins, in)
	// While every member is its own root, rows live with each.
	if _, err := docs.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:old", Pattern: "docs.admin.run", Scope: "*"}, admin); err != nil {
		t.Fatal(err)
	}
	org := "hq"
	in.Org = &org
	w.put(admins, in)
	docs = w.member("docs", c, mesh.MemberOptions{})

	for _, err := range []error{
		hq.SetUserActive(t.Context(), "gone", false, admin),
		create(hq.CreateGroup(t.Context(), provider.GroupInput{ID: ptr("eng"), Name: "Engineering"}, admin)),
		hq.SetGroupMembership(t.Context(), "jane", []string{"eng"}, admin),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	role, err := hq.CreateRole(t.Context(), provider.RoleInput{ID: ptr("reader"), Name: "Reader", Patterns: []string{"docs.files.*"}}, admin)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hq.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:boss", Pattern: "*", Scope: "*"}, admin); err != nil {
		t.Fatal(err)
	}
	instance, err := docs.CreateGrant(t.Context(), provider.GrantInput{Subject: "group:eng", Pattern: "docs.files.read", Scope: "docs.space:1"}, admin)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := docs.CreateGrant(t.Context(), provider.GrantInput{Subject: "group:eng", RoleID: role.ID, Scope: "docs.space:1"}, admin); err != nil {
		t.Errorf("an instance grant of an organization's role: %v", err)
	}
	if _, err := docs.CreateGrant(t.Context(), provider.GrantInput{Subject: "group:eng", RoleID: "ghost", Scope: "docs.space:1"}, admin); err == nil {
		t.Error("a role that the organization does not have")
	}
	at := func(user, key, scope string) bool {
		t.Helper()
		allowed, err := docs.client.Can(t.Context(), authz.UserPrincipal(user), key, scope)
		if err != nil {
			t.Fatal(err)
		}
		return allowed
	}
	if !at("jane", "docs.files.read", "docs.space:1") || at("jane", "docs.files.read", "docs.space:2") {
		t.Error("the organization's groups do not count at the member's instances")
	}
	if !at("boss", "docs.admin.run", "*") {
		t.Error("the organization's global grant does not count")
	}
	if at("old", "docs.admin.run", "*") {
		t.Error("a superseded row counts")
	}
	if _, err := docs.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:x", Pattern: "docs.admin.run", Scope: "*"}, admin); authz.CodeOf(err) != authz.CodeNotOrgRoot {
		t.Error(err)
	}
	var ids []string
	for _, g := range grants(t, docs) {
		ids = append(ids, g.Subject+" "+g.Scope)
	}
	slices.Sort(ids)
	if want := []string{"group:eng docs.space:1", "group:eng docs.space:1", "user:boss *"}; !slices.Equal(ids, want) {
		t.Errorf("%v", ids)
	}
	if err := docs.DeleteGrant(t.Context(), instance.ID, admin); err != nil {
		t.Error(err)
	}
	if !at("jane", "docs.files.read", "docs.space:1") {
		t.Error("the organization's role does not count at the member's instances")
	}
}

func TestAPartitionThatIsNoMemberDoesNotReadTheOrganization(t *testing.T) {
	w := newWorld(t)
	c := w.connect("hq")
	in := three()
	in.Org = ptr("hq")
	w.put(c, in)
	in.Members, in.Edges = in.Members[1:], nil
	w.put(c, in)
	docs := w.member("docs", w.declare(docsCatalog), mesh.MemberOptions{})
	_, err := docs.client.Can(t.Context(), authz.UserPrincipal("jane"), "docs.files.read", "*")
	if e := refused(t, err, authz.MeshNotAMember); e.Partition != "docs" {
		t.Errorf("%+v", e)
	}
	for _, err := range docs.ListGrants(t.Context(), provider.GrantQuery{}) {
		refused(t, err, authz.MeshNotAMember)
	}
}
