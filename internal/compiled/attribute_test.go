package compiled_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// attribution is what decides an any-of gate, by explanations: what implies a key beside
// grants on the chain is explained without those.
func (w *world) attribution(t *rapid.T, keys []string, scope string, now int64) compiled.Attribution {
	var direct, implied [][]authz.Grant
	var all []authz.Grant
	var revokes []string
	chain, _ := w.plain(scope)
	for i, key := range keys {
		e, err := access.Explain(w.vocabulary.Catalog(), &w.data, key, chain, now, w.plain)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			revokes = revokeIDs(e.MatchedRevokes)
		}
		if len(e.MatchedRevokes) > 0 {
			direct, implied = append(direct, nil), append(implied, nil)
			continue
		}
		others := w.data
		others.Grants = slices.DeleteFunc(slices.Clone(others.Grants), func(g authz.Grant) bool {
			return slices.ContainsFunc(e.MatchedGrants, func(m authz.Grant) bool { return m.ID == g.ID })
		})
		below, err := access.Explain(w.vocabulary.Catalog(), &others, key, chain, now, w.plain)
		if err != nil {
			t.Fatal(err)
		}
		direct, implied = append(direct, e.MatchedGrants), append(implied, below.ImpliedBy)
		all = append(append(all, e.MatchedGrants...), below.ImpliedBy...)
	}
	some := func(rows []authz.Grant) bool { return len(rows) > 0 }
	at := compiled.Attribution{Key: slices.IndexFunc(direct, some), Revokes: revokes}
	if at.Key >= 0 {
		at.Allowing, at.Revokes = allowing(direct[at.Key]), nil
	} else if at.Key = slices.IndexFunc(implied, some); at.Key >= 0 {
		at.Implied, at.Allowing, at.Revokes = true, allowing(implied[at.Key]), nil
	}
	at.Sole = allowing(all).Sole
	return at
}

// Gates of several keys, of implied ones and of keys that no catalog lists are attributed
// to the rows that explanations show.
func TestAnAttributionNamesTheRowsThatDecide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		w.data.Active = true
		now := rapid.Int64Range(0, 7).Draw(t, "now")
		a := compiled.Compile(w.vocabulary, &w.data, now)
		key := rapid.SampledFrom(append(slices.Clone(foreign), allKeys...))
		for range 20 {
			keys := rapid.SliceOfN(key, 0, 4).Draw(t, "keys")
			scope := rapid.SampledFrom([]string{"*", "app.folder:1", "app.folder:2", "app.folder:3", "app.doc:1", "app.doc:2", "app.flat:1", "app.multi:1", "other.type:1", "untyped"}).Draw(t, "scope")
			chain, _ := w.chains(scope)
			got, err := a.Attribute(keys, chain, now, w.chains)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(w.attribution(t, keys, scope, now), got); diff != "" {
				t.Fatalf("%q at %s, instant %d (-explained +got)\n%s", keys, scope, now, diff)
			}
		}
	})
}

// Where the chain of a grant below fails, the attribution does, as the check did.
func TestAnAttributionFailsWithTheChainThatItNeeds(t *testing.T) {
	v, boom := vocabularyOf(t, `{"namespaces":["app"],"includeAuthzInternal":false,"scopeTypes":{"app.folder":{"parent":"app.folder"}},
		"permissions":{"app.a.list":{"scopes":["app.folder"],"impliedOnAncestors":true},"app.a.read":{"scopes":["app.folder"]}}}`), errors.New("boom")
	a := compiled.Compile(v, &authz.SubjectAccess{UserID: new("u"), Active: true, Closure: []string{"user:u"},
		Grants: []authz.Grant{{ID: "g", Subject: "user:u", Pattern: "app.*", Scope: "app.folder:1"}}}, 1)
	failing := func(string) (*compiled.Chain, error) { return nil, boom }
	chain := compiled.NewChain("app.folder:2", nil)
	if at, err := a.Attribute([]string{"app.a.read", "app.a.list"}, chain, 1, failing); !errors.Is(err, boom) {
		t.Errorf("%+v, %v", at, err)
	}
	if at, err := a.Attribute([]string{"app.a.read"}, chain, 1, failing); err != nil || at.Key != -1 {
		t.Errorf("of what is not implied: %+v, %v", at, err)
	}
}

// Rows of two scopes below come in supply order, not by scope.
func TestRowsThatImplyComeInSupplyOrder(t *testing.T) {
	v := vocabularyOf(t, `{"namespaces":["app"],"includeAuthzInternal":false,"scopeTypes":{"app.folder":{"parent":"app.folder"}},
		"permissions":{"app.a.list":{"scopes":["app.folder"],"impliedOnAncestors":true}}}`)
	rows := &authz.SubjectAccess{UserID: new("u"), Active: true, Closure: []string{"user:u"}}
	for i, id := range []string{"g1", "g2", "g3"} {
		rows.Grants = append(rows.Grants, authz.Grant{ID: id, Subject: "user:u", Pattern: "app.a.list", Scope: []string{"app.folder:1", "app.folder:2"}[i%2]})
	}
	a := compiled.Compile(v, rows, 1)
	at, err := a.Attribute([]string{"app.a.list"}, compiled.NewChain("app.folder:3", nil), 1,
		func(scope string) (*compiled.Chain, error) {
			return compiled.NewChain(scope, []string{"app.folder:3"}), nil
		})
	want := compiled.Attribution{Implied: true, Allowing: compiled.Allowing{Grants: []string{"g1", "g2", "g3"}}}
	if diff := cmp.Diff(want, at); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}
