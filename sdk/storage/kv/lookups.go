package kv

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func (s *store) ListScopes(ctx context.Context, p storage.Page) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for row, err := range byKey(ctx, s, scopes, "", every, p) {
			if !yield(row.Scope, err) {
				return
			}
		}
	}
}

func (s *store) ListEdges(ctx context.Context, kind storage.EdgeKind, of []string, pg storage.EdgePage) iter.Seq2[storage.Edge, error] {
	if err := storage.CheckLookup(of, kind); err != nil {
		return failing[storage.Edge](err)
	}
	ids, from := distinct(of), users.with
	if kind == storage.EdgeParent {
		from = scopes.with
	}
	return func(yield func(storage.Edge, error) bool) {
		at, left := storage.Edge{Of: pg.AfterOf, From: pg.AfterFrom}, pg.Limit
		for more := true; more && (pg.Limit <= 0 || left > 0); {
			n := chunkRows
			if pg.Limit > 0 {
				n = min(n, left)
			}
			var edges []storage.Edge
			err := s.view(ctx, func(p *partition) {
				if pg.Limit < 0 {
					p.refuse(storage.CodeValidation, "a page's limit must not be negative")
				}
				for _, id := range upwards(ids, at.Of) {
					after := ""
					if id == at.Of {
						after = at.From
					}
					for key := range from(p, string(kind)+"/"+id, after) {
						edge := storage.Edge{Of: id, From: key}
						if kind == storage.EdgeParent {
							row := scopes.get(p, key)
							if row == nil { // what could not be read ends the view with its error
								continue
							}
							edge = storage.ParentEdge(key, id, row.Parents)
						}
						if edges = append(edges, edge); len(edges) == n {
							return
						}
					}
				}
			}, string(kind), of, pg)
			if err != nil {
				yield(storage.Edge{}, err)
				return
			}
			for _, e := range edges {
				if err := s.usable(ctx); err != nil {
					yield(storage.Edge{}, err)
					return
				}
				if !yield(e, nil) {
					return
				}
				at = e
			}
			more = len(edges) == n
			left -= len(edges)
		}
	}
}

// upwards are the ids at and above one, which need not be among them.
func upwards(ids []string, first string) []string {
	at, _ := slices.BinarySearch(ids, first)
	return ids[at:]
}

func (s *store) ListGrantsAt(ctx context.Context, scopes []string, pg storage.GrantsAtPage) iter.Seq2[authz.Grant, error] {
	if err := storage.CheckLookup(scopes, storage.EdgeParent); err != nil {
		return failing[authz.Grant](err)
	}
	ids := distinct(scopes)
	keys := func(p *partition, after string) iter.Seq[string] {
		last, rest, _ := strings.Cut(after, "\x00")
		return func(yield func(string) bool) {
			for _, scope := range upwards(ids, last) {
				above := ""
				if scope == last {
					above = rest
				}
				for entry := range grants.with(p, "at/"+scope, above) {
					if _, id, _ := strings.Cut(entry, "\x00"); !yield(id) {
						return
					}
				}
			}
		}
	}
	place := func(g *authz.Grant) string { return g.Scope + "\x00" + g.Subject + "\x00" + g.ID }
	after := ""
	if pg.AfterScope != "" {
		after = pg.AfterScope + "\x00" + pg.AfterSubject + "\x00" + pg.AfterID
	}
	return list(ctx, s, grants, keys, every, place, after, pg.Limit, scopes, pg)
}

func (s *store) ListUserIDs(ctx context.Context, prefix string, pg storage.Page) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		last, left := pg.After, pg.Limit
		for more := true; more; {
			n := chunkRows
			if pg.Limit > 0 {
				n = min(n, left)
			}
			var ids []string
			err := s.view(ctx, func(p *partition) {
				if pg.Limit < 0 {
					p.refuse(storage.CodeValidation, "a page's limit must not be negative")
				}
				id, found := userFrom(p, max(last, prefix), last < prefix)
				for ; found && strings.HasPrefix(id, prefix) && len(ids) < n; id, found = userFrom(p, id, false) {
					ids = append(ids, id)
				}
			}, prefix, pg)
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
				last = id
			}
			left -= len(ids)
			more = len(ids) == n && (pg.Limit == 0 || left > 0)
		}
	}
}

// userFrom is the least id of a user above one, or that one itself where it may be.
func userFrom(p *partition, id string, itself bool) (least string, found bool) {
	for _, named := range []string{"user/", "user.manager/", "grant.subject/" + authz.SubjectOf(authz.SubjectUser, ""), "revoke.user/", "request.requester/"} {
		above := id
		if !itself {
			above += "\x00\xff" // above the entries of the id and below those of longer ones
		}
		for entry := range p.following(named, above) {
			if next, _, _ := strings.Cut(entry, "\x00"); !found || next < least {
				least, found = next, true
			}
			break
		}
	}
	if itself && users.get(p, id) != nil {
		return id, true
	}
	return least, found
}

// ReadPeople reads everything in one transaction.
func (s *store) ReadPeople(ctx context.Context, q storage.PeopleQuery) (people storage.People, err error) {
	if err := q.Check(); err != nil {
		return people, err
	}
	there := func(scope string) bool { return q.Scopes == nil || slices.Contains(q.Scopes, scope) }
	err = s.view(ctx, func(p *partition) {
		for _, id := range distinct(q.UserIDs) {
			if user := users.get(p, id); user != nil {
				people.Users = append(people.Users, *user)
			}
			if !q.WithoutGrants {
				for g := range grants.all(p, grants.with(p, "subject/"+authz.SubjectOf(authz.SubjectUser, id), "")) {
					if there(g.Scope) {
						people.Grants = append(people.Grants, *g)
					}
				}
			}
			for r := range revokes.all(p, revokes.with(p, "user/"+id, "")) {
				if there(r.Scope) {
					people.Revokes = append(people.Revokes, *r)
				}
			}
		}
	}, q)
	if err != nil {
		return storage.People{}, err
	}
	storage.SortPeople(&people)
	return people, nil
}
