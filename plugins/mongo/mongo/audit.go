package mongo

import (
	"context"
	"iter"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

var (
	inLogOrder = bson.D{eq("at", 1), eq("id", 1)}
	newestLast = bson.D{eq("at", -1), eq("id", -1)}
)

func (s *store) ListAudit(ctx context.Context, f storage.AuditFilter) iter.Seq2[authz.AuditEntry, error] {
	if f.Limit != nil && *f.Limit <= 0 {
		return empty[authz.AuditEntry](ctx, s, storage.Page{}, f)
	}
	limit := 0
	if f.Limit != nil {
		limit = int(*f.Limit)
	}
	if f.Subject != nil {
		return func(yield func(authz.AuditEntry, error) bool) {
			err := s.usable(ctx, f)
			if err == nil {
				err = failed(s.indexSubjects(ctx))
			}
			if err != nil {
				yield(authz.AuditEntry{}, err)
				return
			}
			s.listAudit(ctx, f, limit)(yield)
		}
	}
	return s.listAudit(ctx, f, limit)
}

func (s *store) listAudit(ctx context.Context, f storage.AuditFilter, limit int) iter.Seq2[authz.AuditEntry, error] {
	in := s.partition.in(layout.Audit)
	q := query[*authz.AuditCursor, authz.AuditEntry]{
		in: in, sort: inLogOrder, from: audit.from,
		key: func(e authz.AuditEntry) *authz.AuditCursor {
			at := e.Cursor()
			return &at
		},
		after: func(last *authz.AuditCursor) layout.Filter { return in.Where(auditMembers(f, last, "$gt")...) },
	}
	if limit == 0 || f.Cursor != nil {
		return stream(ctx, s, []any{f}, f.Cursor, limit, q)
	}
	return s.newestAudit(ctx, f, limit, q)
}

// unindexed are entries that a driver wrote which knew no subjects.
var unindexed = eq("subjects", bson.D{eq("$exists", false)})

// indexSubjects gives such entries their subjects, one after the other: what was done is
// kept when the call ends. A host of an older version may write more as long as it runs.
func (s *store) indexSubjects(ctx context.Context) error {
	in := s.partition.in(layout.Audit)
	if err := in.Ready(ctx); err != nil {
		return err
	}
	for {
		rows, _, err := in.Find(ctx, in.Where(unindexed), layout.Page{Limit: chunkRows, Bytes: chunkBytes})
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			e, err := audit.from(row)
			if err != nil {
				return err
			}
			subjects := fitting(e.Subjects(), maxDocument-row.Size())
			if _, err := in.Update(ctx, in.Key(e.ID), bson.D{eq("$set", bson.D{eq("subjects", subjects)})}); err != nil {
				return err
			}
		}
	}
}

// fitting are the first subjects for which a document has room.
func fitting(subjects []string, room int) []string {
	for i, subject := range subjects {
		if room -= len(subject) + 16; room < 0 { // its place in the list, and what BSON puts around it
			return subjects[:i]
		}
	}
	return nonNil(subjects)
}

// newestAudit lists the last entries, ascending. A few are read at once; for many
// the first of them is found, and the list begins there.
func (s *store) newestAudit(ctx context.Context, f storage.AuditFilter, limit int, q query[*authz.AuditCursor, authz.AuditEntry]) iter.Seq2[authz.AuditEntry, error] {
	return func(yield func(authz.AuditEntry, error) bool) {
		if err := s.usable(ctx, f); err != nil {
			yield(authz.AuditEntry{}, err)
			return
		}
		page := layout.Page{Sort: newestLast, Limit: int64(limit)}
		if limit > firstRows {
			page = layout.Page{Sort: newestLast, Skip: int64(limit) - 1, Limit: 1, Only: []string{"at", "id"}}
		}
		var newest []authz.AuditEntry
		err := s.read(ctx, func(ctx context.Context) error {
			rows, _, err := q.in.Find(ctx, q.in.Where(auditMembers(f, nil, "")...), page)
			newest = make([]authz.AuditEntry, len(rows))
			for i := range rows {
				if err == nil {
					newest[i], err = audit.from(rows[i])
				}
			}
			return err
		})
		if err != nil {
			yield(authz.AuditEntry{}, err)
			return
		}
		if limit <= firstRows {
			slices.Reverse(newest)
			for _, entry := range newest {
				if !yield(entry, nil) {
					return
				}
			}
			return
		}
		var start *authz.AuditCursor
		if len(newest) > 0 {
			at := newest[0].Cursor()
			start = &at
		}
		from := q.after
		q.after = func(last *authz.AuditCursor) layout.Filter {
			if last == start && start != nil { // the first one belongs to the list
				return q.in.Where(auditMembers(f, last, "$gte")...)
			}
			return from(last)
		}
		stream(ctx, s, []any{f}, start, limit, q)(yield)
	}
}

// auditMembers is the filter, for entries after a position when there is one.
func auditMembers(f storage.AuditFilter, after *authz.AuditCursor, operator string) []bson.E {
	var members []bson.E
	for _, m := range []struct {
		name  string
		value *string
	}{{"target", f.Target}, {"actor", f.Actor}, {"action", f.Action}, {"subjects", f.Subject}} {
		if m.value != nil {
			members = append(members, eq(m.name, *m.value))
		}
	}
	var at bson.D
	if f.From != nil {
		at = append(at, eq("$gte", *f.From))
	}
	if f.To != nil {
		at = append(at, eq("$lt", *f.To))
	}
	if at != nil {
		members = append(members, eq("at", at))
	}
	if after != nil {
		members = append(members, eq("$or", bson.A{
			bson.D{eq("at", bson.D{eq("$gt", after.At)})},
			bson.D{eq("at", after.At), eq("id", bson.D{eq(operator, after.ID)})}}))
	}
	return members
}
