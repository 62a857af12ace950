package orgroot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"iter"

	"github.com/authzhost/authz/host/internal/search"
	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Match judges If-Match against an object's etag as it is now; nil wants nothing.
type Match func(etag string) error

// ETag is that of a role or a group: a digest of it as the API shows it.
func ETag(object any) (string, error) {
	raw, err := authz.Marshal(object)
	if err != nil {
		return "", fault.Internal(err)
	}
	sum := sha256.Sum256(raw)
	return `"` + hex.EncodeToString(sum[:16]) + `"`, nil
}

func (m Match) against(object any) error {
	if m == nil {
		return nil
	}
	etag, err := ETag(object)
	if err != nil {
		return err
	}
	return m(etag)
}

func (m Match) role() func(authz.Role) error {
	if m == nil {
		return nil
	}
	return func(role authz.Role) error { return m.against(role) }
}

// Roles lists the roles of the root and of account data by id. An id that both
// have, which no write here makes, is shown as account data has it. What was typed selects
// those whose id or name has it; "" selects all.
func (r *Root) Roles(ctx context.Context, a *service.Access, typed string, p Page) (List[authz.Role], error) {
	found := func(role authz.Role) bool { return search.Finds(typed, role.ID, role.Name) }
	list := func(to applications.Asked, p Page) ([]authz.Role, error) {
		return ordered(only(to.Relay.ListRoles(ctx, searched(typed, p)), found), to.ID, p, byID(func(role authz.Role) string { return role.ID }))
	}
	return merged(ctx, r, a.Org.ID, authz.Global, p, true, list,
		func() iter.Seq2[authz.Role, error] {
			return only(r.account.AccountRoles(ctx, a.Org.ID, provider.Paging{}), found)
		},
		byID(func(role authz.Role) string { return role.ID }), func(role authz.Role, _ Home) authz.Role { return role })
}

// MayCreateRole is the gate of CreateRole.
func (r *Root) MayCreateRole(ctx context.Context, a *service.Access, in provider.RoleInput) error {
	return r.may(ctx, a, keyRoles, false, func() (Home, error) { return patternsHome(in.Patterns) },
		func() error { return r.account.MayCreateAccountRole(ctx, a, in) })
}

// CreateRole writes a role where its patterns belong; it judges the gate itself.
func (r *Root) CreateRole(ctx context.Context, a *service.Access, in provider.RoleInput) (authz.Role, error) {
	h, err := r.gated(ctx, a, keyRoles, false, func() (Home, error) { return patternsHome(in.Patterns) })
	if err != nil {
		return authz.Role{}, err
	}
	if in.ID != nil {
		if err := r.idIsFree(ctx, a.Org.ID, *in.ID, h); err != nil {
			return authz.Role{}, err
		}
	}
	if h == inAccount {
		return r.account.CreateAccountRole(ctx, a, in)
	}
	if err := r.mayGive(ctx, a, in.Patterns); err != nil {
		return authz.Role{}, err
	}
	return rooted(ctx, r, a.Org.ID, func(to applications.Asked) (authz.Role, error) {
		return to.Relay.CreateRole(ctx, in, a.Caller.Provenance())
	})
}

// patternsHome is where a role with the patterns lies. Account vocabulary is mixed
// with other on a hosted root only.
func patternsHome(patterns []string) (Home, error) {
	if cloud.IsRole(patterns) {
		return inAccount, nil
	}
	for _, p := range patterns {
		if cloud.IsPattern(p) {
			return Home{}, rejected(authz.CodeValidation, "a role has either patterns of cloud or others: "+spell.Quote(p))
		}
	}
	return atTheRoot, nil
}

// idIsFree refuses an id that the other home has: one grant would mean two roles.
func (r *Root) idIsFree(ctx context.Context, org, id string, h Home) error {
	if h == inAccount {
		_, err := r.Role(ctx, org, id)
		e := new(fault.Error)
		switch {
		case err == nil:
			return idTaken(id)
		case errors.As(err, &e) && (e.Code == string(authz.CodeNotFound) || e.Code == "no_org_root"):
			return nil
		}
		return err
	}
	_, found, err := r.account.AccountRole(ctx, org, id)
	if err == nil && found {
		err = idTaken(id)
	}
	return err
}

func idTaken(id string) error {
	return rejected(authz.CodeConflict, "role id "+spell.Quote(id)+" already exists")
}

// roleHome is where the role of that id lies.
func (r *Root) roleHome(ctx context.Context, org, id string) (Home, error) {
	return rowHome("", func() (bool, error) {
		_, found, err := r.account.AccountRole(ctx, org, id)
		return found, err
	})
}

// UpdateRole changes a role where it lies; it judges the gate itself. A role does
// not change its home.
func (r *Root) UpdateRole(ctx context.Context, a *service.Access, id string, in provider.RoleUpdate, match Match) (authz.Role, error) {
	h, err := r.gated(ctx, a, keyRoles, true, func() (Home, error) { return r.roleHome(ctx, a.Org.ID, id) })
	if err != nil {
		return authz.Role{}, err
	}
	if h == inAccount {
		return r.account.UpdateAccountRole(ctx, a, id, in, match.role())
	}
	if in.Patterns != nil {
		for _, p := range *in.Patterns {
			if cloud.IsPattern(p) {
				return authz.Role{}, rejected(authz.CodeValidation, "a role of the org root takes no pattern of cloud: "+spell.Quote(p))
			}
		}
		if err := r.mayGive(ctx, a, *in.Patterns); err != nil {
			return authz.Role{}, err
		}
	}
	return rooted(ctx, r, a.Org.ID, func(to applications.Asked) (authz.Role, error) {
		if err := r.matchRole(ctx, a.Org.ID, id, match); err != nil {
			return authz.Role{}, err
		}
		return to.Relay.UpdateRole(ctx, id, in, a.Caller.Provenance())
	})
}

// DeleteRole removes a role where it lies; it judges the gate itself.
func (r *Root) DeleteRole(ctx context.Context, a *service.Access, id string, match Match) error {
	h, err := r.gated(ctx, a, keyRoles, true, func() (Home, error) { return r.roleHome(ctx, a.Org.ID, id) })
	if err != nil {
		return err
	}
	if h == inAccount {
		return r.account.DeleteAccountRole(ctx, a, id, match.role())
	}
	return r.atRoot(ctx, a.Org.ID, func(to applications.Asked) error {
		if err := r.matchRole(ctx, a.Org.ID, id, match); err != nil {
			return err
		}
		return to.Relay.DeleteRole(ctx, id, a.Caller.Provenance())
	})
}

// matchRole compares with a fresh read just before the write.
func (r *Root) matchRole(ctx context.Context, org, id string, match Match) error {
	if match == nil {
		return nil
	}
	role, err := r.Role(ctx, org, id)
	if err != nil {
		return err
	}
	return match.against(role)
}

func unsupported(err error) bool {
	e := new(fault.Error)
	return errors.As(err, &e) && e.Name == "ProviderWriteRejectedError" && e.Code == string(authz.CodeUnsupported)
}
