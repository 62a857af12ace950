package service

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// accountRoleRow reads a role of account data; built-in ones have version 0.
func (s *Service) accountRoleRow(ctx context.Context, org, id string) (account.Row[authz.Role], bool, error) {
	for _, role := range cloud.BuiltIn() {
		if role.ID == id {
			return account.Row[authz.Role]{ID: id, Value: role}, true, nil
		}
	}
	if id == "" {
		return account.Row[authz.Role]{}, false, nil
	}
	return account.Roles.Get(ctx, s.Accounts, org, id)
}

func (s *Service) accountRole(ctx context.Context, org, id string) (authz.Role, bool, error) {
	row, found, err := s.accountRoleRow(ctx, org, id)
	return row.Value, found, err
}

// AccountRole reads a role of account data, the built-in ones included.
func (s *Service) AccountRole(ctx context.Context, org, id string) (authz.Role, bool, error) {
	return s.accountRole(ctx, org, id)
}

// AccountRoles lists the roles of account data by id, the built-in ones included.
func (s *Service) AccountRoles(ctx context.Context, org string, p provider.Paging) iter.Seq2[authz.Role, error] {
	return func(yield func(authz.Role, error) bool) {
		roles := cloud.BuiltIn()
		for row, err := range account.Roles.All(ctx, s.Accounts, org) {
			if err != nil {
				yield(authz.Role{}, err)
				return
			}
			roles = append(roles, row.Value)
		}
		slices.SortFunc(roles, func(a, b authz.Role) int { return cmp.Compare(a.ID, b.ID) })
		all := func(yield func(authz.Role, error) bool) {
			for _, role := range roles {
				if !yield(role, nil) {
					return
				}
			}
		}
		selected(all, func(authz.Role) bool { return true }, func(r authz.Role) string { return r.ID }, p)(yield)
	}
}

// MayCreateAccountRole is the gate of CreateAccountRole.
func (s *Service) MayCreateAccountRole(ctx context.Context, a *Access, in provider.RoleInput) error {
	if err := a.Require(ctx, cloud.UpdateSeat, authz.Global); err != nil {
		return err
	}
	return a.holdsAll(ctx, []conferred{{in.Patterns, authz.Global}})
}

// CreateAccountRole writes a role whose patterns are all of account vocabulary.
// That its id is free at the org root is for the caller to see.
func (s *Service) CreateAccountRole(ctx context.Context, a *Access, in provider.RoleInput) (authz.Role, error) {
	if err := s.MayCreateAccountRole(ctx, a, in); err != nil {
		return authz.Role{}, err
	}
	role := authz.Role{ID: account.NewID(ctx), Name: in.Name, Description: in.Description, Patterns: slices.Clone(in.Patterns)}
	if in.ID != nil {
		role.ID = *in.ID
	}
	if in.Requestable != nil {
		return authz.Role{}, errRequestable()
	}
	if err := checkAccountRole(role); err != nil {
		return authz.Role{}, err
	}
	taken := fault.Rejected(authz.CodeConflict, "role id %s already exists", spell.Quote(role.ID))
	if slices.ContainsFunc(cloud.BuiltIn(), func(r authz.Role) bool { return r.ID == role.ID }) {
		return authz.Role{}, taken
	}
	tx := s.Accounts.Begin(ctx)
	account.Roles.Put(tx, a.Org.ID, role.ID, role, 0)
	tx.Audit(a.Org.ID, a.Caller.Actor(), "role.create", role.ID, nameDetail{role.Name})
	if err := tx.Commit(); err == error(account.ErrMoved) {
		return authz.Role{}, taken
	} else if err != nil {
		return authz.Role{}, err
	}
	return role, nil
}

// UpdateAccountRole changes the members given. The caller must hold what the role
// conferred and what it is to confer.
func (s *Service) UpdateAccountRole(ctx context.Context, a *Access, id string, in provider.RoleUpdate, match func(authz.Role) error) (authz.Role, error) {
	if err := a.Require(ctx, cloud.UpdateSeat, authz.Global); err != nil {
		return authz.Role{}, err
	}
	if in.Requestable != nil {
		return authz.Role{}, errRequestable()
	}
	var role authz.Role
	err := account.Retry(func() error {
		row, err := s.editableRole(ctx, a.Org.ID, id)
		if err != nil {
			return err
		}
		role = row.Value
		if match != nil {
			if err := match(role); err != nil {
				return err
			}
		}
		giving := []conferred{{role.Patterns, authz.Global}}
		if in.Patterns != nil {
			role.Patterns = slices.Clone(*in.Patterns)
			giving = append(giving, conferred{role.Patterns, authz.Global})
		}
		if in.Name != nil {
			role.Name = *in.Name
		}
		if in.Description != nil {
			role.Description = *in.Description
		}
		if err := checkAccountRole(role); err != nil {
			return err
		}
		if err := a.holdsAll(ctx, giving); err != nil {
			return err
		}
		tx := s.Accounts.Begin(ctx)
		account.Roles.Put(tx, a.Org.ID, id, role, row.Version)
		tx.Audit(a.Org.ID, a.Caller.Actor(), "role.update", id, nameDetail{role.Name})
		return tx.Commit()
	})
	return role, err
}

// DeleteAccountRole removes a role that no grant names.
func (s *Service) DeleteAccountRole(ctx context.Context, a *Access, id string, match func(authz.Role) error) error {
	if err := a.Require(ctx, cloud.UpdateSeat, authz.Global); err != nil {
		return err
	}
	return account.Retry(func() error {
		row, err := s.editableRole(ctx, a.Org.ID, id)
		if err != nil {
			return err
		}
		if match != nil {
			if err := match(row.Value); err != nil {
				return err
			}
		}
		n := 0
		for _, err := range s.AccountGrants(ctx, a.Org.ID, authz.GrantSearch{RoleID: &id}) {
			if err != nil {
				return err
			}
			n++
		}
		if n > 0 {
			return fault.Rejected(authz.CodeConflict, "role is assigned by %d grant(s); remove them first", n)
		}
		tx := s.Accounts.Begin(ctx)
		account.Roles.Delete(tx, a.Org.ID, id, row.Version)
		tx.Audit(a.Org.ID, a.Caller.Actor(), "role.delete", id, nil)
		return tx.Commit()
	})
}

func (s *Service) editableRole(ctx context.Context, org, id string) (account.Row[authz.Role], error) {
	row, found, err := s.accountRoleRow(ctx, org, id)
	switch {
	case err != nil:
		return row, err
	case !found:
		return row, fault.Rejected(authz.CodeNotFound, "role not found")
	case row.Version == 0:
		return row, fault.Rejected(authz.CodeValidation, "role %s is built in and not editable", spell.Quote(id))
	}
	return row, nil
}

const (
	maxRoleID      = 400 // with an org's it must fit the key of a record
	maxDescription = 65536
)

func checkAccountRole(role authz.Role) error {
	switch {
	case role.ID == "" || strings.Contains(role.ID, "/") || !newID(role.ID, maxRoleID):
		return fault.Rejected(authz.CodeValidation, "a role id of account data has 1 to %d bytes of text without / and control characters", maxRoleID)
	case !storable(role.Name, maxName):
		return fault.Rejected(authz.CodeValidation, "name must be text of at most %d bytes", maxName)
	case !storable(role.Description, maxDescription):
		return fault.Rejected(authz.CodeValidation, "description must be text of at most %d bytes", maxDescription)
	case !cloud.IsRole(role.Patterns):
		return fault.Rejected(authz.CodeValidation, "a role mixes %s with other namespaces only on a hosted root", cloud.Everything)
	}
	for _, p := range role.Patterns {
		if err := accountPattern(p); err != nil {
			return err
		}
	}
	return nil
}

func errRequestable() error {
	return fault.Rejected(authz.CodeValidation, "roles of account data cannot be requested")
}
