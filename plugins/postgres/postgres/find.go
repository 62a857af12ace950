package postgres

import (
	"context"
	"iter"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func (s *store) FindGrants(ctx context.Context, q authz.GrantSearch, p storage.FoundPage) iter.Seq2[authz.Grant, error] {
	check := s.able(ctx, storage.CapLookups, q, p)
	if check == nil {
		check = storage.CheckGrantOrder(q.Order)
	}
	return stream(ctx, s, check, listing[authz.Grant, authz.GrantPlace]{
		limit: p.Limit, after: p.After, first: chunkRows, key: func(g authz.Grant) authz.GrantPlace { return q.Order.Place(&g) },
		fetch: func(ctx context.Context, after authz.GrantPlace, n int) (chunk[authz.Grant], error) {
			w := foundBy(q)
			order, above := relational.GrantOrder(q, after)
			if after.ID != "" {
				w.and(above.Text, above.Args...)
			}
			w.then("order by "+order+" limit ?", n)
			return several(ctx, s, true, relational.Grants.Scan, selectGrants+w.String(), w.args...)
		}})
}

func foundBy(q authz.GrantSearch) *where {
	w := inPartition()
	for _, c := range relational.GrantConditions(q) {
		w.and(c.Text, c.Args...)
	}
	return w
}
