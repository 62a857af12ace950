package memory

import (
	"context"
	"iter"
	"math"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// ListAudit walks the log in its order. Entries that the filter leaves out are
// read past; that holds up nobody.
func (s *store) ListAudit(ctx context.Context, f storage.AuditFilter) iter.Seq2[authz.AuditEntry, error] {
	limit := 0
	if f.Limit != nil {
		limit = int(min(*f.Limit, math.MaxInt32))
		if limit <= 0 {
			read := func(*state, authz.AuditCursor, int) []*authz.AuditEntry { return nil }
			return stream(ctx, s, []any{f}, authz.AuditCursor{}, 0, read, position, copyAudit)
		}
		if f.Cursor == nil {
			return s.newestAudit(ctx, f, limit)
		}
	}
	start := auditStart(f)
	if f.Cursor != nil && start.Before(*f.Cursor) {
		start = *f.Cursor
	}
	read := func(st *state, after authz.AuditCursor, n int) []*authz.AuditEntry {
		entries := while(st.audit.byPosition.after(&authz.AuditEntry{At: after.At, ID: after.ID}),
			func(e *authz.AuditEntry) bool { return f.To == nil || e.At < *f.To })
		return take(entries, n, auditMatch(f))
	}
	return stream(ctx, s, []any{f}, start, limit, read, position, copyAudit)
}

// newestAudit yields the last matches, ascending.
func (s *store) newestAudit(ctx context.Context, f storage.AuditFilter, limit int) iter.Seq2[authz.AuditEntry, error] {
	return func(yield func(authz.AuditEntry, error) bool) {
		if err := s.usable(ctx, f); err != nil {
			yield(authz.AuditEntry{}, err)
			return
		}
		end := &authz.AuditEntry{At: math.MaxInt64}
		if f.To != nil {
			end.At = *f.To
		}
		start := auditStart(f)
		entries := while(s.now().audit.byPosition.before(end), func(e *authz.AuditEntry) bool { return start.Before(e.Cursor()) })
		rows := take(entries, limit, auditMatch(f))
		slices.Reverse(rows)
		deliver(ctx, s, rows, copyAudit, yield)
	}
}

// auditStart is the position just before the first entry that From selects.
func auditStart(f storage.AuditFilter) authz.AuditCursor {
	if f.From == nil {
		return authz.AuditCursor{At: math.MinInt64}
	}
	return authz.AuditCursor{At: *f.From}
}

func auditMatch(f storage.AuditFilter) func(*authz.AuditEntry) bool {
	return func(e *authz.AuditEntry) bool {
		return selects(f.Target, e.Target) && selects(f.Actor, e.Actor) && selects(f.Action, e.Action) &&
			(f.Subject == nil || e.IsAbout(*f.Subject))
	}
}

func position(e *authz.AuditEntry) authz.AuditCursor { return e.Cursor() }
