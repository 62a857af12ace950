package client_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/metrics"
)

// coldWorld has docs.files.read, and docs.files.list, which is implied on ancestors.
func coldWorld(parents map[string][]string, grants ...authz.Grant) vectors.World {
	for i := range grants {
		grants[i].Subject, grants[i].Provenance = "user:u", authz.Provenance{Kind: authz.ProvenanceSystem}
	}
	return vectors.World{Now: 1_700_000_000_000, ScopeParents: parents, Grants: grants,
		Catalog: []byte(`{"namespaces":["docs"],"includeAuthzInternal":false,"scopeTypes":{"docs.folder":{"parent":"docs.folder"}},"permissions":{
			"docs.files.read":{"scopes":["docs.folder"]},"docs.files.list":{"scopes":["docs.folder"],"impliedOnAncestors":true}}}`)}
}

// A scope without a type is asked at as one of an undeclared type is, and a row there
// confers nothing and stands in nobody's way.
func TestScopesThatAreNoScopeIDsDecideNothing(t *testing.T) {
	u := authz.UserPrincipal("u")
	for _, scope := range []string{"foo", ":x", "docs.folder:", "1bad:1", "a b:1", "ghost:1"} {
		c := attach(t, coldWorld(nil, authz.Grant{ID: "g1", Pattern: "docs.files.read", Scope: authz.Global},
			authz.Grant{ID: "g2", Pattern: "docs.files.list", Scope: scope}), "", nil)
		for key, want := range map[string]bool{"docs.files.read": true, "docs.files.list": false} {
			if got, err := c.Can(t.Context(), u, key, scope); got != want || err != nil {
				t.Errorf("%s at %q: %v, %v", key, scope, got, err)
			}
		}
		if got, err := c.CanAny(t.Context(), u, "docs.files.*"); !got || err != nil {
			t.Errorf("any with a row at %q: %v, %v", scope, got, err)
		}
		s, err := c.Snapshot(t.Context(), u, client.SnapshotOptions{})
		if err != nil {
			t.Fatalf("a snapshot with a row at %q: %v", scope, err)
		}
		if got, err := s.Can("docs.files.read", authz.Global); !got || err != nil {
			t.Errorf("a snapshot with a row at %q: %v, %v", scope, got, err)
		}
	}
}

// The rows that decided are told though other rows' chains are not in the cache, and
// what such a row may add is not denied.
func TestObservationsWithChainsThatAreCold(t *testing.T) {
	parents := map[string][]string{"docs.folder:9": {"docs.folder:2"}, "docs.folder:7": {"docs.folder:2"}}
	list := func(id, scope string) authz.Grant {
		return authz.Grant{ID: id, Pattern: "docs.files.list", Scope: scope}
	}
	for _, c := range []struct {
		name string
		rows []authz.Grant
		keys []string
		want string
	}{
		{"a direct row beside one below", []authz.Grant{list("g1", "docs.folder:2"), list("g2", "docs.folder:9")},
			[]string{"docs.files.list"}, "docs.files.list [g1] implied false sole "},
		{"an implying row", []authz.Grant{list("g1", "docs.folder:9")}, []string{"docs.files.list"}, "docs.files.list [g1] implied true sole g1"},
		{"implied by the second key", []authz.Grant{list("g1", "docs.folder:9")},
			[]string{"docs.files.read", "docs.files.list"}, "docs.files.list [g1] implied true sole g1"},
		{"a direct row of the second key beside one elsewhere", []authz.Grant{{ID: "g1", Pattern: "docs.files.read", Scope: "docs.folder:2"}, list("g2", "docs.folder:77")},
			[]string{"docs.files.list", "docs.files.read"}, "docs.files.read [g1] implied false sole "},
	} {
		t.Run(c.name, func(t *testing.T) {
			var seen []string
			o := &metrics.RecorderOptions{ObserverTimeout: time.Minute, Observers: []metrics.Observer{metrics.ObserverFunc(func(o metrics.CheckObservation) error {
				seen = append(seen, fmt.Sprint(o.Permission, " ", o.MatchedGrantIDs, " implied ", o.Implied, " sole ", o.SoleMatchGrantID))
				return nil
			})}}
			_, cl := attachWith(t, coldWorld(parents, c.rows...), func(options *client.Options) { options.Metrics = o })
			if got, err := cl.Check(t.Context(), authz.UserPrincipal("u"), client.Gate{Keys: c.keys, Scope: "docs.folder:2"}); !got || err != nil {
				t.Fatal(got, err)
			}
			if d := cmp.Diff([]string{c.want}, seen); d != "" {
				t.Error(d)
			}
		})
	}
}
