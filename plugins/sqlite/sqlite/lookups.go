package sqlite

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// A chunk of a lookup goes through the ids of a list, in their order, and for each of
// them through an index, in its order: CROSS JOIN keeps the two from changing places.
// So a chunk reads no row beyond its last. Sorting would read all rows of all ids.
var (
	edgesTo = func() map[storage.EdgeKind]string {
		texts := map[storage.EdgeKind]string{}
		for kind, e := range relational.EdgeSources {
			table := quote(e.Table) + " AS e"
			if e.Table != relational.ScopeEdgeTable && e.Table != relational.UserOrgTable { // whose key serves
				table += " INDEXED BY " + quote(e.Table+"_"+e.Of+"_"+e.From)
			}
			sole := "0"
			if kind == storage.EdgeParent {
				sole = fmt.Sprintf(`NOT EXISTS (SELECT 1 FROM %[1]s AS o WHERE o."app" = ?1 AND o.%[2]q = e.%[2]q AND o.%[3]q <> e.%[3]q)`, quote(e.Table), e.From, e.Of)
			}
			texts[kind] = fmt.Sprintf(`SELECT e."%s", e."%s", `+sole+` FROM json_each(?2) AS j CROSS JOIN %s
				WHERE j.value >= ?3 AND e."app" = ?1 AND e."%s" = j.value AND e."%s" > CASE WHEN j.value = ?3 THEN ?4 ELSE '' END LIMIT ?5`, e.Of, e.From, table, e.Of, e.From)
		}
		return texts
	}()

	grantsAt = `SELECT g."` + strings.Join(grants.Columns, `", g."`) + `" FROM json_each(?2) AS j CROSS JOIN "AuthzGrant" AS g INDEXED BY "AuthzGrant_scope_subject_id"
		WHERE j.value >= ?3 AND g."app" = ?1 AND g."scope" = j.value AND (g."subject", g."id") > (CASE WHEN j.value = ?3 THEN ?4 ELSE '' END, CASE WHEN j.value = ?3 THEN ?5 ELSE '' END) LIMIT ?6`

	usersOf     = `SELECT ` + users.columns + ` FROM "AuthzUser" WHERE "app" = ?1 AND "userId" IN (SELECT j.value FROM json_each(?2) AS j)`
	revokesOf   = `SELECT ` + revokes.columns + ` FROM ` + using(relational.RevokeTable, "userId") + ` WHERE "app" = ?1 AND "userId" IN (SELECT j.value FROM json_each(?2) AS j)`
	grantsOf    = `SELECT ` + grants.columns + ` FROM ` + using(relational.GrantTable, "subject") + ` WHERE "app" = ?1 AND "subject" IN (SELECT j.value FROM json_each(?2) AS j)`
	atTheScopes = ` AND "scope" IN (SELECT j.value FROM json_each(?3) AS j)`
)

func (s *store) ListScopes(ctx context.Context, p storage.Page) iter.Seq2[string, error] {
	return stream(ctx, s, list[string, string]{
		arguments: []any{p}, after: p.After, limit: p.Limit, key: func(scope string) string { return scope },
		scan: func(scan relational.Scan) (scope string, err error) { return scope, scan(&scope) },
		chunk: func(after string, limit int) *query {
			q := s.selecting(`"scope"`, relational.ScopeParentTable, "")
			q.and(`"scope" > ?`, after)
			q.page(`"scope"`, limit)
			return q
		},
	})
}

func (s *store) ListEdges(ctx context.Context, kind storage.EdgeKind, of []string, p storage.EdgePage) iter.Seq2[storage.Edge, error] {
	if err := storage.CheckLookup(of, kind); err != nil {
		return refused[storage.Edge](err)
	}
	after := storage.Edge{Of: p.AfterOf, From: p.AfterFrom}
	if after.Of == "" {
		after.From = ""
	}
	ids, err := listOf(relational.Distinct(of))
	if err != nil {
		return refused[storage.Edge](err)
	}
	return stream(ctx, s, list[storage.Edge, storage.Edge]{
		arguments: []any{string(kind), of, p}, after: after, limit: p.Limit, scan: relational.ScanEdge,
		key: func(e storage.Edge) storage.Edge { return e }, ordered: relational.CompareEdges,
		chunk: func(after storage.Edge, limit int) *query {
			return whole(edgesTo[kind], s.app, ids, after.Of, after.From, limit)
		},
	})
}

func (s *store) ListGrantsAt(ctx context.Context, scopes []string, p storage.GrantsAtPage) iter.Seq2[authz.Grant, error] {
	if err := storage.CheckLookup(scopes, storage.EdgeParent); err != nil {
		return refused[authz.Grant](err)
	}
	after := relational.Place{Scope: p.AfterScope, Subject: p.AfterSubject, ID: p.AfterID}
	if after.Scope == "" {
		after = relational.Place{}
	}
	ids, err := listOf(relational.Distinct(scopes))
	if err != nil {
		return refused[authz.Grant](err)
	}
	return stream(ctx, s, list[relational.Place, authz.Grant]{
		arguments: []any{scopes, p}, after: after, limit: p.Limit, scan: grants.Scan, key: relational.PlaceOf, ordered: relational.ComparePlaces,
		chunk: func(after relational.Place, limit int) *query {
			return whole(grantsAt, s.app, ids, after.Scope, after.Subject, after.ID, limit)
		},
	})
}

// userIDs is a loose scan: each id is looked for above the one before in every index that
// holds ids of users, so that the rows between cost nothing. %[1]s compares the first.
const userIDs = `WITH RECURSIVE ids(id) AS (SELECT %[1]s UNION ALL SELECT %[2]s FROM ids WHERE substr(ids.id, 1, length(?3)) = ?3)
	SELECT ids.id FROM ids WHERE substr(ids.id, 1, length(?3)) = ?3 LIMIT ?4`

var userIDsAbove, userIDsFrom = userIDsText(">"), userIDsText(">=")

func userIDsText(first string) string {
	next := func(compares, id string) string {
		var each []string
		for _, in := range relational.UserIDSources {
			each = append(each, fmt.Sprintf(`SELECT substr(min(%q), %d) AS id FROM %s WHERE "app" = ?1 AND %s`,
				in.Column, len(in.Prefix)+1, using(in.Table, in.Index), in.Where(compares, id)))
		}
		return "(SELECT min(id) FROM (" + strings.Join(each, " UNION ALL ") + "))"
	}
	return fmt.Sprintf(userIDs, next(first, "?2"), next(">", "ids.id"))
}

func (s *store) ListUserIDs(ctx context.Context, prefix string, p storage.Page) iter.Seq2[string, error] {
	return stream(ctx, s, list[string, string]{
		arguments: []any{prefix, p}, after: p.After, limit: p.Limit, key: func(id string) string { return id }, ordered: strings.Compare,
		scan: func(scan relational.Scan) (id string, err error) { return id, scan(&id) },
		chunk: func(after string, limit int) *query {
			if after < prefix {
				return whole(userIDsFrom, s.app, prefix, prefix, limit)
			}
			return whole(userIDsAbove, s.app, after, prefix, limit)
		},
	})
}

// whole is a query that needs nothing more.
func whole(text string, args ...any) *query {
	q := &query{args: args}
	q.text.WriteString(text)
	return q
}

func (s *store) ReadPeople(ctx context.Context, q storage.PeopleQuery) (people storage.People, err error) {
	if err := s.usable(ctx, q); err != nil {
		return people, err
	}
	if err := q.Check(); err != nil {
		return people, err
	}
	asked, err := askedOf(q)
	if err != nil {
		return people, err
	}
	err = s.db.snapshot(ctx, func(w *work) (err error) {
		people, err = readPeople(w, s.app, asked)
		return err
	})
	if err != nil {
		return storage.People{}, err
	}
	storage.SortPeople(&people)
	return people, nil
}

// asked are the lists of a PeopleQuery, each as one parameter.
type asked struct {
	users, subjects string
	scopes          []any // none for all of them
	withoutGrants   bool
}

func askedOf(q storage.PeopleQuery) (a asked, err error) {
	a.withoutGrants = q.WithoutGrants
	if a.users, err = listOf(q.UserIDs); err != nil {
		return a, err
	}
	if a.subjects, err = listOf(relational.Subjects(q.UserIDs)); err != nil || q.Scopes == nil {
		return a, err
	}
	scopes, err := listOf(q.Scopes)
	a.scopes = []any{scopes}
	return a, err
}

func readPeople(w *work, app string, a asked) (people storage.People, err error) {
	grantsText, revokesText := grantsOf, revokesOf
	if a.scopes != nil {
		grantsText, revokesText = grantsText+atTheScopes, revokesText+atTheScopes
	}
	if people.Users, err = rowsOf(w, users.Scan, usersOf, app, a.users); err != nil {
		return people, err
	}
	if !a.withoutGrants {
		if people.Grants, err = rowsOf(w, grants.Scan, grantsText, append([]any{app, a.subjects}, a.scopes...)...); err != nil {
			return people, err
		}
	}
	people.Revokes, err = rowsOf(w, revokes.Scan, revokesText, append([]any{app, a.users}, a.scopes...)...)
	return people, err
}
