package postgres

import (
	"context"
	"iter"
	"math"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// ListAudit walks the log in its order. The last entries that match are found by
// the position they begin at, then read forwards like any others.
func (s *store) ListAudit(ctx context.Context, f storage.AuditFilter) iter.Seq2[authz.AuditEntry, error] {
	if err := storage.CheckValue(f); err != nil {
		return refused[authz.AuditEntry](err)
	}
	if f.Subject != nil && !s.driver.has(storage.CapAuditSubjects) {
		return refused[authz.AuditEntry](storage.Unsupported(storage.CapAuditSubjects))
	}
	limit := 0
	if f.Limit != nil {
		if limit = int(min(*f.Limit, math.MaxInt32)); limit <= 0 {
			return nothing[authz.AuditEntry](ctx, s)
		}
	}
	if limit == 0 || f.Cursor != nil {
		after := authz.AuditCursor{At: math.MinInt64}
		if f.Cursor != nil {
			after = *f.Cursor
		}
		return s.auditAfter(ctx, f, after, limit, ">")
	}
	return func(yield func(authz.AuditEntry, error) bool) {
		if err := s.usable(ctx); err != nil {
			yield(authz.AuditEntry{}, err)
			return
		}
		w, in := auditConditions(f), logOf(f)
		w.then(`order by `+in.at+` desc, `+in.id+` desc limit ?`, limit)
		positions := `select p."at", p."id" from (select ` + in.at + `, ` + in.id + in.from + w.String() + `) p order by p."at", p."id" limit 1`
		first, err := several(ctx, s, false, func(scan relational.Scan) (c authz.AuditCursor, err error) {
			return c, scan(&c.At, &c.ID)
		}, positions, w.args...)
		if err != nil {
			yield(authz.AuditEntry{}, err)
			return
		}
		if len(first.rows) == 0 {
			return
		}
		for entry, err := range s.auditAfter(ctx, f, first.rows[0], limit, ">=") {
			if !yield(entry, err) {
				return
			}
		}
	}
}

// auditAfter lists forwards from a position; from says whether it is included in
// the first chunk.
func (s *store) auditAfter(ctx context.Context, f storage.AuditFilter, after authz.AuditCursor, limit int, from string) iter.Seq2[authz.AuditEntry, error] {
	comparison := from
	return stream(ctx, s, nil, listing[authz.AuditEntry, authz.AuditCursor]{limit: limit, after: after, first: firstChunk,
		key: func(e authz.AuditEntry) authz.AuditCursor {
			comparison = ">"
			return e.Cursor()
		},
		fetch: func(ctx context.Context, after authz.AuditCursor, n int) (chunk[authz.AuditEntry], error) {
			w, in := auditConditions(f), logOf(f)
			w.and(`(`+in.at+`, `+in.id+`) `+comparison+` (?, ?)`, after.At, after.ID)
			w.then(`order by `+in.at+`, `+in.id+` limit ?`, n)
			limit := ""
			if f.DetailLimit != nil {
				limit = w.parameter(*f.DetailLimit) + "::bigint"
			}
			return several(ctx, s, true, relational.Audit.Scan, "select "+relational.Shortened("t.", limit)+in.from+w.String(), w.args...)
		}})
}

// searched is where entries are looked for, and the columns of their places there.
type searched struct{ from, at, id string }

func logOf(f storage.AuditFilter) searched {
	if f.Subject != nil {
		// OFFSET keeps the planner from reading the whole log to join it.
		return searched{` from "AuthzAuditSubject" s cross join lateral (select * from "AuthzAudit" a where a."app" = s."app" and a."id" = s."id" offset 0) t`, `s."at"`, `s."id"`}
	}
	return searched{` from "AuthzAudit" t`, `t."at"`, `t."id"`}
}

func auditConditions(f storage.AuditFilter) *where {
	w, at := &where{}, logOf(f).at
	if f.Subject != nil {
		w.text.WriteString(` where s."app" = $1`)
		w.and(`s."subject" = ?`, *f.Subject)
	} else {
		w.text.WriteString(` where t."app" = $1`)
	}
	equals(w, "target", f.Target)
	equals(w, "actor", f.Actor)
	equals(w, "action", f.Action)
	if f.From != nil {
		w.and(at+` >= ?`, *f.From)
	}
	if f.To != nil {
		w.and(at+` < ?`, *f.To)
	}
	return w
}

// nothing is an empty list.
func nothing[T any](ctx context.Context, s *store) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err := s.usable(ctx); err != nil {
			var none T
			yield(none, err)
		}
	}
}
