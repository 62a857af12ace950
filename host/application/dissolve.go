package application

import (
	"context"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

const nounVirtualParent = "a virtual parent"

// DissolveVirtualParent removes a group, virtual or not, and leaves to its
// children what they had through it: a copy of each unexpired grant and its
// parents (spec: application §9). Direct members lose the membership.
func (a *Application) DissolveVirtualParent(ctx context.Context, id string, prov authz.Provenance) error {
	var s shape
	s.id("groupId", id)
	return a.onGroup(ctx, "dissolveVirtualParent", nounVirtualParent, s, id, prov, func(ctx context.Context, d *draft, row authz.Group) error {
		return d.dissolve(ctx, row)
	})
}

func (d *draft) dissolve(ctx context.Context, row authz.Group) error {
	var children []authz.Group
	for g, err := range d.app.store.ListGroups(ctx, storage.Page{}) {
		if err != nil {
			return err
		}
		if g.ID != row.ID && slices.Contains(g.Parents, row.ID) {
			children = append(children, g)
		}
	}
	copies, err := d.copyGrants(ctx, row.ID, children)
	if err != nil {
		return err
	}
	ids := make([]string, len(children))
	for i, g := range children {
		ids[i] = g.ID
		g.Parents = without(slices.Concat(g.Parents, row.Parents), row.ID)
		d.change(storage.UpsertGroup{Group: g})
		d.emit(authz.SubjectEvent(groupSubject(g.ID)))
	}
	if _, err := d.dropMembers(ctx, row.ID); err != nil {
		return err
	}
	d.emit(authz.SubjectEvent(groupSubject(row.ID)))
	d.change(storage.DeleteGroup{ID: row.ID})
	d.audit("group.dissolve_virtual_parent", row.ID, struct {
		Children     []string `json:"children"`
		CopiedGrants int      `json:"copiedGrants"`
	}{ids, copies})
	return nil
}

// copyGrants gives each child a copy of each unexpired grant of the parent, then
// deletes the parent's, and returns the number of copies. Copies need no required
// role: the grants that they replace keep it in existence until the commit.
func (d *draft) copyGrants(ctx context.Context, parent string, children []authz.Group) (int, error) {
	copiedTo := make([]string, len(children))
	for i, g := range children {
		copiedTo[i] = groupSubject(g.ID)
	}
	subject := groupSubject(parent)
	var grants []authz.Grant
	for g, err := range d.app.store.ListGrants(ctx, storage.GrantFilter{Subject: &subject}, storage.Page{}) {
		if err != nil {
			return 0, err
		}
		grants = append(grants, g)
	}
	copies := 0
	for _, g := range grants {
		if g.ExpiresAt.Expired(d.now) {
			continue
		}
		prov := authz.Provenance{Kind: authz.ProvenanceDissolution, VirtualParentID: parent, OriginalGrantID: g.ID}
		for _, to := range copiedTo {
			row := authz.Grant{ID: d.app.ids(), Subject: to, RoleID: g.RoleID, Pattern: g.Pattern, Scope: g.Scope,
				ExpiresAt: g.ExpiresAt, Provenance: d.via(prov), CreatedAt: d.now}
			copies++
			d.change(storage.InsertGrant{Grant: row})
			if err := d.fits(); err != nil {
				return 0, err
			}
			d.auditAs(prov.Actor(), "grant.create", row.ID, struct {
				Subject    string `json:"subject"`
				CopiedFrom string `json:"copiedFrom"`
			}{to, parent})
		}
	}
	for _, g := range grants {
		d.change(storage.DeleteGrant{ID: g.ID, MustExist: true})
		d.audit("grant.delete", g.ID, struct {
			Reason   string   `json:"reason"`
			CopiedTo []string `json:"copiedTo"`
		}{"virtual parent dissolved", copiedTo})
	}
	return copies, nil
}
