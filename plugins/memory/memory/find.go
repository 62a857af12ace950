package memory

import (
	"context"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func (s *store) FindGrants(ctx context.Context, q authz.GrantSearch, p storage.FoundPage) iter.Seq2[authz.Grant, error] {
	if err := storage.CheckGrantOrder(q.Order); err != nil {
		return refused[authz.Grant](err)
	}
	read := func(st *state, after authz.GrantPlace, n int) (rows []*authz.Grant) {
		for g := range st.grants.inOrder(q, after) {
			if q.Selects(g) {
				if rows = append(rows, g); len(rows) == n {
					break
				}
			}
		}
		return rows
	}
	return stream(ctx, s, []any{q, p}, p.After, p.Limit, read, func(g *authz.Grant) authz.GrantPlace { return q.Order.Place(g) }, copyGrant)
}

// inOrder yields grants after a place, in the order of a search, among them all that it
// selects.
func (r *grantRows) inOrder(q authz.GrantSearch, after authz.GrantPlace) iter.Seq[*authz.Grant] {
	switch probe := (&authz.Grant{ID: after.ID}); q.Order {
	case authz.GrantsNewest:
		if after.ID == "" {
			return r.newest.all()
		}
		probe.CreatedAt = after.At
		return r.newest.after(probe)
	case authz.GrantsExpiring:
		if after.ID == "" {
			return r.expiring.all()
		}
		probe.ExpiresAt = authz.ExpiresAt(after.At)
		return r.expiring.after(probe)
	default:
		return r.candidates(storage.GrantFilter{Subject: q.Subject, Scope: q.Scope, RoleID: q.RoleID}, after.ID)
	}
}
