package postgres

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// A chunk of a lookup goes through the ids of a list, in their order, and for each of
// them through an index, in its order, until there are enough rows. Sorting would read
// all rows of all ids. That nothing sorts them is up to the plan: who reads them
// compares. The inner limit is a subquery so that it is unknown to the planner, which
// then goes for the first rows of an id however few or many it expects: an index in its
// order, and no bitmap to be sorted.
var (
	edgesTo = func() map[storage.EdgeKind]string {
		texts := map[storage.EdgeKind]string{}
		for kind, e := range relational.EdgeSources {
			sole := "0::bigint"
			if kind == storage.EdgeParent {
				sole = fmt.Sprintf(`(not exists (select from %[1]q o where o."app" = $1 and o.%[2]q = e.%[2]q and o.%[3]q <> i.id))::integer::bigint`, e.Table, e.From, e.Of)
			}
			texts[kind] = fmt.Sprintf(`select i.id, e.%q, `+sole+` from unnest($2::text[]) i(id) cross join lateral (
				select t.%q from %q t where t."app" = $1 and t.%q = i.id and t.%q > case when i.id = $3 then $4::text else '' end
				order by t.%q limit (select $5::bigint)) e limit $5`, e.From, e.From, e.Table, e.Of, e.From, e.From)
		}
		return texts
	}()

	grantsAt = `select ` + quoted(relational.Grants.Columns, "g.") + ` from unnest($2::text[]) i(id) cross join lateral (
		` + selectGrants + ` where t."app" = $1 and t."scope" = i.id
			and (t."subject", t."id") > (case when i.id = $3 then $4::text else '' end, case when i.id = $3 then $5::text else '' end)
		order by t."subject", t."id" limit (select $6::bigint)) g limit $6`
)

func (s *store) ListScopes(ctx context.Context, p storage.Page) iter.Seq2[string, error] {
	return byKey(ctx, s, s.able(ctx, storage.CapLookups), p, `select t."scope" from "AuthzScopeParent" t`, "scope", chunkRows, scanText, inPartition,
		func(scope string) string { return scope })
}

func (s *store) ListEdges(ctx context.Context, kind storage.EdgeKind, of []string, p storage.EdgePage) iter.Seq2[storage.Edge, error] {
	after := storage.Edge{Of: p.AfterOf, From: p.AfterFrom}
	if after.Of == "" {
		after.From = ""
	}
	ids := relational.Distinct(of)
	return stream(ctx, s, s.looking(ctx, of, kind, string(kind), of, p), listing[storage.Edge, storage.Edge]{
		limit: p.Limit, after: after, first: chunkRows, key: func(e storage.Edge) storage.Edge { return e }, ordered: relational.CompareEdges,
		fetch: func(ctx context.Context, after storage.Edge, n int) (chunk[storage.Edge], error) {
			return several(ctx, s, true, relational.ScanEdge, edgesTo[kind], nonNil(relational.From(ids, after.Of)), after.Of, after.From, n)
		}})
}

func (s *store) ListGrantsAt(ctx context.Context, scopes []string, p storage.GrantsAtPage) iter.Seq2[authz.Grant, error] {
	after := relational.Place{Scope: p.AfterScope, Subject: p.AfterSubject, ID: p.AfterID}
	if after.Scope == "" {
		after = relational.Place{}
	}
	ids := relational.Distinct(scopes)
	return stream(ctx, s, s.looking(ctx, scopes, storage.EdgeParent, scopes, p), listing[authz.Grant, relational.Place]{
		limit: p.Limit, after: after, first: chunkRows, key: relational.PlaceOf, ordered: relational.ComparePlaces,
		fetch: func(ctx context.Context, after relational.Place, n int) (chunk[authz.Grant], error) {
			return several(ctx, s, true, relational.Grants.Scan, grantsAt, nonNil(relational.From(ids, after.Scope)), after.Scope, after.Subject, after.ID, n)
		}})
}

// userIDs is a loose scan: each id is looked for above the one before in every index that
// holds ids of users, so that the rows between cost nothing. %[1]s compares the first.
const userIDs = `with recursive ids(id) as (select (%[1]s) union all select (%[2]s) from ids where starts_with(ids.id, $3))
	select ids.id from ids where starts_with(ids.id, $3) limit $4`

var userIDsAbove, userIDsFrom = userIDsText(">"), userIDsText(">=")

func userIDsText(first string) string {
	next := func(compares, id string) string {
		var least []string
		for _, in := range relational.UserIDSources {
			least = append(least, fmt.Sprintf(`(select substr(min(t.%q), %d) from %q t where t."app" = $1 and t.%s)`,
				in.Column, len(in.Prefix)+1, in.Table, in.Where(compares, id)))
		}
		return "least(" + strings.Join(least, ", ") + ")"
	}
	return fmt.Sprintf(userIDs, next(first, "$2"), next(">", "ids.id"))
}

func (s *store) ListUserIDs(ctx context.Context, prefix string, p storage.Page) iter.Seq2[string, error] {
	check := s.able(ctx, storage.CapLookups, prefix, p)
	return stream(ctx, s, check, listing[string, string]{limit: p.Limit, after: p.After, first: chunkRows, key: func(id string) string { return id },
		ordered: strings.Compare,
		fetch: func(ctx context.Context, after string, n int) (chunk[string], error) {
			if after < prefix {
				return several(ctx, s, true, scanText, userIDsFrom, prefix, prefix, n)
			}
			return several(ctx, s, true, scanText, userIDsAbove, after, prefix, n)
		}})
}

// looking refuses a lookup that cannot be answered.
func (s *store) looking(ctx context.Context, ids []string, kind storage.EdgeKind, arguments ...any) error {
	if err := s.able(ctx, storage.CapLookups, arguments...); err != nil {
		return err
	}
	return storage.CheckLookup(ids, kind)
}

// people is one statement, so that its answer is of one instant. It looks into the
// index of users or subjects once for each of them. Whether what it finds lies at the
// scopes is asked afterwards: with their indexes each pair would be looked for.
const (
	people = `
		select %d::integer, t."userId", t."managerUserId", null, null, null, t."orgIds", null::json, t."active"::integer::bigint, null::bigint
			from unnest($2::text[]) s(id) cross join lateral (select * from "AuthzUser" where "app" = $1 and "userId" = s.id offset 0) t
		union all
		select %d, e."groupId", e."userId", null, null, null, null, null, null, e."ordinal"
			from unnest($2::text[]) s(id) cross join lateral (select * from "AuthzMembership" where "app" = $1 and "userId" = s.id offset 0) e
		union all
		select %d, r."id", r."userId", null, r."pattern", r."scope", r."provenance", null, null, r."createdAt"
			from unnest($2::text[]) s(id) cross join lateral (select * from "AuthzRevoke" where "app" = $1 and "userId" = s.id offset 0) r
			where $3::text[] is null or r."scope" = any($3::text[])`
	ofSubjects = `
		union all
		select %d, g."id", g."subject", g."roleId", g."pattern", g."scope", g."provenance", null, g."expiresAt", g."createdAt"
			from unnest($4::text[]) s(id) cross join lateral (select * from "AuthzGrant" where "app" = $1 and "subject" = s.id offset 0) g
			where $3::text[] is null or g."scope" = any($3::text[])`
)

var (
	withoutGrants = fmt.Sprintf(people, accessUser, accessMembership, accessRevoke)
	withGrants    = withoutGrants + fmt.Sprintf(ofSubjects, accessGrant)
)

// peopleText answers the statement of a query, and its arguments.
func peopleText(partition string, q storage.PeopleQuery) (text string, args []any) {
	ids := relational.Distinct(q.UserIDs)
	args = []any{pgx.QueryExecModeCacheDescribe, partition, ids, q.Scopes}
	if q.WithoutGrants {
		return withoutGrants, args
	}
	return withGrants, append(args, relational.Subjects(ids))
}

func (s *store) ReadPeople(ctx context.Context, q storage.PeopleQuery) (storage.People, error) {
	if err := s.able(ctx, storage.CapLookups, q); err != nil {
		return storage.People{}, err
	}
	if err := q.Check(); err != nil {
		return storage.People{}, err
	}
	if len(q.UserIDs) == 0 {
		return storage.People{}, nil
	}
	text, args := peopleText(s.partition, q)
	var out storage.People
	err := s.driver.read(ctx, func(c *pgxpool.Conn) error {
		rows, err := c.Query(ctx, s.driver.sql(text), args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		out, err = peopleIn(rows)
		return err
	})
	if err != nil {
		return storage.People{}, readError(err)
	}
	storage.SortPeople(&out)
	return out, nil
}

func peopleIn(rows pgx.Rows) (out storage.People, err error) {
	found, groups := newAccessFound(), map[string][]edge{}
	var r accessRow
	for rows.Next() {
		if err := r.read(rows.FieldDescriptions(), rows.RawValues()); err != nil {
			return out, err
		}
		if r.kind == accessMembership { // of several users
			groups[string(r.b)] = append(groups[string(r.b)], edge{string(r.a), r.n.n})
			continue
		}
		if err := found.add(&r); err != nil {
			return out, err
		}
		if r.kind == accessUser {
			out.Users = append(out.Users, *found.out.User)
		}
	}
	for i := range out.Users {
		out.Users[i].GroupIDs = sorted(groups[out.Users[i].UserID])
	}
	out.Grants, out.Revokes = found.out.Grants, found.out.Revokes
	return out, rows.Err()
}
