package orgroot

import (
	"context"
	"errors"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/cloud"
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
// the change that it is asked about again. Ids that account data does not have may be of
// grants that the change deleted there: who writes account data is told of it again.
func (r *Root) MayChangeGrants(ctx context.Context, a *service.Access, in GrantsChange) error {
	ofAccount, err := r.mayChange(ctx, a)
	if err != nil {
		return err
	}
	if ofAccount && in.Application == "" && len(in.Create) == 0 {
		return nil
	}
	if err := r.may(ctx, a, keyGrants, true, func() (Home, error) { return r.homeOfChange(ctx, a.Org.ID, in) },
		func() error { return r.account.MayChangeAccountGrants(ctx, a, in.GrantsChange) }); err != nil {
		return err
	}
	return r.mayGrant(ctx, a, in.Create...)
}

// mayChange refuses who may change the grants of no home, before any row is read, and tells
// whether the caller writes account data.
func (r *Root) mayChange(ctx context.Context, a *service.Access) (ofAccount bool, err error) {
	if ofAccount, err = a.Can(ctx, cloud.UpdateSeat, authz.Global); err != nil || ofAccount {
		return ofAccount, err
	}
	return false, r.require(ctx, a, keyGrants, true)
}

// ChangeSentTo is the application that a change goes to, nil of account data.
func (r *Root) ChangeSentTo(ctx context.Context, a *service.Access, in GrantsChange) (*string, error) {
	root := new("")
	if a.Org.PrimaryApplication != nil {
		root = a.Org.PrimaryApplication
	}
	h, err := r.homeOfChange(ctx, a.Org.ID, in)
	switch e := new(fault.Error); {
	case errors.As(err, &e) && !e.Failed(): // the change has no home, and says so itself
		return root, nil
	case err != nil:
		return nil, err
	case h == inAccount:
		return nil, nil
	case h.Kind == "application":
		return &h.Application, nil
	}
	return root, nil
}

// ChangeGrants deletes grants, gives others another expiry and creates some, in one commit
// of their home, or does nothing of it. It answers the rows created.
func (r *Root) ChangeGrants(ctx context.Context, a *service.Access, in GrantsChange) (created []authz.Grant, h Home, err error) {
	if _, err := r.mayChange(ctx, a); err != nil {
		return nil, h, err
	}
	if created, done, err := r.account.ChangedAccountGrants(ctx, a, in.GrantsChange); err != nil || done {
		return created, inAccount, err
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

// mayProlong is mayGrant for grants of the root that are to last longer.
func (r *Root) mayProlong(ctx context.Context, a *service.Access, to applications.Asked, expire []provider.GrantExpiry) error {
	if !r.account.Strict() || len(expire) == 0 {
		return nil
	}
	rows := make([]*provider.GrantInput, len(expire)) // nil for one that ends no later
	if err := eightAtATime(ctx, len(expire), func(ctx context.Context, i int) error {
		g, err := grantOf(ctx, to, expire[i].GrantID)
		if service.Prolongs(g.ExpiresAt, expire[i]) {
			rows[i] = &provider.GrantInput{Subject: g.Subject, RoleID: g.RoleID, Pattern: g.Pattern, Scope: g.Scope}
		}
		return err
	}); err != nil {
		return err
	}
	var prolonged []provider.GrantInput
	for _, row := range rows {
		if row != nil {
			prolonged = append(prolonged, *row)
		}
	}
	return r.mayGrant(ctx, a, prolonged...)
}
