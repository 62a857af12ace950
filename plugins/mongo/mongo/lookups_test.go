package mongo

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/authzhost/authz/host/lookup/lookuptest"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// Every list over the driver equals the checks of what it lists.
func TestListsEqualChecks(t *testing.T) {
	if os.Getenv("AUTHZ_FULL") == "" {
		t.Skip("FerretDB takes a minute for each world: AUTHZ_FULL=1 asks five in each layout; conformance B89 to B96 runs always")
	}
	checks := flag.Lookup("rapid.checks").Value
	asked := checks.String()
	if asked == "100" {
		if err := checks.Set("5"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = checks.Set(asked) })
	}
	eachLayout(t, func(t *testing.T, d *database) {
		made, err := d.connect()
		if err != nil {
			t.Fatal(err)
		}
		defer made.Close()
		lookuptest.Property(t, made)
	})
}

// Edges of many ids at once, one of which has more than a query reads.
func TestEdgesOfManyIDs(t *testing.T) {
	eachLayout(t, func(t *testing.T, d *database) {
		s := d.open(t)
		var want []storage.Edge
		var ids []string
		for g := range 400 {
			ids = append(ids, fmt.Sprintf("g%03d", g))
		}
		commit := storage.Commit{ID: "people"}
		for u := range 1500 {
			user, in := fmt.Sprintf("u%04d", u), []string{"g200"}
			if u < 400 {
				in = append(in, ids[u])
			}
			in = slices.Compact(in)
			commit.Changes = append(commit.Changes, storage.UpsertUser{User: authz.User{UserID: user, Active: true, GroupIDs: in, OrgIDs: []string{}}})
			for _, g := range in {
				want = append(want, storage.Edge{Of: g, From: user})
			}
		}
		if _, err := s.Commit(t.Context(), commit); err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(want, func(a, b storage.Edge) int {
			if a.Of != b.Of {
				return map[bool]int{true: -1, false: 1}[a.Of < b.Of]
			}
			return map[bool]int{true: -1, false: 1}[a.From < b.From]
		})
		got := edgesAfter(t, s, ids, storage.EdgePage{})
		if !slices.Equal(got, want) {
			t.Fatalf("%d edges, want %d", len(got), len(want))
		}
		for _, at := range []int{0, 150, 700, len(want) - 1} {
			page := storage.EdgePage{AfterOf: want[at].Of, AfterFrom: want[at].From, Limit: 120}
			rest := want[at+1:]
			if got := edgesAfter(t, s, ids, page); !slices.Equal(got, rest[:min(120, len(rest))]) {
				t.Errorf("after %v: %d edges", want[at], len(got))
			}
		}
	})
}

func edgesAfter(t *testing.T, s *store, ids []string, p storage.EdgePage) (all []storage.Edge) {
	t.Helper()
	for e, err := range s.ListEdges(t.Context(), storage.EdgeGroup, ids, p) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}
