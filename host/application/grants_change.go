package application

import (
	"context"
	"slices"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// changedGrant is what the audit log keeps of a grant that got another expiry.
type changedGrant struct {
	grantDetail
	Before authz.Expiry `json:"before,omitzero"`
}

// ChangeGrants deletes grants, gives others another expiry and creates some, in one commit.
// What is taken away is judged first, so that two grants can change places under a
// separation of duties.
func (a *Application) ChangeGrants(ctx context.Context, in provider.GrantsChange, prov authz.Provenance) ([]authz.Grant, error) {
	prov, err := shapeOfChange(in).provenance(prov)
	if err != nil {
		return nil, err
	}
	sections, err := a.changeSections(ctx, in)
	if err != nil {
		return nil, err
	}
	var rows []authz.Grant
	err = a.run(ctx, write{op: "changeGrants", prov: prov, sections: sections, plan: func(ctx context.Context, d *draft) (err error) {
		rows, err = d.changeGrants(ctx, in)
		return err
	}})
	return answered(&rows, err)
}

// shapeOfChange judges what can be judged without any row.
func shapeOfChange(in provider.GrantsChange) (s shape) {
	switch n := len(in.Delete) + len(in.Expire) + len(in.Create); {
	case n == 0:
		s.err = authz.Validation("a change of grants needs delete, expire or create")
	case n > provider.MaxGrantsChange:
		s.err = authz.Validation("a change names at most %d grants, this one %d", provider.MaxGrantsChange, n)
	}
	named := map[string]bool{}
	name := func(id string) {
		s.id("grantId", id)
		if named[id] && s.err == nil {
			s.err = authz.Validation("grant %s stands twice in the change", spell.Quote(id))
		}
		named[id] = true
	}
	for _, id := range in.Delete {
		name(id)
	}
	for _, e := range in.Expire {
		name(e.GrantID)
	}
	for _, g := range in.Create {
		if own := shapeOfGrant(g); s.err == nil {
			s.err = own.err
		}
	}
	return s
}

// changeSections are those of the users who may get rights: of new grants, and of grants
// that are to count longer, as they are now. A grant never gets another subject.
func (a *Application) changeSections(ctx context.Context, in provider.GrantsChange) ([]string, error) {
	if !a.enforcesDuties() {
		return nil, nil
	}
	given := slices.Clone(in.Create)
	for _, e := range in.Expire {
		row, found, err := a.store.GetGrant(ctx, e.GrantID)
		if err != nil {
			return nil, a.readFailed("changeGrants", err)
		}
		if found {
			given = append(given, provider.GrantInput{Subject: row.Subject})
		}
	}
	return a.dutySections(given...)
}

func (d *draft) changeGrants(ctx context.Context, in provider.GrantsChange) (created []authz.Grant, err error) {
	var detail struct {
		Deleted []grantDetail  `json:"deleted,omitempty"`
		Changed []changedGrant `json:"changed,omitempty"`
		Created []grantDetail  `json:"created,omitempty"`
	}
	gone, roles, told := map[string]bool{}, map[string]authz.Role{}, map[string]bool{}
	tell := func(g authz.Grant) grantDetail {
		if !told[g.Subject] {
			told[g.Subject] = true
			d.emit(authz.SubjectEvents(g.Subject)...)
		}
		tuple := detailOf(g)
		tuple.ID = g.ID
		return tuple
	}
	for _, id := range in.Delete {
		row, err := d.changedRow(ctx, id)
		if err != nil {
			return nil, err
		}
		gone[id] = true
		d.change(storage.DeleteGrant{ID: id, MustExist: true})
		detail.Deleted = append(detail.Deleted, tell(row))
	}
	var judged []authz.Grant // what confers a right that was not conferred
	for _, e := range in.Expire {
		row, err := d.changedRow(ctx, e.GrantID)
		if err != nil {
			return nil, err
		}
		before := row.ExpiresAt
		row.ExpiresAt = authz.Expiry{}
		if e.ExpiresAt != nil {
			row.ExpiresAt = authz.ExpiresAt(*e.ExpiresAt)
		}
		if err := checkExpiry("expiresAt", row.ExpiresAt, d.now); err != nil {
			return nil, err
		}
		if before.Expired(d.now) {
			if err := d.revived(ctx, row, roles); err != nil {
				return nil, err
			}
			judged = append(judged, row)
		}
		d.change(storage.DeleteGrant{ID: row.ID, MustExist: true}, storage.InsertGrant{Grant: row})
		detail.Changed = append(detail.Changed, changedGrant{tell(row), before})
	}
	created = make([]authz.Grant, 0, len(in.Create))
	for _, g := range in.Create {
		row, err := d.grant(ctx, g, roles)
		if err != nil {
			return nil, err
		}
		created = append(created, row)
		detail.Created = append(detail.Created, tell(row))
	}
	if err := d.separate(ctx, append(judged, created...), roles, gone); err != nil {
		return nil, err
	}
	d.audit("grant.change", d.app.ids(), detail)
	return created, nil
}

// changedRow is a grant that is named by a change, as it is stored.
func (d *draft) changedRow(ctx context.Context, id string) (authz.Grant, error) {
	row, found, err := d.app.store.GetGrant(ctx, id)
	if err != nil {
		return row, err
	}
	if !found {
		return row, authz.Rejected(authz.CodeNotFound, "grant %s not found", spell.Quote(id))
	}
	return row, d.requireOrgRootAt(row.Scope, nounGlobalGrant)
}

// revived judges a grant that had expired and will count again, as a new one is judged.
func (d *draft) revived(ctx context.Context, row authz.Grant, roles map[string]authz.Role) error {
	if row.RoleID != "" {
		return d.grantedRole(ctx, row.RoleID, row.Scope, roles)
	}
	return d.app.checkGrant(ctx, provider.GrantInput{Subject: row.Subject, Pattern: row.Pattern, Scope: row.Scope, ExpiresAt: row.ExpiresAt}, d.now)
}
