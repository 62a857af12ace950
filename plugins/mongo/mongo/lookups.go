package mongo

import (
	"context"
	"iter"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func (s *store) ListScopes(ctx context.Context, p storage.Page) iter.Seq2[string, error] {
	in := s.partition.in(layout.Scopes)
	return stream(ctx, s, []any{p}, p.After, p.Limit, query[string, string]{
		in: in, sort: byID, only: []string{},
		from:  func(row layout.Row) (string, error) { return row.Text(), nil },
		key:   func(scope string) string { return scope },
		after: func(last string) layout.Filter { return in.Above(last, live) },
	})
}

// edge is how a kind of edges lies in documents.
type edge struct {
	in     layout.Name
	member string
}

var edges = map[storage.EdgeKind]edge{
	storage.EdgeParent: {layout.Scopes, "parents"}, storage.EdgeGroup: {layout.Users, "groupIds"},
	storage.EdgeOrg: {layout.Users, "orgIds"}, storage.EdgeManager: {layout.Users, "managerUserId"},
}

// ListEdges reads several ids by one query while what leads to them is few, and one id in
// pages where it is many.
func (s *store) ListEdges(ctx context.Context, kind storage.EdgeKind, of []string, p storage.EdgePage) iter.Seq2[storage.Edge, error] {
	if err := storage.CheckLookup(of, kind); err != nil {
		return refused[storage.Edge](err)
	}
	if err := s.usable(ctx, string(kind), of, p); err != nil {
		return refused[storage.Edge](err)
	}
	if p.Limit < 0 {
		return refused[storage.Edge](storage.Errorf(storage.CodeValidation, "a page's limit must not be negative"))
	}
	e := edgesOf{s, kind, edges[kind]}
	return func(yield func(storage.Edge, error) bool) {
		left := p.Limit
		to := func(found storage.Edge, err error) bool {
			if !yield(found, err) || err != nil {
				return false
			}
			left--
			return p.Limit == 0 || left > 0
		}
		ids := distinct(of)
		at, among := slices.BinarySearch(ids, p.AfterOf)
		if among && p.AfterOf != "" {
			if !e.one(ctx, p.AfterOf, p.AfterFrom, to) {
				return
			}
			at++
		}
		for ids, n := ids[at:], manyIDs; len(ids) > 0; {
			n = min(n, len(ids))
			found, whole, err := e.several(ctx, ids[:n])
			switch {
			case err != nil:
				yield(storage.Edge{}, err)
				return
			case !whole && n > 1:
				n /= 2
				continue
			case !whole:
				if !e.one(ctx, ids[0], "", to) {
					return
				}
			}
			for _, f := range found {
				if whole && !to(f, nil) {
					return
				}
			}
			ids, n = ids[n:], min(2*n, manyIDs)
		}
	}
}

// manyIDs is how many ids one query asks for at most.
const manyIDs = 256

// edgesOf reads edges of one kind.
type edgesOf struct {
	s    *store
	kind storage.EdgeKind
	edge edge
}

// one tells the edges of one id in pages; false when no more are wanted.
func (e edgesOf) one(ctx context.Context, id, after string, to func(storage.Edge, error) bool) bool {
	in := e.s.partition.in(e.edge.in)
	for edge, err := range stream(ctx, e.s, nil, after, 0, query[string, storage.Edge]{
		in: in, sort: byID, only: []string{e.edge.member},
		from: func(row layout.Row) (storage.Edge, error) {
			names, err := e.names(row)
			return e.to(row, id, names), err
		},
		key:   func(edge storage.Edge) string { return edge.From },
		after: func(last string) layout.Filter { return in.Above(last, eq(e.edge.member, id), live) },
	}) {
		if !to(edge, err) {
			return false
		}
	}
	return true
}

// several are the edges of some ids, in their order; whole is false when they are more
// than a chunk.
func (e edgesOf) several(ctx context.Context, ids []string) (found []storage.Edge, whole bool, err error) {
	in := e.s.partition.in(e.edge.in)
	err = e.s.read(ctx, func(ctx context.Context) error {
		rows, cut, err := in.Find(ctx, in.Where(eq(e.edge.member, bson.D{eq("$in", ids)}), live), layout.Page{Limit: chunkRows + 1, Bytes: chunkBytes, Only: []string{e.edge.member}})
		if err != nil {
			return err
		}
		found, whole = nil, !cut && len(rows) <= chunkRows
		for _, row := range rows {
			if !whole {
				return nil
			}
			names, err := e.names(row)
			if err != nil {
				return err
			}
			for _, of := range distinct(names) {
				if _, asked := slices.BinarySearch(ids, of); asked {
					found = append(found, e.to(row, of, names))
				}
			}
		}
		slices.SortFunc(found, func(a, b storage.Edge) int {
			if by := strings.Compare(a.Of, b.Of); by != 0 {
				return by
			}
			return strings.Compare(a.From, b.From)
		})
		return nil
	})
	return found, whole, err
}

// to is the edge of a document to one of those that it names.
func (e edgesOf) to(row layout.Row, of string, names []string) storage.Edge {
	if e.kind == storage.EdgeParent {
		return storage.ParentEdge(row.Text(), of, names)
	}
	return storage.Edge{Of: of, From: row.Text()}
}

// names are what a document names by the member of the edge.
func (e edgesOf) names(row layout.Row) ([]string, error) {
	var d struct {
		Parents       []string `bson:"parents"`
		GroupIDs      []string `bson:"groupIds"`
		OrgIDs        []string `bson:"orgIds"`
		ManagerUserID *string  `bson:"managerUserId"`
	}
	err := row.Decode(&d)
	switch {
	case e.kind == storage.EdgeParent:
		return d.Parents, err
	case e.kind == storage.EdgeGroup:
		return d.GroupIDs, err
	case e.kind == storage.EdgeOrg:
		return d.OrgIDs, err
	case d.ManagerUserID == nil:
		return nil, err
	}
	return []string{*d.ManagerUserID}, err
}

func (s *store) ListGrantsAt(ctx context.Context, scopes []string, p storage.GrantsAtPage) iter.Seq2[authz.Grant, error] {
	if err := storage.CheckLookup(scopes, storage.EdgeParent); err != nil {
		return refused[authz.Grant](err)
	}
	ids, in := distinct(scopes), s.partition.in(layout.Grants)
	if len(ids) == 0 {
		return empty[authz.Grant](ctx, s, storage.Page{Limit: p.Limit}, scopes, p)
	}
	type place struct{ scope, subject, id string }
	above := func(value any) bson.D { return bson.D{eq("$gt", value)} }
	return stream(ctx, s, []any{scopes, p}, place{p.AfterScope, p.AfterSubject, p.AfterID}, p.Limit, query[place, authz.Grant]{
		in: in, sort: bson.D{eq("scope", 1), eq("subject", 1), eq("_id", 1)}, from: grants.from,
		key: func(g authz.Grant) place { return place{g.Scope, g.Subject, g.ID} },
		after: func(last place) layout.Filter {
			if last.scope == "" {
				return in.Where(eq("scope", bson.D{eq("$in", ids)}), live)
			}
			at, among := slices.BinarySearch(ids, last.scope)
			if !among {
				return in.Where(eq("scope", bson.D{eq("$in", ids[at:])}), live)
			}
			return in.Where(eq("scope", bson.D{eq("$in", ids[at:])}), live, eq("$or", bson.A{
				bson.D{eq("scope", above(last.scope))},
				bson.D{eq("scope", last.scope), eq("subject", above(last.subject))},
				bson.D{eq("scope", last.scope), eq("subject", last.subject), eq("_id", above(in.ID(last.id)))}}))
		},
	})
}

// userIDSource is where ids of users lie: in a member that an index holds in order, behind
// a prefix of their own.
type userIDSource struct {
	in            layout.Name
	member        string // "" for the key
	prefix, below string
}

var userIDSources = []userIDSource{
	{in: layout.Users}, {in: layout.Users, member: "managerUserId"}, {in: layout.Revokes, member: "userId"},
	{in: layout.Requests, member: "requesterUserId"}, {layout.Grants, "subject", "user:", "user;"},
}

// ListUserIDs reads a piece of every index, and tells what all of the pieces reach.
func (s *store) ListUserIDs(ctx context.Context, prefix string, p storage.Page) iter.Seq2[string, error] {
	if err := s.usable(ctx, prefix, p); err != nil {
		return refused[string](err)
	}
	if p.Limit < 0 {
		return refused[string](storage.Errorf(storage.CodeValidation, "a page's limit must not be negative"))
	}
	return func(yield func(string, error) bool) {
		for last, left := p.After, p.Limit; ; {
			n := chunkRows
			if p.Limit > 0 {
				n = min(n, left)
			}
			ids, whole, err := s.userIDs(ctx, prefix, last, n)
			if err != nil {
				yield("", err)
				return
			}
			for _, id := range ids {
				if err := s.usable(ctx); err != nil {
					yield("", err)
					return
				}
				if !yield(id, nil) {
					return
				}
				if left--; left == 0 {
					return
				}
				last = id
			}
			if whole {
				return
			}
		}
	}
}

// userIDs are the ids above one as far as pieces of n rows reach, one of them at least;
// whole says that no others follow.
func (s *store) userIDs(ctx context.Context, prefix, after string, n int) (ids []string, whole bool, err error) {
	end, whole := "", true
	for _, source := range userIDSources {
		piece, all, err := s.userIDsIn(ctx, source, prefix, after, n)
		if err != nil {
			return nil, false, err
		}
		if !all && (whole || piece[len(piece)-1] < end) {
			end, whole = piece[len(piece)-1], false
		}
		ids = append(ids, piece...)
	}
	ids = distinct(ids)
	if !whole {
		at, _ := slices.BinarySearch(ids, end)
		ids = ids[:at+1]
	}
	return ids, whole, nil
}

// userIDsIn are those of the first n rows of one source; all says that there are no more.
func (s *store) userIDsIn(ctx context.Context, source userIDSource, prefix, after string, n int) (ids []string, all bool, err error) {
	in := s.partition.in(source.in)
	err = s.read(ctx, func(ctx context.Context) error {
		ids = nil
		filter, page := in.Above(max(after, prefix), live), layout.Page{Sort: byID, Limit: int64(n), Bytes: chunkBytes, Only: []string{}}
		if source.member != "" {
			within := bson.D{eq("$gt", source.prefix+after)}
			if after < prefix {
				within = bson.D{eq("$gte", source.prefix+prefix)}
			}
			if source.below != "" {
				within = append(within, eq("$lt", source.below))
			}
			filter, page.Sort, page.Only = in.Where(eq(source.member, within), live), bson.D{eq(source.member, 1)}, []string{source.member}
		} else if after < prefix { // keys are read above a place, and the prefix may be one
			_, found, err := in.One(ctx, in.Key(prefix, live))
			if err != nil {
				return err
			}
			if found {
				ids = append(ids, prefix)
			}
		}
		rows, cut, err := in.Find(ctx, filter, page)
		if err != nil {
			return err
		}
		all = !cut && len(rows) < n
		for _, row := range rows {
			id := row.Text()
			if source.member != "" {
				id = strings.TrimPrefix(row.Member(source.member), source.prefix)
			}
			if !strings.HasPrefix(id, prefix) {
				all = true
				return nil
			}
			ids = append(ids, id)
		}
		return nil
	})
	return ids, all, err
}

func (s *store) ReadPeople(ctx context.Context, q storage.PeopleQuery) (people storage.People, err error) {
	if err := s.usable(ctx, q); err != nil {
		return people, err
	}
	if err := q.Check(); err != nil {
		return people, err
	}
	bound, cancel := bounded(ctx, readWait)
	defer cancel()
	err = s.partition.atOneInstant(bound, func() (err error) {
		people, err = s.partition.readPeople(bound, q)
		return failed(err)
	})
	if err != nil {
		if ctx.Err() != nil && storage.CodeOf(err) == storage.CodeUnavailable {
			err = interrupted(ctx)
		}
		return storage.People{}, err
	}
	storage.SortPeople(&people)
	return people, nil
}

// readPeople reads the rows; the caller sees to it that they are of one instant.
func (p *partition) readPeople(ctx context.Context, q storage.PeopleQuery) (people storage.People, err error) {
	ids := distinct(q.UserIDs)
	if len(ids) == 0 {
		return people, nil
	}
	if people.Users, err = byKeys(ctx, p, users, ids); err != nil || q.Scopes != nil && len(q.Scopes) == 0 {
		return people, err
	}
	if !q.WithoutGrants {
		subjects := make([]string, len(ids))
		for i, id := range ids {
			subjects[i] = authz.SubjectOf(authz.SubjectUser, id)
		}
		if people.Grants, err = rowsOf(ctx, p, grants, "subject", subjects, q.Scopes); err != nil {
			return people, err
		}
	}
	people.Revokes, err = rowsOf(ctx, p, revokes, "userId", ids, q.Scopes)
	return people, err
}

// rowsOf are the rows that name one of some values, at some scopes or, where they are nil,
// at all.
func rowsOf[V any](ctx context.Context, p *partition, e entity[V], member string, values, scopes []string) ([]V, error) {
	in := p.in(e.in)
	members := []bson.E{eq(member, bson.D{eq("$in", values)}), live}
	if scopes != nil {
		members = append(members, eq("scope", bson.D{eq("$in", distinct(scopes))}))
	}
	rows, _, err := in.Find(ctx, in.Where(members...), layout.Page{})
	if err != nil {
		return nil, err
	}
	return e.all(rows)
}
