package relationaltest

import (
	"fmt"
	"iter"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// BenchLookups fills a store with 100,000 scopes and 1,000,000 grants, half of them
// under one parent and at one scope, and measures lookups. ready runs between the two.
func BenchLookups(b *testing.B, s storage.Store, ready func()) {
	if testing.Short() {
		b.Skip("short: a million grants are left out")
	}
	const scopes, grants, users, piece = 100_000, 1_000_000, 100_000, 20_000
	fill(b, s, "scopes", scopes, piece, func(i int) storage.Change {
		return storage.PutScopeParents{Scope: fmt.Sprintf("d.d:%06d", i), Parents: []string{benchScope(i)}}
	})
	fill(b, s, "users", users, piece, func(i int) storage.Change {
		return storage.UpsertUser{User: authz.User{UserID: fmt.Sprint("u", i), Active: true, OrgIDs: []string{"o"}, GroupIDs: []string{fmt.Sprint("g", i%100)}}}
	})
	fill(b, s, "grants", grants, piece, func(i int) storage.Change {
		return storage.InsertGrant{Grant: authz.Grant{ID: fmt.Sprintf("g%07d", i), Subject: fmt.Sprint("user:u", i*7919%users), RoleID: "r", Scope: benchScope(i), Provenance: authz.AdminProvenance("root"), CreatedAt: 1}}
	})
	ready()
	many, ids := make([]string, storage.MaxScopes), make([]string, storage.MaxPeople)
	for i := range many {
		many[i], ids[i] = benchScope(2*i+1), fmt.Sprint("u", i*97)
	}
	ctx, half := b.Context(), []string{benchScope(0)}
	edges := func(of []string) func(*testing.B) {
		return pages(func() iter.Seq2[storage.Edge, error] {
			return s.ListEdges(ctx, storage.EdgeParent, of, storage.EdgePage{AfterOf: of[0], AfterFrom: "d.d:020000", Limit: 1000})
		})
	}
	at := func(scopes []string) func(*testing.B) {
		return pages(func() iter.Seq2[authz.Grant, error] {
			return s.ListGrantsAt(ctx, scopes, storage.GrantsAtPage{AfterScope: scopes[0], AfterSubject: "user:u3", Limit: 1000})
		})
	}
	b.Run("edges of one", edges(half))
	b.Run("edges of 1000", edges(many))
	b.Run("grants at one", at(half))
	b.Run("grants at 1000", at(many))
	b.Run("user ids", pages(func() iter.Seq2[string, error] {
		return s.ListUserIDs(ctx, "u1", storage.Page{After: "u15", Limit: 1000})
	}))
	people := func(q storage.PeopleQuery) func(*testing.B) {
		q.UserIDs = ids
		return func(b *testing.B) {
			for b.Loop() {
				got, err := s.ReadPeople(ctx, q)
				if err != nil || len(got.Users) != len(ids) || (len(got.Grants) > 0) == q.WithoutGrants {
					b.Fatal(len(got.Users), len(got.Grants), err)
				}
			}
		}
	}
	b.Run("people at 5", people(storage.PeopleQuery{Scopes: append(many[:4:4], half...)}))
	b.Run("people at 20", people(storage.PeopleQuery{Scopes: append(many[:19:19], half...)}))
	b.Run("people without grants", people(storage.PeopleQuery{Scopes: append(many[:4:4], half...), WithoutGrants: true}))
}

// benchScope is one for every even number, and one of a thousand others.
func benchScope(i int) string {
	if i%2 == 0 {
		return "d.f:half"
	}
	return fmt.Sprintf("d.f:%04d", i/2%1000)
}

func fill(b *testing.B, s storage.Store, what string, n, piece int, change func(int) storage.Change) {
	b.Helper()
	for from := 0; from < n; from += piece {
		c := storage.Commit{ID: fmt.Sprint(what, from), At: 1}
		for i := from; i < from+piece; i++ {
			c.Changes = append(c.Changes, change(i))
		}
		if _, err := s.Commit(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

// pages measures a list of a thousand rows.
func pages[T any](list func() iter.Seq2[T, error]) func(*testing.B) {
	return func(b *testing.B) {
		for b.Loop() {
			n := 0
			for _, err := range list() {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
			if n != 1000 {
				b.Fatal(n)
			}
		}
	}
}
