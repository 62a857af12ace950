package sqlite

import (
	"context"
	"iter"
	"slices"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func (s *store) GetGrant(ctx context.Context, id string) (authz.Grant, bool, error) {
	return get(ctx, s, grants, id)
}

func (s *store) ListGrants(ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
	if selectsNothing(f) {
		return empty[authz.Grant](ctx, s, p.Limit, f, p)
	}
	subjects, err := subjectList(f)
	if err != nil {
		return refused[authz.Grant](err)
	}
	return stream(ctx, s, list[string, authz.Grant]{
		arguments: []any{f, p}, after: p.After, limit: p.Limit, scan: grants.Scan, key: func(g authz.Grant) string { return g.ID },
		chunk: func(after string, limit int) *query {
			if subjects == "" {
				q := s.grantsMatching(grants.columns, f, subjects)
				q.and(`"id" > ?`, after)
				q.page(`"id"`, limit)
				return q
			}
			// The ids come from the index alone; only the rows of this chunk are read.
			ids := s.grantsMatching(`"id"`, f, subjects)
			ids.and(`"id" > ?`, after)
			ids.page(`"id"`, limit)
			q := s.selecting(grants.columns, relational.GrantTable, "")
			q.and(`"id" IN (`+ids.text.String()+`)`, ids.args...)
			q.page(`"id"`, limit)
			return q
		},
	})
}

func (s *store) CountGrants(ctx context.Context, f storage.GrantFilter) (n int64, err error) {
	if err := s.usable(ctx, f); err != nil || selectsNothing(f) {
		return 0, err
	}
	subjects, err := subjectList(f)
	if err != nil {
		return 0, err
	}
	q := s.grantsMatching("count(*)", f, subjects)
	err = s.db.read(ctx, func(w *work) error {
		_, err := w.one(q.text.String(), q.args, &n)
		return err
	})
	return n, err
}

// selectsNothing recognises filters that no row can match.
func selectsNothing(f storage.GrantFilter) bool {
	switch {
	case f.RoleID != nil && *f.RoleID == "": // never the grants without a role
		return true
	case f.Subjects == nil:
		return false
	case f.Subject != nil:
		return !slices.Contains(f.Subjects, *f.Subject)
	}
	return len(f.Subjects) == 0
}

// subjectList is the list that a filter still needs, "" for none.
func subjectList(f storage.GrantFilter) (string, error) {
	if f.Subjects == nil || f.Subject != nil {
		return "", nil
	}
	return listOf(f.Subjects)
}

const inSubjects = `"subject" IN (SELECT j.value FROM json_each(?) AS j)`

// grantsMatching selects by one index, that of the member which names the fewest
// rows, and compares the others.
func (s *store) grantsMatching(columns string, f storage.GrantFilter, subjects string) *query {
	q := s.selecting(columns, relational.GrantTable, indexOf(
		candidate{f.Subject != nil || subjects != "", "subject"}, candidate{f.RoleID != nil, "roleId"}, candidate{f.Scope != nil, "scope"}))
	equal(q, "subject", f.Subject)
	if subjects != "" {
		q.and(inSubjects, subjects)
	}
	equal(q, "roleId", f.RoleID)
	equal(q, "scope", f.Scope)
	return q
}
