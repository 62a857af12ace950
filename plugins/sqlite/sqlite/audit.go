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
			q, by := s.auditEntries(f), inLog(f)
			switch {
			case after.at:
				q.and(`(`+by.at+`, `+by.id+`) >= (?, ?)`, after.At, after.ID)
			case after.At != math.MinInt64:
				q.and(`(`+by.at+`, `+by.id+`) > (?, ?)`, after.At, after.ID)
			}
			q.page(by.at+`, `+by.id, limit)
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
		q.page(inLog(f).backwards(), limit)
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
	by := inLog(f)
	q := s.auditMatching(by.at+`, `+by.id, f)
	q.page(by.backwards(), 1)
	q.text.WriteString(" OFFSET ?")
	q.args = append(q.args, n-1)
	err = s.db.read(ctx, func(w *work) (err error) {
		start.at, err = w.one(q.text.String(), q.args, &start.At, &start.ID)
		return err
	})
	return start, err
}

// logOrder is where the place of an entry stands.
type logOrder struct{ at, id string }

func inLog(f storage.AuditFilter) logOrder {
	if f.Subject != nil {
		return logOrder{`s."at"`, `s."id"`}
	}
	return logOrder{`"at"`, `"id"`}
}

func (o logOrder) backwards() string { return o.at + " DESC, " + o.id + " DESC" }

// auditEntries selects entries, without the details that the filter leaves out.
func (s *store) auditEntries(f storage.AuditFilter) *query {
	prefix := ""
	if f.Subject != nil {
		prefix = "t."
	}
	if f.DetailLimit == nil {
		return s.auditMatching(relational.Shortened(prefix, ""), f)
	}
	q := s.auditMatching(relational.Shortened(prefix, "?"), f)
	q.args = slices.Insert(q.args, 0, any(*f.DetailLimit))
	return q
}

// aboutSubject finds entries by their subjects, in the order of the log: SQLite does not
// turn a CROSS JOIN round.
const aboutSubject = ` FROM "AuthzAuditSubject" AS s CROSS JOIN "AuthzAudit" AS t WHERE s."app" = ? AND "subject" = ? AND t."app" = ? AND t."id" = s."id"`

func (s *store) auditMatching(columns string, f storage.AuditFilter) *query {
	var q *query
	if f.Subject != nil {
		q = &query{args: []any{s.app, *f.Subject, s.app}}
		q.text.WriteString("SELECT " + columns + aboutSubject)
	} else {
		q = s.selecting(columns, relational.AuditTable, indexOf(candidate{f.Target != nil, "target"}, candidate{f.Actor != nil, "actor"}, candidate{true, "at_id"}))
	}
	equal(q, "target", f.Target)
	equal(q, "actor", f.Actor)
	equal(q, "action", f.Action)
	at := inLog(f).at
	if f.From != nil {
		q.and(at+` >= ?`, *f.From)
	}
	if f.To != nil {
		q.and(at+` < ?`, *f.To)
	}
	return q
}

// putSubjects keeps what an entry is found by.
const putSubjects = `INSERT INTO "AuthzAuditSubject" ("app", "subject", "at", "id") SELECT ?1, j.value, ?2, ?3 FROM json_each(?4) AS j WHERE true
	ON CONFLICT ("app", "subject", "at", "id") DO NOTHING`

func indexSubjects(w *work, app string, e authz.AuditEntry) error {
	subjects := e.Subjects()
	if len(subjects) == 0 {
		return nil
	}
	list, err := listOf(subjects)
	if err == nil {
		_, err = w.exec(putSubjects, app, e.At, e.ID, list)
	}
	return err
}

// entriesAbove are those of all partitions above a place in the order of the key.
var entriesAbove = `SELECT "app", ` + relational.Shortened("", "") + ` FROM "AuthzAudit" WHERE ("app", "id") > (?, ?) ORDER BY "app", "id"`

// fillSubjects gives the table of subjects those of the entries there are, in pieces of a
// chunk.
func fillSubjects(w *work) error {
	type row struct {
		app   string
		entry authz.AuditEntry
	}
	for last := (row{}); ; {
		var piece []row
		size := 0
		err := w.each(entriesAbove, []any{last.app, last.entry.ID}, func(columns relational.Scan) (enough bool, err error) {
			var r row
			r.entry, err = audit.Scan(func(dest ...any) error { return columns(slices.Insert(dest, 0, any(&r.app))...) })
			piece = append(piece, r)
			size += len(r.entry.Detail)
			return len(piece) == chunkRows || size >= chunkBytes, err
		})
		if err != nil || len(piece) == 0 {
			return err
		}
		for _, r := range piece {
			if err := indexSubjects(w, r.app, r.entry); err != nil {
				return err
			}
		}
		last = piece[len(piece)-1]
	}
}
