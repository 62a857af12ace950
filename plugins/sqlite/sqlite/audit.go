package sqlite

import (
	"context"
	"iter"
	"math"
	"slices"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// newestAtOnce is up to how many of the newest entries are read backwards into
// memory. For more the place is found from where to read forwards.
const newestAtOnce = 64

// place is where a chunk of the log begins: after a position or at it.
type place struct {
	authz.AuditCursor
	at bool
}

func (s *store) ListAudit(ctx context.Context, f storage.AuditFilter) iter.Seq2[authz.AuditEntry, error] {
	limit := 0
	if f.Limit != nil {
		if *f.Limit <= 0 {
			return empty[authz.AuditEntry](ctx, s, 0, f)
		}
		limit = int(min(*f.Limit, math.MaxInt32))
	}
	switch {
	case f.Cursor != nil:
		return s.auditFrom(ctx, f, place{AuditCursor: *f.Cursor}, limit)
	case limit == 0:
		return s.auditFrom(ctx, f, place{AuditCursor: authz.AuditCursor{At: math.MinInt64}}, 0)
	case limit <= newestAtOnce:
		return s.newestAudit(ctx, f, limit)
	}
	return func(yield func(authz.AuditEntry, error) bool) {
		start, err := s.auditStart(ctx, f, limit)
		if err != nil {
			yield(authz.AuditEntry{}, err)
			return
		}
		s.auditFrom(ctx, f, start, limit)(yield)
	}
}

// auditFrom reads forwards.
func (s *store) auditFrom(ctx context.Context, f storage.AuditFilter, start place, limit int) iter.Seq2[authz.AuditEntry, error] {
	return stream(ctx, s, list[place, authz.AuditEntry]{
		arguments: []any{f}, after: start, limit: limit, scan: audit.Scan,
		key: func(e authz.AuditEntry) place { return place{AuditCursor: e.Cursor()} },
		chunk: func(after place, limit int) *query {
			q := s.auditEntries(f)
			switch {
			case after.at:
				q.and(`("at", "id") >= (?, ?)`, after.At, after.ID)
			case after.At != math.MinInt64:
				q.and(`("at", "id") > (?, ?)`, after.At, after.ID)
			}
			q.page(`"at", "id"`, limit)
			return q
		},
	})
}

// newestAudit yields the last matches, ascending.
func (s *store) newestAudit(ctx context.Context, f storage.AuditFilter, limit int) iter.Seq2[authz.AuditEntry, error] {
	return func(yield func(authz.AuditEntry, error) bool) {
		if err := s.usable(ctx, f); err != nil {
			yield(authz.AuditEntry{}, err)
			return
		}
		var rows []authz.AuditEntry
		q := s.auditEntries(f)
		q.page(`"at" DESC, "id" DESC`, limit)
		err := s.db.read(ctx, func(w *work) (err error) {
			rows, err = rowsOf(w, audit.Scan, q.text.String(), q.args...)
			return err
		})
		if err != nil {
			yield(authz.AuditEntry{}, err)
			return
		}
		slices.Reverse(rows)
		deliver(ctx, s, rows, yield)
	}
}

// auditStart is the place of the first of the last n matches.
func (s *store) auditStart(ctx context.Context, f storage.AuditFilter, n int) (start place, err error) {
	if err := s.usable(ctx, f); err != nil {
		return place{}, err
	}
	start = place{AuditCursor: authz.AuditCursor{At: math.MinInt64}}
	q := s.auditMatching(`"at", "id"`, f)
	q.page(`"at" DESC, "id" DESC`, 1)
	q.text.WriteString(" OFFSET ?")
	q.args = append(q.args, n-1)
	err = s.db.read(ctx, func(w *work) (err error) {
		start.at, err = w.one(q.text.String(), q.args, &start.At, &start.ID)
		return err
	})
	return start, err
}

// auditEntries selects entries, without the details that the filter leaves out.
func (s *store) auditEntries(f storage.AuditFilter) *query {
	if f.DetailLimit == nil {
		return s.auditMatching(relational.Shortened("", ""), f)
	}
	q := s.auditMatching(relational.Shortened("", "?"), f)
	q.args = slices.Insert(q.args, 0, any(*f.DetailLimit))
	return q
}

func (s *store) auditMatching(columns string, f storage.AuditFilter) *query {
	q := s.selecting(columns, relational.AuditTable, indexOf(candidate{f.Target != nil, "target"}, candidate{f.Actor != nil, "actor"}, candidate{true, "at_id"}))
	equal(q, "target", f.Target)
	equal(q, "actor", f.Actor)
	equal(q, "action", f.Action)
	if f.From != nil {
		q.and(`"at" >= ?`, *f.From)
	}
	if f.To != nil {
		q.and(`"at" < ?`, *f.To)
	}
	return q
}
