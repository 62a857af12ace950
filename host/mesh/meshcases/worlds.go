package meshcases

import (
	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/sdk/authz"
)

// The catalogs of the members. docs imports what billing publishes.
const (
	docsCatalog = `
namespaces: [docs]
permissions: {docs.files.read: true, docs.files.delete: true}
imports: {billing: {permissions: {billing.invoices.read: true}}}
`
	spacesCatalog = `
namespaces: [docs]
scopeTypes: {docs.space: {}}
permissions: {docs.files.read: {scopes: [docs.space]}, docs.files.delete: true}
`
	billingCatalog = `
namespaces: [billing, invoicing]
scopeTypes: {billing.account: {}}
permissions: {billing.invoices.read: {scopes: [billing.account]}, billing.invoices.void: true, invoicing.runs.start: true}
`
	hqCatalog = `
namespaces: [hq]
permissions: {hq.people.read: true}
`
)

// three are the members that most cases have, with an edge of docs to billing where
// mode is not "".
func three(mode authz.MeshMode) mesh.Put {
	in := mesh.Put{Members: []authz.MeshMember{of("docs", "docs"), of("billing", "billing", "invoicing"), of("hq", "hq")}}
	if mode != "" {
		in.Edges = []authz.MeshEdge{edge("docs", "billing", mode)}
	}
	return in
}

// neighbours are docs, which may reach billing, and billing in a process of its own.
func (w *world) neighbours(mode authz.MeshMode) (docs *mesh.Connection, billing *member) {
	docs = w.first.connect("docs")
	w.put(docs, three(mode))
	return docs, w.another("process 2").member("billing", billingCatalog, mesh.MemberOptions{})
}

// importing are docs, into whose checks rows of billing are merged, and billing in a
// process of its own.
func (w *world) importing() (docs, billing *member) {
	_, billing = w.neighbours(authz.MeshRead)
	return w.first.member("docs", docsCatalog, mesh.MemberOptions{Imports: true}), billing
}

// company are three members with organizations of their own, each in its own process,
// and the connection that promotes.
type company struct {
	docs, billing, hq *member
	conn              *mesh.Connection
	hqProcess         *process
}

func (w *world) company() company {
	var c company
	c.hqProcess = w.first
	c.conn = w.first.connect("hq")
	w.put(c.conn, three(""))
	c.hq = w.first.member("hq", hqCatalog, mesh.MemberOptions{})
	p := w.another("process 2")
	c.docs, c.billing = p.member("docs", spacesCatalog, mesh.MemberOptions{}), p.member("billing", billingCatalog, mesh.MemberOptions{})
	c.hq.grants("user:boss", "authz_internal.*", "*")
	c.docs.group("writers", "jane")
	c.docs.grants("group:writers", "docs.files.*", "*")
	c.docs.grants("group:writers", "docs.files.read", "docs.space:1")
	c.billing.role("auditor", "billing.*")
	c.billing.grants("user:jane", "role:auditor", "*")
	return c
}

// promote moves the organizations of docs and billing to hq, and accepts that what hq
// gives of authz_internal speaks for all of them.
func (w *world) promote(c *mesh.Connection) (mesh.Promoted, error) {
	done, err := c.PromoteOrgPartition(w.ctx, w.accepted(c), admin)
	w.Step("%s promotes hq → %+v, %v", c.Partition(), done.Moved, err)
	return done, err
}
