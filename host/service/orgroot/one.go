package orgroot

import (
	"context"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// OneRole is a role of account data or of the root.
func (r *Root) OneRole(ctx context.Context, a *service.Access, id string) (authz.Role, error) {
	role, found, err := r.account.AccountRole(ctx, a.Org.ID, id)
	if err != nil || found {
		return role, err
	}
	return r.Role(ctx, a.Org.ID, id)
}

// OneGroup is a group of the root.
func (r *Root) OneGroup(ctx context.Context, a *service.Access, id string) (authz.Group, error) {
	return rooted(ctx, r, a.Org.ID, func(to applications.Asked) (authz.Group, error) { return groupOf(ctx, to, id) })
}

// OneGrant is a grant of account data, of the root, or of the application named.
func (r *Root) OneGrant(ctx context.Context, a *service.Access, id, application string) (HomedGrant, error) {
	grant, h, err := oneRow(ctx, r, a, application,
		func() (authz.Grant, bool, error) { return r.account.AccountGrant(ctx, a.Org.ID, id) },
		func(to applications.Asked) (authz.Grant, error) { return grantOf(ctx, to, id) },
		func(g authz.Grant) string { return g.Scope })
	return HomedGrant{grant, h}, err
}

// OneRevoke is a revoke, as OneGrant is a grant.
func (r *Root) OneRevoke(ctx context.Context, a *service.Access, id, application string) (HomedRevoke, error) {
	revoke, h, err := oneRow(ctx, r, a, application,
		func() (authz.Revoke, bool, error) { return r.account.AccountRevoke(ctx, a.Org.ID, id) },
		func(to applications.Asked) (authz.Revoke, error) { return revokeOf(ctx, to, id) },
		func(v authz.Revoke) string { return v.Scope })
	return HomedRevoke{revoke, h}, err
}

// OneAppGrant is a grant of an application, at whichever scope.
func (r *Root) OneAppGrant(ctx context.Context, a *service.Access, application, id string) (authz.Grant, error) {
	to, err := r.apps.Linked(ctx, a.Org.ID, application)
	if err != nil {
		return authz.Grant{}, err
	}
	return grantOf(ctx, to, id)
}

// OneAppRevoke is a revoke of an application, at whichever scope.
func (r *Root) OneAppRevoke(ctx context.Context, a *service.Access, application, id string) (authz.Revoke, error) {
	to, err := r.apps.Linked(ctx, a.Org.ID, application)
	if err != nil {
		return authz.Revoke{}, err
	}
	return revokeOf(ctx, to, id)
}

// oneRow reads a row where it lies. A row at an instance scope that the root has is of
// the application that the root is.
func oneRow[T any](ctx context.Context, r *Root, a *service.Access, application string, ofAccount func() (T, bool, error), of func(applications.Asked) (T, error), scope func(T) string) (row T, h Home, err error) {
	h, err = rowHome(application, func() (found bool, err error) {
		row, found, err = ofAccount()
		return found, err
	})
	if err != nil || h == inAccount {
		return row, h, err
	}
	err = r.at(ctx, a.Org.ID, h, func(to applications.Asked) (err error) {
		row, err = of(to)
		switch global := scope(row) == authz.Global; {
		case err != nil:
		case h.Kind == "application" && global:
			err = globalRow()
		case h.Kind != "application" && !global:
			h, err = r.owner(ctx, a.Org.ID, scope(row))
		}
		return err
	})
	return row, h, err
}

func groupOf(ctx context.Context, to applications.Asked, id string) (authz.Group, error) {
	return find(to.Relay.ListGroups(ctx, before(id)), "group", id, func(g authz.Group) string { return g.ID })
}

func grantOf(ctx context.Context, to applications.Asked, id string) (authz.Grant, error) {
	return find(to.Relay.ListGrants(ctx, provider.GrantQuery{Paging: before(id)}), "grant", id, func(g authz.Grant) string { return g.ID })
}

func revokeOf(ctx context.Context, to applications.Asked, id string) (authz.Revoke, error) {
	return find(to.Relay.ListRevokes(ctx, provider.RevokeQuery{Paging: before(id)}), "revoke", id, func(v authz.Revoke) string { return v.ID })
}
