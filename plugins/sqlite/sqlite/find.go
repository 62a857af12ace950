package sqlite

import (
	"context"
	"iter"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// findIndexes are read where a search is for no one subject, scope or actor: each chunk goes
// on in the index of the order, and reads no row twice.
var findIndexes = map[authz.GrantOrder]string{authz.GrantsNewest: "createdAt_id", authz.GrantsExpiring: "expiresAt_id"}

func (s *store) FindGrants(ctx context.Context, q authz.GrantSearch, p storage.FoundPage) iter.Seq2[authz.Grant, error] {
	if err := storage.CheckGrantOrder(q.Order); err != nil {
		return refused[authz.Grant](err)
	}
	index := indexOf(candidate{q.Subject != nil, "subject"}, candidate{q.Scope != nil && *q.Scope != authz.Global, "scope"}, candidate{q.Actor != nil, "givenBy_id"},
		candidate{q.Instances && q.Order == authz.GrantsByID, "instance"}, candidate{q.Instances && q.Order == authz.GrantsNewest, "instanceAt_id"}, candidate{true, findIndexes[q.Order]})
	return stream(ctx, s, list[authz.GrantPlace, authz.Grant]{
		arguments: []any{q, p}, after: p.After, limit: p.Limit, scan: grants.Scan, key: func(g authz.Grant) authz.GrantPlace { return q.Order.Place(&g) },
		chunk: func(after authz.GrantPlace, limit int) *query {
			text := s.selecting(grants.columns, relational.GrantTable, index)
			for _, c := range relational.GrantConditions(q) {
				text.and(c.Text, c.Args...)
			}
			order, above := relational.GrantOrder(q, after)
			if after.ID != "" {
				text.and(above.Text, above.Args...)
			}
			text.page(order, limit)
			return text
		},
	})
}
