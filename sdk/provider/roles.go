package provider

import (
	"context"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
)

// Roles administers roles.
type Roles interface {
	CreateRole(ctx context.Context, in RoleInput, prov authz.Provenance) (authz.Role, error)
	UpdateRole(ctx context.Context, id string, in RoleUpdate, prov authz.Provenance) (authz.Role, error)
	DeleteRole(ctx context.Context, id string, prov authz.Provenance) error
	ListRoles(ctx context.Context, p Paging) iter.Seq2[authz.Role, error]
}

// RoleInput proposes a role. A nil ID lets the application choose one.
type RoleInput struct {
	ID          *string            `json:"id,omitempty"`
	Name        string             `json:"name" read:"required"`
	Description string             `json:"description,omitempty"`
	Patterns    []string           `json:"patterns" read:"required"`
	Requestable *authz.Requestable `json:"requestable,omitempty"`
}

// RoleUpdate changes the members that are not nil. A Description of "" clears
// it, ClearRequestable clears Requestable.
type RoleUpdate struct {
	Name             *string            `json:"name,omitempty"`
	Description      *string            `json:"description,omitempty" read:"null"`
	Patterns         *[]string          `json:"patterns,omitempty"`
	Requestable      *authz.Requestable `json:"requestable,omitempty"`
	ClearRequestable bool               `json:"-" read:"clears=requestable"`
}

func (u RoleUpdate) MarshalJSON() ([]byte, error) {
	type plain RoleUpdate
	if !u.ClearRequestable || u.Requestable != nil {
		return authz.Marshal(plain(u))
	}
	return authz.Marshal(struct {
		plain
		Requestable *authz.Requestable `json:"requestable"`
	}{plain: plain(u)})
}

type (
	roleOut struct {
		Role authz.Role `json:"role"`
	}

	listRolesIn  struct{ Paged }
	createRoleIn struct {
		Input      RoleInput        `json:"input" read:"required"`
		Provenance authz.Provenance `json:"provenance" read:"required"`
	}
	updateRoleIn struct {
		RoleID     string           `json:"roleId" read:"required"`
		Input      RoleUpdate       `json:"input" read:"required"`
		Provenance authz.Provenance `json:"provenance" read:"required"`
	}
	deleteRoleIn struct {
		RoleID     string           `json:"roleId" read:"required"`
		Provenance authz.Provenance `json:"provenance" read:"required"`
	}
)

var opListRoles = declareList(Operation{Op: "listRoles", Method: "ListRoles", List: "roles",
	Tag: "roles", Summary: "List roles", Answer: "The roles, ascending by id."},
	func(r *authz.Role) any { return r.ID },
	func(ctx context.Context, to Provider, in *listRolesIn) iter.Seq2[authz.Role, error] {
		return to.ListRoles(ctx, in.paging())
	})

func (c Calls) ListRoles(ctx context.Context, p Paging) iter.Seq2[authz.Role, error] {
	return rows(ctx, c, opListRoles, listRolesIn{p.paged()})
}

var opCreateRole = declare(Operation{Op: "createRole", Kind: Write, Method: "CreateRole", Tag: "roles", Summary: "Define a role", Answer: "The role as it is now."},
	func(ctx context.Context, to Provider, in *createRoleIn) (roleOut, error) {
		row, err := to.CreateRole(ctx, in.Input, in.Provenance)
		return roleOut{row}, err
	})

func (c Calls) CreateRole(ctx context.Context, in RoleInput, prov authz.Provenance) (authz.Role, error) {
	in.Patterns = orNone(in.Patterns)
	out, err := ask(ctx, c, opCreateRole, createRoleIn{in, prov})
	return out.Role, err
}

var opUpdateRole = declare(Operation{Op: "updateRole", Kind: Write, Method: "UpdateRole", Tag: "roles", Summary: "Change a role",
	Notes: "Patterns are frozen while a pending request names the role.", Answer: "The role as it is now."},
	func(ctx context.Context, to Provider, in *updateRoleIn) (roleOut, error) {
		row, err := to.UpdateRole(ctx, in.RoleID, in.Input, in.Provenance)
		return roleOut{row}, err
	})

func (c Calls) UpdateRole(ctx context.Context, id string, in RoleUpdate, prov authz.Provenance) (authz.Role, error) {
	if in.Patterns != nil {
		in.Patterns = new(orNone(*in.Patterns))
	}
	out, err := ask(ctx, c, opUpdateRole, updateRoleIn{id, in, prov})
	return out.Role, err
}

var opDeleteRole = declare(Operation{Op: "deleteRole", Kind: Write, Method: "DeleteRole", Tag: "roles", Summary: "Delete a role",
	Notes: "A conflict while grants or pending requests name it; an absent id is no error."},
	func(ctx context.Context, to Provider, in *deleteRoleIn) (none, error) {
		return none{}, to.DeleteRole(ctx, in.RoleID, in.Provenance)
	})

func (c Calls) DeleteRole(ctx context.Context, id string, prov authz.Provenance) error {
	return tell(ctx, c, opDeleteRole, deleteRoleIn{id, prov})
}
