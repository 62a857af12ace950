package provider

import (
	"context"
	"iter"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
)

// WithExpired adds to what a provider supplied of a principal the grants that it left out
// because they have expired, and the roles that these name. It reads every grant of
// every subject of the closure: for explanations, never for checks.
func WithExpired(ctx context.Context, p interface {
	ListGrants(ctx context.Context, q GrantQuery) iter.Seq2[authz.Grant, error]
	ListRoles(ctx context.Context, p Paging) iter.Seq2[authz.Role, error]
}, supplied authz.SubjectAccess) (authz.SubjectAccess, error) {
	known, roles := map[string]bool{}, map[string]bool{}
	for i := range supplied.Grants {
		known[supplied.Grants[i].ID] = true
	}
	for i := range supplied.Roles {
		roles[supplied.Roles[i].ID] = true
	}
	wanted := map[string]bool{}
	supplied.Grants, supplied.Roles = slices.Clip(supplied.Grants), slices.Clip(supplied.Roles)
	for _, subject := range supplied.Closure {
		for g, err := range p.ListGrants(ctx, GrantQuery{Subject: &subject}) {
			if err != nil {
				return supplied, err
			}
			if known[g.ID] {
				continue
			}
			supplied.Grants = append(supplied.Grants, g)
			if g.RoleID != "" && !roles[g.RoleID] {
				wanted[g.RoleID] = true
			}
		}
	}
	if len(wanted) == 0 {
		return supplied, nil
	}
	for role, err := range p.ListRoles(ctx, Paging{}) {
		if err != nil {
			return supplied, err
		}
		if wanted[role.ID] {
			supplied.Roles = append(supplied.Roles, role)
		}
	}
	return supplied, nil
}
