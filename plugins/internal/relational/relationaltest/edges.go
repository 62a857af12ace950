package relationaltest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// odd is a name that JSON spells in another way.
const odd = "d.f:\"\\ é\u2028<"

// FillEdges commits what lists of edges are made of. Two of its lists name one twice.
func FillEdges(t *testing.T, s storage.Store) {
	t.Helper()
	grant := authz.Grant{ID: "g", Subject: "user:u", Pattern: "docs.read", Scope: "d.f:1", Provenance: authz.AdminProvenance("root")}
	_, err := s.Commit(t.Context(), storage.Commit{ID: "edges", Changes: []storage.Change{
		storage.PutScopeParents{Scope: "d.d:2", Parents: []string{odd, "d.f:1", "d.f:1"}},
		storage.PutScopeParents{Scope: "d.d:1", Parents: []string{"d.f:1"}},
		storage.PutScopeParents{Scope: "d.f:1"},
		storage.UpsertUser{User: authz.User{UserID: "v", GroupIDs: []string{"g"}, OrgIDs: []string{"o2", odd}, ManagerUserID: "m"}},
		storage.UpsertUser{User: authz.User{UserID: "u", GroupIDs: []string{"h", "g"}, OrgIDs: []string{"o2", "o1", "o2"}, ManagerUserID: "m"}},
		storage.UpsertUser{User: authz.User{UserID: "nobody"}},
		storage.InsertGrant{Grant: grant},
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// HasEdges expects what FillEdges left.
func HasEdges(t *testing.T, s storage.Store) {
	t.Helper()
	for kind, want := range map[storage.EdgeKind][]storage.Edge{
		storage.EdgeParent:  {{Of: odd, From: "d.d:2"}, {Of: "d.f:1", From: "d.d:1", Sole: true}, {Of: "d.f:1", From: "d.d:2"}},
		storage.EdgeGroup:   {{Of: "g", From: "u"}, {Of: "g", From: "v"}, {Of: "h", From: "u"}},
		storage.EdgeOrg:     {{Of: odd, From: "v"}, {Of: "o1", From: "u"}, {Of: "o2", From: "u"}, {Of: "o2", From: "v"}},
		storage.EdgeManager: {{Of: "m", From: "u"}, {Of: "m", From: "v"}},
	} {
		if diff := cmp.Diff(want, edgesOf(t, s, kind, "d.f:1", odd, "g", "h", "o1", "o2", "m", "d.d:1")); diff != "" {
			t.Errorf("edges %s (-want +got):\n%s", kind, diff)
		}
	}
	for g, err := range s.ListGrantsAt(t.Context(), []string{"d.f:1"}, storage.GrantsAtPage{}) {
		if err != nil || g.ID != "g" {
			t.Errorf("a grant %+v, %v", g, err)
		}
	}
}

// WritesEdges expects that edges which a migration made go with what names them, after
// HasEdges.
func WritesEdges(t *testing.T, s storage.Store) {
	t.Helper()
	none := []string{}
	_, err := s.Commit(t.Context(), storage.Commit{ID: "fewer edges", Changes: []storage.Change{
		storage.PutScopeParents{Scope: "d.d:2", Parents: []string{odd}}, storage.DeleteScopeParents{Scope: "d.d:1"},
		storage.PatchUser{UserID: "v", OrgIDs: &none}, storage.DeleteUser{UserID: "u"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]storage.Edge{{Of: odd, From: "d.d:2", Sole: true}}, edgesOf(t, s, storage.EdgeParent, "d.f:1", odd)); diff != "" {
		t.Errorf("parents (-want +got):\n%s", diff)
	}
	if left := edgesOf(t, s, storage.EdgeOrg, odd, "o1", "o2"); len(left) > 0 {
		t.Errorf("orgs %v are left", left)
	}
}

func edgesOf(t *testing.T, s storage.Store, kind storage.EdgeKind, of ...string) (edges []storage.Edge) {
	t.Helper()
	for e, err := range s.ListEdges(t.Context(), kind, of, storage.EdgePage{}) {
		if err != nil {
			t.Fatal(err)
		}
		edges = append(edges, e)
	}
	return edges
}
