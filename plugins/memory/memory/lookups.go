package memory

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func (s *store) ListScopes(ctx context.Context, p storage.Page) iter.Seq2[string, error] {
	read := func(st *state, after string, n int) []*scopeParents {
		return take(st.scopes.byID.after(&scopeParents{scope: after}), n, all)
	}
	scope := func(row *scopeParents) string { return row.scope }
	return stream(ctx, s, []any{p}, p.After, p.Limit, read, scope, scope)
}

func (s *store) ListEdges(ctx context.Context, kind storage.EdgeKind, of []string, p storage.EdgePage) iter.Seq2[storage.Edge, error] {
	if err := storage.CheckLookup(of, kind); err != nil {
		return refused[storage.Edge](err)
	}
	ids := distinct(of)
	read := func(st *state, after storage.Edge, n int) (edges []storage.Edge) {
		rows := st.users.edges.of(kind)
		if rows == nil {
			rows = &st.scopes.parents
		}
		for _, id := range from(ids, after.Of) {
			probe := storage.Edge{Of: id}
			if id == after.Of {
				probe = after
			}
			edges = append(edges, take(while(rows.after(probe), func(e storage.Edge) bool { return e.Of == id }), n-len(edges), all)...)
			if len(edges) == n {
				break
			}
		}
		return edges
	}
	itself := func(e storage.Edge) storage.Edge { return e }
	return stream(ctx, s, []any{string(kind), of, p}, storage.Edge{Of: p.AfterOf, From: p.AfterFrom}, p.Limit, read, itself, itself)
}

// from are the ids at and above one, which need not be among them.
func from(ids []string, first string) []string {
	at, _ := slices.BinarySearch(ids, first)
	return ids[at:]
}

func (s *store) ListGrantsAt(ctx context.Context, scopes []string, p storage.GrantsAtPage) iter.Seq2[authz.Grant, error] {
	if err := storage.CheckLookup(scopes, storage.EdgeParent); err != nil {
		return refused[authz.Grant](err)
	}
	ids := distinct(scopes)
	after := &authz.Grant{Scope: p.AfterScope, Subject: p.AfterSubject, ID: p.AfterID}
	read := func(st *state, after *authz.Grant, n int) (grants []*authz.Grant) {
		for _, scope := range from(ids, after.Scope) {
			probe := &authz.Grant{Scope: scope}
			if scope == after.Scope {
				probe = after
			}
			grants = append(grants, take(while(st.grants.at.after(probe), func(g *authz.Grant) bool { return g.Scope == scope }), n-len(grants), all)...)
			if len(grants) == n {
				break
			}
		}
		return grants
	}
	return stream(ctx, s, []any{scopes, p}, after, p.Limit, read, func(g *authz.Grant) *authz.Grant { return g }, copyGrant)
}

func (s *store) ListUserIDs(ctx context.Context, prefix string, p storage.Page) iter.Seq2[string, error] {
	read := func(st *state, after string, n int) (ids []string) {
		for id, found := st.userFrom(max(after, prefix), after < prefix); found && strings.HasPrefix(id, prefix); id, found = st.userFrom(id, false) {
			if ids = append(ids, id); len(ids) == n {
				break
			}
		}
		return ids
	}
	itself := func(id string) string { return id }
	return stream(ctx, s, []any{prefix, p}, p.After, p.Limit, read, itself, itself)
}

// beyond is above every id.
const beyond = "\xff"

// userFrom is the least id of a user above one, or that one itself where it may be.
func (st *state) userFrom(id string, itself bool) (least string, found bool) {
	place := beyond
	if itself {
		place = ""
	}
	consider := func(next string) {
		if !found || next < least {
			least, found = next, true
		}
	}
	if user := first(st.users.byID.after(&authz.User{UserID: id})); user != nil {
		consider((*user).UserID)
	}
	if _, there := st.users.byID.get(&authz.User{UserID: id}); there && itself {
		consider(id)
	}
	if edge := first(st.users.edges.manager.after(storage.Edge{Of: id, From: place})); edge != nil {
		consider(edge.Of)
	}
	if g := first(st.grants.bySubject.after(&authz.Grant{Subject: authz.SubjectOf(authz.SubjectUser, id), ID: place})); g != nil {
		if kind, of, _ := authz.ParseSubject((*g).Subject); kind == authz.SubjectUser {
			consider(of)
		}
	}
	if r := first(st.revokes.byUser.after(&authz.Revoke{UserID: id, ID: place})); r != nil {
		consider((*r).UserID)
	}
	if r := first(st.requests.byRequester.after(&authz.Request{RequesterUserID: id, ID: place})); r != nil {
		consider((*r).RequesterUserID)
	}
	return least, found
}

func first[T any](rows iter.Seq[T]) *T {
	for row := range rows {
		return &row
	}
	return nil
}

func (s *store) ReadPeople(ctx context.Context, q storage.PeopleQuery) (people storage.People, err error) {
	if err := s.usable(ctx, q); err != nil {
		return people, err
	}
	if err := q.Check(); err != nil {
		return people, err
	}
	st := s.now()
	there := func(scope string) bool { return q.Scopes == nil || slices.Contains(q.Scopes, scope) }
	for _, id := range distinct(q.UserIDs) {
		if row, found := st.users.byID.get(&authz.User{UserID: id}); found {
			people.Users = append(people.Users, copyUser(row))
		}
		if !q.WithoutGrants {
			subject := authz.SubjectOf(authz.SubjectUser, id)
			for g := range st.grants.candidates(storage.GrantFilter{Subject: &subject}, "") {
				if there(g.Scope) {
					people.Grants = append(people.Grants, copyGrant(g))
				}
			}
		}
		for r := range st.revokes.candidates(storage.RevokeFilter{UserID: &id}, "") {
			if there(r.Scope) {
				people.Revokes = append(people.Revokes, copyRevoke(r))
			}
		}
	}
	storage.SortPeople(&people)
	return people, nil
}
