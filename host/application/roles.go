package application

import (
	"context"
	"iter"
	"slices"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

const nounRole = "a role definition"

type nameDetail struct {
	Name string `json:"name"`
}

// CreateRole writes a new role.
func (a *Application) CreateRole(ctx context.Context, in provider.RoleInput, prov authz.Provenance) (authz.Role, error) {
	var s shape
	if in.ID != nil {
		s.text("id", *in.ID, maxID)
		s.newID("id", *in.ID)
	}
	s.role(in.Name, in.Description, in.Patterns, in.Requestable)
	var row authz.Role
	plan := func(ctx context.Context, d *draft) error {
		if err := a.checkPatterns(ctx, in.Patterns); err != nil {
			return err
		}
		requestable, err := a.checkRequestable(ctx, in.Requestable)
		if err != nil {
			return err
		}
		id, err := d.newID(in.ID, func(id string) error {
			_, taken, err := a.store.GetRole(ctx, id)
			if err == nil && taken {
				err = authz.Rejected(authz.CodeConflict, "role id %s already exists", spell.Quote(id))
			}
			return err
		})
		if err != nil {
			return err
		}
		row = authz.Role{ID: id, Name: in.Name, Description: in.Description,
			Patterns: slices.Clone(in.Patterns), Requestable: requestable}
		d.writeRole("role.create", row)
		return nil
	}
	err := a.propose(ctx, s, write{op: "createRole", prov: prov, rootOnly: nounRole, sections: []string{sectionRoles}, plan: plan})
	return answered(&row, err)
}

// UpdateRole changes the members given. The patterns of a role that a pending
// request names are frozen.
func (a *Application) UpdateRole(ctx context.Context, id string, in provider.RoleUpdate, prov authz.Provenance) (authz.Role, error) {
	var s shape
	s.id("roleId", id)
	s.role(deref(in.Name), deref(in.Description), deref(in.Patterns), in.Requestable)
	var row authz.Role
	plan := func(ctx context.Context, d *draft) error {
		var found bool
		var err error
		if row, found, err = a.store.GetRole(ctx, id); err != nil {
			return err
		}
		if !found {
			return authz.Rejected(authz.CodeNotFound, "role not found")
		}
		if err := a.checkPatterns(ctx, deref(in.Patterns)); err != nil {
			return err
		}
		requestable, err := a.checkRequestable(ctx, in.Requestable)
		if err != nil {
			return err
		}
		if in.Patterns != nil && !slices.Equal(*in.Patterns, row.Patterns) {
			n, err := a.pendingNaming(ctx, func(r authz.Request) bool { return r.RoleID == id })
			if err != nil {
				return err
			}
			if n > 0 {
				return authz.Rejected(authz.CodeConflict,
					"role is referenced by %d pending request(s); its patterns are frozen until they are decided or cancelled", n)
			}
			row.Patterns = slices.Clone(*in.Patterns)
		}
		if in.Name != nil {
			row.Name = *in.Name
		}
		if in.Description != nil {
			row.Description = *in.Description
		}
		if requestable != nil || in.ClearRequestable {
			row.Requestable = requestable
		}
		d.writeRole("role.update", row)
		return nil
	}
	err := a.propose(ctx, s, write{op: "updateRole", prov: prov, rootOnly: nounRole, sections: []string{sectionRoles}, plan: plan})
	return answered(&row, err)
}

// DeleteRole removes a role that nothing names. An absent one is no error and is
// recorded all the same.
func (a *Application) DeleteRole(ctx context.Context, id string, prov authz.Provenance) error {
	var s shape
	s.id("roleId", id)
	plan := func(ctx context.Context, d *draft) error {
		n, err := a.store.CountGrants(ctx, storage.GrantFilter{RoleID: &id})
		if err != nil {
			return err
		}
		if n > 0 {
			return authz.Rejected(authz.CodeConflict, "role is assigned by %d grant(s); remove them first", n)
		}
		pending, err := a.pendingNaming(ctx, func(r authz.Request) bool {
			return r.RoleID == id || slices.ContainsFunc(r.Stages, func(s authz.Stage) bool {
				return s.Kind == authz.StageNamedApprovers && s.RoleID == id
			})
		})
		if err != nil {
			return err
		}
		if pending > 0 {
			return authz.Rejected(authz.CodeConflict,
				"role is referenced by %d pending request(s); decide or cancel them first", pending)
		}
		d.change(storage.DeleteRole{ID: id, Unnamed: true})
		d.audit("role.delete", id, nil)
		d.emit(authz.RoleEvent(id))
		return nil
	}
	return a.propose(ctx, s, write{op: "deleteRole", prov: prov, rootOnly: nounRole, sections: []string{sectionRoles}, plan: plan})
}

// ListRoles lists roles by id.
func (a *Application) ListRoles(ctx context.Context, p provider.Paging) iter.Seq2[authz.Role, error] {
	var s shape
	s.page(p)
	return listed(a, "listRoles", s.err, func() iter.Seq2[authz.Role, error] {
		return a.store.ListRoles(ctx, storage.Page(p))
	})
}

func (d *draft) writeRole(action string, row authz.Role) {
	d.change(storage.UpsertRole{Role: row})
	d.audit(action, row.ID, nameDetail{row.Name})
	d.emit(authz.RoleEvent(row.ID))
}

// newID is the id of a new role or group: the caller's, which must be free, or a
// generated one.
func (d *draft) newID(wanted *string, free func(id string) error) (string, error) {
	id := ""
	switch {
	case wanted == nil:
		id = d.app.ids()
	case *wanted == "":
		return "", authz.Validation("a caller-supplied id must be a non-empty string")
	default:
		id = *wanted
	}
	return id, free(id)
}

func (a *Application) checkPatterns(ctx context.Context, patterns []string) error {
	for _, p := range patterns {
		if err := a.checkPatternAt(ctx, p, authz.Global); err != nil {
			return err
		}
	}
	return nil
}

// pendingNaming counts the pending requests that names holds for.
func (a *Application) pendingNaming(ctx context.Context, names func(authz.Request) bool) (int, error) {
	state, n := authz.RequestPending, 0
	for r, err := range a.store.ListRequests(ctx, storage.RequestFilter{State: &state}, storage.RequestPage{}) {
		if err != nil {
			return 0, err
		}
		if names(r) {
			n++
		}
	}
	return n, nil
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
