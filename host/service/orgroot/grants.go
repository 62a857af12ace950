package orgroot

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// HomedGrant is a grant with where it is kept.
type HomedGrant struct {
	authz.Grant
	Home Home `json:"home"`
}

// homed is the id of a row of a merged list; of account rows with the same id the
// root's comes first.
func homed(id string, h Home) string {
	if h == inAccount {
		return id + "\x001"
	}
	return id + "\x000"
}

// Grants finds the grants at a scope (nil means *); at * those of the root and of account
// data in one list. The position is a place with its home.
func (r *Root) Grants(ctx context.Context, a *service.Access, q authz.GrantSearch, p Page) (List[HomedGrant], error) {
	if err := r.bareActor(ctx, a.Org.ID, q); err != nil {
		return List[HomedGrant]{}, err
	}
	scope := orGlobal(q.Scope)
	q.Scope = &scope
	list := func(to applications.Asked, p Page) ([]authz.Grant, error) { return grantsAt(ctx, to, q, p) }
	return merged(ctx, r, a.Org.ID, scope, p, false, list,
		func() iter.Seq2[authz.Grant, error] { return r.account.AccountGrants(ctx, a.Org.ID, q) },
		grantOrder(q.Order), func(g authz.Grant, h Home) HomedGrant { return HomedGrant{g, h} })
}

func grantOrder(o authz.GrantOrder) order[authz.Grant] {
	placed := func(text string) authz.GrantPlace {
		at, _ := o.Parse(text) // of this order's own making
		return at
	}
	return order[authz.Grant]{func(g authz.Grant) string { return o.Text(o.Place(&g)) },
		func(a, b string) int { return o.Compare(placed(a), placed(b)) }}
}

// grantsAt reads one row more than a page has, of the grants of an application. It asks
// for a plain list where that will do: every application has it.
func grantsAt(ctx context.Context, to applications.Asked, q authz.GrantSearch, p Page) ([]authz.Grant, error) {
	page := provider.Paging{After: p.After, Limit: p.Limit + 1}
	rows := to.Relay.FindGrants(ctx, provider.GrantsQuery{GrantSearch: q, Paging: page})
	if q == listOf(q) {
		rows = to.Relay.ListGrants(ctx, provider.GrantQuery{Subject: q.Subject, Scope: q.Scope, RoleID: q.RoleID, Paging: page})
	}
	found, err := ordered(rows, to.ID, p, grantOrder(q.Order))
	return matching(found, err, to.ID, func(g authz.Grant) bool { return q.Selects(&g) })
}

// listOf is what a plain list knows of a search.
func listOf(q authz.GrantSearch) authz.GrantSearch {
	return authz.GrantSearch{Subject: q.Subject, Scope: q.Scope, RoleID: q.RoleID}
}

// older is the answer of an application that knows no searches.
func older(err error) bool {
	var e *provider.TransportError
	return unsupported(err) || errors.As(err, &e) && e.Code == provider.UnknownOp
}

// instancesAt is grantsAt without the grants at *. found is false where the application
// cannot leave them out, and a list of all may do.
func instancesAt(ctx context.Context, to applications.Asked, q authz.GrantSearch, p Page) (rows []authz.Grant, found bool, err error) {
	instances := q
	instances.Instances = true
	rows, err = grantsAt(ctx, to, instances, p)
	return rows, q != listOf(q) || !older(err), err
}

// CountGrants counts what Grants lists.
func (r *Root) CountGrants(ctx context.Context, a *service.Access, q provider.GrantQuery) (int64, error) {
	q.Scope, q.Paging = new(orGlobal(q.Scope)), provider.Paging{}
	return counted(ctx, r, a.Org.ID, *q.Scope,
		func(to applications.Asked) (int64, error) { return to.Relay.CountGrants(ctx, q) },
		func() iter.Seq2[authz.Grant, error] {
			return r.account.AccountGrants(ctx, a.Org.ID, authz.GrantSearch{Subject: q.Subject, Scope: q.Scope, RoleID: q.RoleID})
		})
}

// MayCreateGrants is the gate of CreateGrant and CreateGrants.
func (r *Root) MayCreateGrants(ctx context.Context, a *service.Access, in []provider.GrantInput) error {
	if err := r.may(ctx, a, keyGrants, slices.ContainsFunc(in, byRole), func() (Home, error) { return r.oneHome(ctx, a.Org.ID, in) },
		func() error { return r.account.MayCreateAccountGrants(ctx, a, in) }); err != nil {
		return err
	}
	return r.mayGrant(ctx, a, in...)
}

// oneHome is the home that grants have in common: mixed_homes.
func (r *Root) oneHome(ctx context.Context, org string, in []provider.GrantInput) (first Home, err error) {
	for i, g := range in {
		h, err := r.home(ctx, org, g.Scope, g.Pattern, g.RoleID)
		switch {
		case err != nil:
			return Home{}, err
		case i == 0:
			first = h
		case h != first:
			return Home{}, errMixedHomes()
		}
	}
	return first, nil
}

// CreateGrant writes a grant where it belongs. It judges the gate itself: that of
// account data is another.
func (r *Root) CreateGrant(ctx context.Context, a *service.Access, in provider.GrantInput) (grant authz.Grant, h Home, err error) {
	h, err = r.gated(ctx, a, keyGrants, byRole(in), func() (Home, error) { return r.home(ctx, a.Org.ID, in.Scope, in.Pattern, in.RoleID) })
	if err == nil {
		err = r.bareGrants(ctx, a.Org.ID, []provider.GrantInput{in})
	}
	if err != nil {
		return grant, h, err
	}
	if h == inAccount {
		rows, err := r.account.CreateAccountGrants(ctx, a, []provider.GrantInput{in}, true)
		if err != nil {
			return grant, h, err
		}
		return rows[0], h, nil
	}
	if err := r.mayGrant(ctx, a, in); err != nil {
		return grant, h, err
	}
	err = r.at(ctx, a.Org.ID, h, func(to applications.Asked) (err error) {
		grant, err = to.Relay.CreateGrant(ctx, in, a.Caller.Provenance())
		return err
	})
	return grant, h, err
}

// byRole tells that the home follows from whose role the id is.
func byRole(in provider.GrantInput) bool {
	_, ofAccount := cloud.AppOf(in.Scope)
	return in.Pattern == "" && !ofAccount
}

// CreateGrants writes all grants, of one home, or none: mixed_homes.
func (r *Root) CreateGrants(ctx context.Context, a *service.Access, in []provider.GrantInput) (rows []authz.Grant, h Home, err error) {
	if len(in) == 0 || len(in) > maxBulk {
		return nil, h, fault.Invalid(fault.Issue{Path: "grants", Message: "must have 1 to " + strconv.Itoa(maxBulk) + " elements"})
	}
	h, err = r.gated(ctx, a, keyGrants, slices.ContainsFunc(in, byRole), func() (Home, error) { return r.oneHome(ctx, a.Org.ID, in) })
	if err == nil {
		err = r.bareGrants(ctx, a.Org.ID, in)
	}
	if err != nil {
		return nil, h, err
	}
	if h == inAccount {
		rows, err = r.account.CreateAccountGrants(ctx, a, in, false)
		return rows, h, err
	}
	if err := r.mayGrant(ctx, a, in...); err != nil {
		return nil, h, err
	}
	err = r.at(ctx, a.Org.ID, h, func(to applications.Asked) (err error) {
		if rows, err = to.Relay.CreateGrants(ctx, in, a.Caller.Provenance()); err == nil && len(rows) != len(in) {
			err = fault.Transport("application_protocol_error", to.ID, string(authz.OutcomeUnknown), "the application answers another number of grants than it was sent")
		}
		return err
	})
	return rows, h, err
}

const maxBulk = 1000

// DeleteGrant removes a grant: of account data, of the root, or of the application
// named.
func (r *Root) DeleteGrant(ctx context.Context, a *service.Access, id, application string) error {
	h, err := r.gated(ctx, a, keyGrants, true, func() (Home, error) {
		return rowHome(application, func() (bool, error) {
			_, found, err := r.account.AccountGrant(ctx, a.Org.ID, id)
			return found, err
		})
	})
	if err != nil {
		return err
	}
	if h == inAccount {
		return r.account.DeleteAccountGrant(ctx, a, id)
	}
	return r.at(ctx, a.Org.ID, h, func(to applications.Asked) error {
		if h.Kind == "application" {
			return r.deleteInstanceGrant(ctx, a, to, id)
		}
		return to.Relay.DeleteGrant(ctx, id, a.Caller.Provenance())
	})
}

// rowHome is the home of a row that is named by its id.
func rowHome(application string, inAccountData func() (bool, error)) (Home, error) {
	if application != "" {
		return Home{Kind: "application", Application: application}, nil
	}
	found, err := inAccountData()
	if err != nil || found {
		return inAccount, err
	}
	return atTheRoot, nil
}
