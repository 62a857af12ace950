package conformance_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func edgeLists(list func(s *store, ctx context.Context, kind storage.EdgeKind, of []string, p storage.EdgePage) iter.Seq2[storage.Edge, error]) func(*store) {
	return func(s *store) {
		s.listEdges = func(ctx context.Context, kind storage.EdgeKind, of []string, p storage.EdgePage) iter.Seq2[storage.Edge, error] {
			return list(s, ctx, kind, of, p)
		}
	}
}

func listsOfGrantsAt(list func(s *store, ctx context.Context, scopes []string, p storage.GrantsAtPage) iter.Seq2[authz.Grant, error]) func(*store) {
	return func(s *store) {
		s.grantsAt = func(ctx context.Context, scopes []string, p storage.GrantsAtPage) iter.Seq2[authz.Grant, error] {
			return list(s, ctx, scopes, p)
		}
	}
}

var lookupMutants = []mutant{
	{name: "scopes are listed without those that are roots", kind: "lookup", cases: "B89", store: func(s *store) {
		s.listScopes = func(ctx context.Context, p storage.Page) iter.Seq2[string, error] {
			return only(s.Store.ListScopes(ctx, p), func(_ int, scope *string) bool { return !strings.HasSuffix(*scope, "d.a:1") })
		}
	}},
	{name: "an edge of an id that is named twice comes twice", kind: "lookup", cases: "B90", store: edgeLists(func(s *store, ctx context.Context, kind storage.EdgeKind, of []string, p storage.EdgePage) iter.Seq2[storage.Edge, error] {
		rows, err := collected(s.Store.ListEdges(ctx, kind, of, p))
		for i, id := range of {
			if slices.Contains(of[:i], id) && len(rows) > 0 {
				rows = append(rows[:1:1], rows...)
			}
		}
		return listOf(rows, err)
	})},
	{name: "edges go on after their first end alone", kind: "lookup", cases: "B90 B91", store: edgeLists(func(s *store, ctx context.Context, kind storage.EdgeKind, of []string, p storage.EdgePage) iter.Seq2[storage.Edge, error] {
		if p.AfterOf != "" {
			p.AfterFrom = "\U0010ffff"
		}
		return s.Store.ListEdges(ctx, kind, of, p)
	})},
	{name: "each scope has one parent", kind: "lookup", cases: "B90", store: edgeLists(func(s *store, ctx context.Context, kind storage.EdgeKind, of []string, p storage.EdgePage) iter.Seq2[storage.Edge, error] {
		rows, err := collected(s.Store.ListEdges(ctx, kind, of, p))
		for i := range rows {
			rows[i].Sole = kind == storage.EdgeParent
		}
		return listOf(rows, err)
	})},
	{name: "an edge of managers is one of groups", kind: "lookup", cases: "B91", store: edgeLists(func(s *store, ctx context.Context, kind storage.EdgeKind, of []string, p storage.EdgePage) iter.Seq2[storage.Edge, error] {
		if kind == storage.EdgeManager {
			kind = storage.EdgeGroup
		}
		return s.Store.ListEdges(ctx, kind, of, p)
	})},
	{name: "grants at scopes come by id", kind: "wrong order", cases: "B92", store: listsOfGrantsAt(func(s *store, ctx context.Context, scopes []string, p storage.GrantsAtPage) iter.Seq2[authz.Grant, error] {
		rows, err := collected(s.Store.ListGrantsAt(ctx, scopes, p))
		slices.SortFunc(rows, func(a, b authz.Grant) int { return strings.Compare(a.ID, b.ID) })
		return listOf(rows, err)
	})},
	{name: "grants at scopes leave out what has expired", kind: "lookup", cases: "B92", store: listsOfGrantsAt(func(s *store, ctx context.Context, scopes []string, p storage.GrantsAtPage) iter.Seq2[authz.Grant, error] {
		return only(s.Store.ListGrantsAt(ctx, scopes, p), func(_ int, g *authz.Grant) bool { return !g.ExpiresAt.Expired(time.Now().UnixMilli()) })
	})},
	{name: "users are listed without those who only asked", kind: "lookup", cases: "B97", store: func(s *store) {
		s.userIDs = func(ctx context.Context, prefix string, p storage.Page) iter.Seq2[string, error] {
			return only(s.Store.ListUserIDs(ctx, prefix, p), func(_ int, id *string) bool { return !strings.HasSuffix(*id, "requester") })
		}
	}},
	{name: "a page of users goes on at its prefix", kind: "lookup", cases: "B97 B98", store: func(s *store) {
		s.userIDs = func(ctx context.Context, prefix string, p storage.Page) iter.Seq2[string, error] {
			if prefix != "" {
				p.After = ""
			}
			return s.Store.ListUserIDs(ctx, prefix, p)
		}
	}},
	{name: "grants are found without their actor", kind: "lookup", cases: "B99", store: func(s *store) {
		s.findGrants = func(ctx context.Context, q authz.GrantSearch, p storage.FoundPage) iter.Seq2[authz.Grant, error] {
			q.Actor = nil
			return s.Store.FindGrants(ctx, q, p)
		}
	}},
	{name: "pages of the newest grants go on after an instant", kind: "lookup", cases: "B99b", store: func(s *store) {
		s.findGrants = func(ctx context.Context, q authz.GrantSearch, p storage.FoundPage) iter.Seq2[authz.Grant, error] {
			if q.Order == authz.GrantsNewest && p.After.ID != "" {
				p.After.ID = "\x01"
			}
			return s.Store.FindGrants(ctx, q, p)
		}
	}},
	{name: "grants that expire are found by id", kind: "lookup", cases: "B99 B99b B99c", store: func(s *store) {
		s.findGrants = func(ctx context.Context, q authz.GrantSearch, p storage.FoundPage) iter.Seq2[authz.Grant, error] {
			if q.Order == authz.GrantsExpiring {
				q.Order, q.Expires = authz.GrantsByID, new(true)
			}
			return s.Store.FindGrants(ctx, q, p)
		}
	}},
	{name: "people are read without their scopes", kind: "lookup", cases: "B93", store: func(s *store) {
		s.readPeople = func(ctx context.Context, q storage.PeopleQuery) (storage.People, error) {
			q.Scopes = nil
			return s.Store.ReadPeople(ctx, q)
		}
	}},
	{name: "people and their rows are read apart", kind: "lookup", cases: "B94", store: func(s *store) {
		s.readPeople = func(ctx context.Context, q storage.PeopleQuery) (storage.People, error) {
			people, err := s.Store.ReadPeople(ctx, q)
			if err != nil {
				return people, err
			}
			time.Sleep(moment)
			later, err := s.Store.ReadPeople(ctx, q)
			people.Grants = later.Grants
			return people, err
		}
	}},
}
