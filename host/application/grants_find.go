package application

import (
	"context"
	"iter"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// FindGrants lists the grants that a search selects, in its order.
func (a *Application) FindGrants(ctx context.Context, q provider.GrantsQuery) iter.Seq2[authz.Grant, error] {
	s := shapeOfSearch(q)
	return listed(a, "findGrants", s.err, func() iter.Seq2[authz.Grant, error] {
		after, _ := q.Order.Parse(q.After)
		return a.store.FindGrants(ctx, q.GrantSearch, storage.FoundPage{After: after, Limit: q.Limit})
	})
}

func shapeOfSearch(q provider.GrantsQuery) (s shape) {
	s.filter("subject", q.Subject)
	s.filter("scope", q.Scope)
	s.filter("roleId", q.RoleID)
	s.filter("pattern", q.Pattern)
	s.filter("actor", q.Actor)
	s.instant("expiresFrom", q.ExpiresFrom)
	s.instant("expiresTo", q.ExpiresTo)
	s.instant("createdFrom", q.CreatedFrom)
	s.instant("createdTo", q.CreatedTo)
	if s.err == nil && !q.Order.Known() {
		s.err = authz.Validation("order must be %s or %s, or absent for the order by id, not %s",
			spell.Quote(string(authz.GrantsNewest)), spell.Quote(string(authz.GrantsExpiring)), spell.Quote(string(q.Order)))
	}
	s.page(q.Paging)
	if _, place := q.Order.Parse(q.After); s.err == nil && !place {
		s.err = authz.Validation("after must be an instant, a colon and an id in the order %s, not %s", spell.Quote(string(q.Order)), spell.Quote(q.After))
	}
	return s
}
