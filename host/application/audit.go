package application

import (
	"context"
	"iter"

	"github.com/authzhost/authz/internal/spell"
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
	s.instant("detailLimit", q.DetailLimit)
	a.auditSubject(&s, q.Subject)
	if q.Cursor != nil {
		s.instant("cursor.at", &q.Cursor.At)
		s.text("cursor.id", q.Cursor.ID, maxID)
	}
	entries := listed(a, "listAuditEvents", s.err, func() iter.Seq2[authz.AuditEntry, error] {
		return a.store.ListAudit(ctx, storage.AuditFilter(q))
	})
	if q.DetailLimit == nil {
		return entries
	}
	return func(yield func(authz.AuditEntry, error) bool) {
		for e, err := range entries {
			e.Shorten(q.DetailLimit) // which the driver may not have done
			if !yield(e, err) {
				return
			}
		}
	}
}

// auditSubject judges whom the entries are to be about. The longest id of a user has its
// kind before it.
func (a *Application) auditSubject(s *shape, subject *string) {
	if subject == nil {
		return
	}
	s.text("subject", *subject, maxID+len(authz.SubjectOf(authz.SubjectService, "")))
	if _, _, ok := authz.ParseSubject(*subject); !ok && s.err == nil {
		s.err = authz.Validation("subject: %s is no subject: write it as grants do, such as user:u_17", spell.Quote(*subject))
	}
	if s.err == nil && !a.caps.Has(storage.CapAuditSubjects) {
		s.err = authz.Rejected(authz.CodeUnsupported, "audit entries are found by subject where the storage driver has the capability %q", storage.CapAuditSubjects)
	}
}

// newestAudit is the last entry in log order, nil in an empty log. It is read for
// every append and never remembered: other hosts append too.
func (a *Application) newestAudit(ctx context.Context) (*authz.AuditEntry, error) {
	one := int64(1)
	for entry, err := range a.store.ListAudit(ctx, storage.AuditFilter{Limit: &one}) {
		if err != nil {
			return nil, err
		}
		return &entry, nil
	}
	return nil, nil
}

// VerifyAuditChain checks the whole log, or with a priorHash what follows the
// entry of that hash; the report counts from there. CodeNotFound: no entry has
// it, because the log was cut off before it or written anew.
func (a *Application) VerifyAuditChain(ctx context.Context, priorHash string) (authz.HashChainReport, error) {
	log, reached := a.ListAuditEvents(ctx, provider.AuditQuery{}), priorHash == ""
	report, err := authz.VerifyHashChain(func(yield func(authz.AuditEntry, error) bool) {
		for entry, err := range log {
			switch {
			case err == nil && !reached:
				reached = entry.Hash == priorHash
			case !yield(entry, err):
				return
			}
		}
	}, priorHash)
	if err == nil && !reached {
		return authz.HashChainReport{}, authz.Rejected(authz.CodeNotFound, "no audit entry has the hash %s", spell.Quote(priorHash))
	}
	return report, err
}
