package orgroot

import (
	"context"
	"strconv"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// GrantsChange is a change of grants of one home. Application names the home of instance
// rows that are named by their ids.
type GrantsChange struct {
	Application string
	provider.GrantsChange
}

// MayChangeGrants is the gate of ChangeGrants. A grant that lasts longer was judged with
// the change that it is asked about again.
func (r *Root) MayChangeGrants(ctx context.Context, a *service.Access, in GrantsChange) error {
	if err := r.may(ctx, a, keyGrants, true, func() (Home, error) { return r.homeOfChange(ctx, a.Org.ID, in) },
		func() error { return r.account.MayChangeAccountGrants(ctx, a, in.GrantsChange) }); err != nil {
		return err
	}
	return r.mayGrant(ctx, a, in.Create...)
}

// ChangeGrants deletes grants, gives others another expiry and creates some, in one commit
// of their home, or does nothing of it. It answers the rows created.
func (r *Root) ChangeGrants(ctx context.Context, a *service.Access, in GrantsChange) (created []authz.Grant, h Home, err error) {
	if n := len(in.Delete) + len(in.Expire) + len(in.Create); n == 0 || n > maxBulk {
		return nil, h, fault.Invalid(fault.Issue{Message: "delete, expire and create must name 1 to " + strconv.Itoa(maxBulk) + " grants together"})
	}
	h, err = r.gated(ctx, a, keyGrants, true, func() (Home, error) { return r.homeOfChange(ctx, a.Org.ID, in) })
	if err == nil {
		err = r.bareSubjects(ctx, a.Org.ID, "create", in.Create)
	}
	if err != nil {
		return nil, h, err
	}
	if h == inAccount {
		created, err = r.account.ChangeAccountGrants(ctx, a, in.GrantsChange)
		return created, h, err
	}
	if err := r.mayGrant(ctx, a, in.Create...); err != nil {
		return nil, h, err
	}
	err = r.at(ctx, a.Org.ID, h, func(to applications.Asked) error {
		if err := r.mayProlong(ctx, a, to, in.Expire); err != nil {
			return err
		}
		created, err = to.Relay.ChangeGrants(ctx, in.GrantsChange, a.Caller.Provenance())
		if err == nil && len(created) != len(in.Create) {
			err = fault.Transport("application_protocol_error", to.ID, string(authz.OutcomeUnknown), "the application answers another number of grants than it was sent")
		}
		return err
	})
	return created, h, err
}

// homeOfChange is the home that all grants of a change have in common: mixed_homes. An id
// that account data does not have, beside others of it, is for account data to refuse: it
// may have been deleted.
func (r *Root) homeOfChange(ctx context.Context, org string, in GrantsChange) (Home, error) {
	named := Home{Kind: "application", Application: in.Application}
	if in.Application == "" {
		named = Home{}
	}
	ids := append([]string{}, in.Delete...)
	for _, e := range in.Expire {
		ids = append(ids, e.GrantID)
	}
	if len(in.Create) > 0 {
		created, err := r.oneHome(ctx, org, in.Create)
		if err != nil {
			return Home{}, err
		}
		if in.Application != "" && created != named {
			return Home{}, errMixedHomes()
		}
		named = created
	}
	for _, id := range ids {
		_, ofAccount, err := r.account.AccountGrant(ctx, org, id)
		switch {
		case err != nil:
			return Home{}, err
		case ofAccount && named == Home{}:
			named = inAccount
		case ofAccount && named != inAccount:
			return Home{}, errMixedHomes()
		}
	}
	if named == (Home{}) {
		named = atTheRoot
	}
	return named, nil
}

func errMixedHomes() error {
	return fault.Cloud("mixed_homes", "the grants belong to different homes; send those of each on their own")
}

// mayProlong is mayGrant for grants of the root that get another expiry.
func (r *Root) mayProlong(ctx context.Context, a *service.Access, to applications.Asked, expire []provider.GrantExpiry) error {
	if !r.account.Strict() || len(expire) == 0 {
		return nil
	}
	rows := make([]provider.GrantInput, len(expire))
	if err := eightAtATime(ctx, len(expire), func(ctx context.Context, i int) error {
		g, err := grantOf(ctx, to, expire[i].GrantID)
		rows[i] = provider.GrantInput{Subject: g.Subject, RoleID: g.RoleID, Pattern: g.Pattern, Scope: g.Scope}
		return err
	}); err != nil {
		return err
	}
	return r.mayGrant(ctx, a, rows...)
}
