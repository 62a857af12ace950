package orgroot

import (
	"context"
	"iter"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// HomedRevoke is a revoke with where it is kept.
type HomedRevoke struct {
	authz.Revoke
	Home Home `json:"home"`
}

// Revokes lists the revokes at a scope (nil means *), as Grants does.
func (r *Root) Revokes(ctx context.Context, a *service.Access, q provider.RevokeQuery, p Page) (List[HomedRevoke], error) {
	scope := orGlobal(q.Scope)
	q.Scope, q.Paging = &scope, provider.Paging{}
	list := func(to applications.Asked, p Page) ([]authz.Revoke, error) { return revokesAt(ctx, to, q, p) }
	return merged(ctx, r, a.Org.ID, scope, p, false, list,
		func() iter.Seq2[authz.Revoke, error] { return r.account.AccountRevokes(ctx, a.Org.ID, q) },
		byID(func(v authz.Revoke) string { return v.ID }), func(v authz.Revoke, h Home) HomedRevoke { return HomedRevoke{v, h} })
}

// CountRevokes counts what Revokes lists.
func (r *Root) CountRevokes(ctx context.Context, a *service.Access, q provider.RevokeQuery) (int64, error) {
	q.Scope, q.Paging = new(orGlobal(q.Scope)), provider.Paging{}
	return counted(ctx, r, a.Org.ID, *q.Scope,
		func(to applications.Asked) (int64, error) { return length(to.Relay.ListRevokes(ctx, q)) },
		func() iter.Seq2[authz.Revoke, error] { return r.account.AccountRevokes(ctx, a.Org.ID, q) })
}

// revokesAt is grantsAt of revokes.
func revokesAt(ctx context.Context, to applications.Asked, q provider.RevokeQuery, p Page) ([]authz.Revoke, error) {
	q.Paging = provider.Paging{After: p.After, Limit: p.Limit + 1}
	rows, err := ordered(to.Relay.ListRevokes(ctx, q), to.ID, p, byID(func(v authz.Revoke) string { return v.ID }))
	return matching(rows, err, to.ID, func(v authz.Revoke) bool { return revokeMatches(v, q) })
}

func revokeMatches(v authz.Revoke, q provider.RevokeQuery) bool {
	return (q.UserID == nil || v.UserID == *q.UserID) && (q.Scope == nil || v.Scope == *q.Scope)
}

// MayCreateRevoke is the gate of CreateRevoke.
func (r *Root) MayCreateRevoke(ctx context.Context, a *service.Access, in provider.RevokeInput) error {
	return r.may(ctx, a, keyRevokes, false, func() (Home, error) { return r.home(ctx, a.Org.ID, in.Scope, in.Pattern, "") },
		func() error { return r.account.MayCreateAccountRevoke(ctx, a, in) })
}

// CreateRevoke writes a revoke where it belongs; it judges the gate itself.
func (r *Root) CreateRevoke(ctx context.Context, a *service.Access, in provider.RevokeInput) (revoke authz.Revoke, h Home, err error) {
	h, err = r.gated(ctx, a, keyRevokes, false, func() (Home, error) { return r.home(ctx, a.Org.ID, in.Scope, in.Pattern, "") })
	if err == nil {
		err = r.BareUser(ctx, a.Org.ID, "userId", in.UserID)
	}
	if err != nil {
		return revoke, h, err
	}
	if h == inAccount {
		revoke, err = r.account.CreateAccountRevoke(ctx, a, in)
		return revoke, h, err
	}
	err = r.at(ctx, a.Org.ID, h, func(to applications.Asked) (err error) {
		revoke, err = to.Relay.CreateRevoke(ctx, in, a.Caller.Provenance())
		return err
	})
	return revoke, h, err
}

// DeleteRevoke removes a revoke, as DeleteGrant does.
func (r *Root) DeleteRevoke(ctx context.Context, a *service.Access, id, application string) error {
	h, err := r.gated(ctx, a, keyRevokes, true, func() (Home, error) {
		return rowHome(application, func() (bool, error) {
			_, found, err := r.account.AccountRevoke(ctx, a.Org.ID, id)
			return found, err
		})
	})
	if err != nil {
		return err
	}
	if h == inAccount {
		return r.account.DeleteAccountRevoke(ctx, a, id)
	}
	return r.at(ctx, a.Org.ID, h, func(to applications.Asked) error {
		if h.Kind == "application" {
			return r.deleteInstanceRevoke(ctx, a, to, id)
		}
		if err := r.mayUnrevoke(ctx, a, to, id); err != nil {
			return err
		}
		return to.Relay.DeleteRevoke(ctx, id, a.Caller.Provenance())
	})
}
