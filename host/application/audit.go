package application

import (
	"context"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// ListAuditEvents lists ascending by (at, id): without a cursor the last Limit
// matches, with one the first Limit after it.
func (a *Application) ListAuditEvents(ctx context.Context, q provider.AuditQuery) iter.Seq2[authz.AuditEntry, error] {
	var s shape
	s.filter("target", q.Target)
	s.filter("actor", q.Actor)
	s.filter("action", q.Action)
	s.instant("from", q.From)
	s.instant("to", q.To)
	s.instant("limit", q.Limit)
	if q.Cursor != nil {
		s.instant("cursor.at", &q.Cursor.At)
		s.text("cursor.id", q.Cursor.ID, maxID)
	}
	return listed(a, "listAuditEvents", s.err, func() iter.Seq2[authz.AuditEntry, error] {
		return a.store.ListAudit(ctx, storage.AuditFilter(q))
	})
}
