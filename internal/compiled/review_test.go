package compiled_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const reviewCatalog = `{"namespaces":["app"],"includeAuthzInternal":false,
	"scopeTypes":{"app.folder":{},"app.doc":{"parent":"app.folder"}},
	"permissions":{"app.pay.create":{"scopes":["app.folder"]},"app.pay.approve":{"scopes":["app.folder","app.doc"]},
		"app.pay.audit":true,"app.doc.read":{"scopes":["app.doc"]},"app.doc.edit":{"scopes":["app.doc"]},"app.admin.all":true},
	"constraints":{"sod":[
		{"id":"pay","description":"four eyes","sets":[["app.pay.create"],["app.pay.approve"],["app.pay.audit"]]},
		{"id":"doc","sets":[["app.doc.*"],["app.admin.all","app.pay.*"]]}]}}`

// reviewSets are the constraints of reviewCatalog, patterns resolved by hand.
var reviewSets = map[string][][]string{
	"pay": {{"app.pay.create"}, {"app.pay.approve"}, {"app.pay.audit"}},
	"doc": {{"app.doc.edit", "app.doc.read"}, {"app.admin.all", "app.pay.approve", "app.pay.audit", "app.pay.create"}},
}

// drawUser draws the rows of user u over reviewCatalog.
func drawUser(t *rapid.T, v *compiled.Vocabulary) *world {
	w := &world{vocabulary: v}
	pattern := rapid.SampledFrom(append([]string{"*", "app.*", "app.pay.*", "app.doc.*", "gone.*"}, v.Catalog().Keys()...))
	scope := rapid.SampledFrom([]string{"*", "*", "app.folder:1", "app.doc:1", "other.type:1", "untyped"})
	w.data = authz.SubjectAccess{UserID: new("u"), Closure: []string{"user:u", "group:g", "everyone"}, Active: rapid.Bool().Draw(t, "active")}
	for i := range rapid.IntRange(0, 2).Draw(t, "roles") {
		w.data.Roles = append(w.data.Roles, authz.Role{ID: fmt.Sprint("r", i), Patterns: rapid.SliceOfN(pattern, 0, 3).Draw(t, "patterns")})
	}
	for i := range rapid.IntRange(0, 5).Draw(t, "grants") {
		w.data.Grants = append(w.data.Grants, drawGrant(t, fmt.Sprint("g", i), pattern, scope))
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "revokes") {
		w.data.Revokes = append(w.data.Revokes, authz.Revoke{ID: fmt.Sprint("v", i), Pattern: pattern.Draw(t, "pattern"), Scope: scope.Draw(t, "at"),
			UserID: rapid.SampledFrom([]string{"u", "u", "other"}).Draw(t, "of")})
	}
	return w
}

func drawGrant(t *rapid.T, id string, pattern, scope *rapid.Generator[string]) authz.Grant {
	g := authz.Grant{ID: id, Scope: scope.Draw(t, "at"), Subject: rapid.SampledFrom([]string{"user:u", "user:u", "group:g", "group:other"}).Draw(t, "to")}
	if rapid.Bool().Draw(t, "by role") {
		g.RoleID = fmt.Sprint("r", rapid.IntRange(0, 2).Draw(t, "role"))
	}
	if g.RoleID == "" || rapid.IntRange(0, 9).Draw(t, "both") == 0 {
		g.Pattern = pattern.Draw(t, "pattern")
	}
	if rapid.IntRange(0, 3).Draw(t, "expires") == 0 {
		g.ExpiresAt = authz.ExpiresAt(rapid.Int64Range(-1, 6).Draw(t, "expiry"))
	}
	return g
}

// holdsByRows is heldAnywhere without the flag of the user.
func (w *world) holdsByRows(key string, now int64) bool {
	return !w.revoked(key, "*") && len(w.live(key, now)) > 0
}

// violations is the definition (spec: access §15), written down.
func (w *world) violations(now int64) map[string][]access.HeldSet {
	found := map[string][]access.HeldSet{}
	for id, sets := range reviewSets {
		var held []access.HeldSet
		for i, set := range sets {
			var keys []string
			for _, key := range set {
				if w.holdsByRows(key, now) {
					keys = append(keys, key)
				}
			}
			if keys != nil {
				held = append(held, access.HeldSet{SetIndex: i, Keys: keys})
			}
		}
		if len(held) > 1 {
			found[id] = held
		}
	}
	return found
}

func byID(list []access.Violation) map[string][]access.HeldSet {
	found := map[string][]access.HeldSet{}
	for _, v := range list {
		found[v.ConstraintID] = v.Sets
	}
	return found
}

func TestViolationsEqualTheirDefinitionWhateverTheActiveFlag(t *testing.T) {
	v := vocabularyOf(t, reviewCatalog)
	sod := compiled.NewSoD(v)
	rapid.Check(t, func(t *rapid.T) {
		w := drawUser(t, v)
		now := rapid.Int64Range(0, 7).Draw(t, "now")
		if diff := cmp.Diff(w.violations(now), byID(sod.Violations(&w.data, now))); diff != "" {
			t.Fatalf("(-definition +got)\n%s", diff)
		}
	})
}

// A refusal of Add is exactly a constraint that the definition finds broken with
// the row and not without it.
func TestAddingARowBreaksWhatTheDefinitionSaysItBreaks(t *testing.T) {
	v := vocabularyOf(t, reviewCatalog)
	sod := compiled.NewSoD(v)
	order := []string{"pay", "doc"}
	rapid.Check(t, func(t *rapid.T) {
		w := drawUser(t, v)
		now := rapid.Int64Range(0, 7).Draw(t, "now")
		stored := w.data
		duties := sod.Duties(&stored, now)
		for i := range rapid.IntRange(1, 4).Draw(t, "added") {
			g := drawGrant(t, fmt.Sprint("n", i), rapid.SampledFrom(append([]string{"*", "app.pay.*"}, v.Catalog().Keys()...)), rapid.Just("*"))
			before := w.violations(now)
			w.data.Grants = append(slices.Clone(w.data.Grants), g)
			after := w.violations(now)
			want := ""
			for _, id := range order {
				if want == "" && before[id] == nil && after[id] != nil {
					want = id
				}
			}
			got := duties.Add(g, w.rolePatterns(g.RoleID))
			switch {
			case got == nil && want != "":
				t.Fatalf("adding %+v breaks %s and was not refused", g, want)
			case got != nil && got.ConstraintID != want:
				t.Fatalf("adding %+v was refused for %s, the definition says %q", g, got.ConstraintID, want)
			case got != nil:
				if diff := cmp.Diff(after[want], got.Sets); diff != "" {
					t.Fatalf("(-definition +got)\n%s", diff)
				}
			}
		}
	})
}

func (w *world) rolePatterns(id string) []string {
	for _, r := range w.data.Roles {
		if r.ID == id {
			return r.Patterns
		}
	}
	return nil
}

func TestARowThatNamesARoleNobodyHeldIsJudgedWithItsPatterns(t *testing.T) {
	sod := compiled.NewSoD(vocabularyOf(t, reviewCatalog))
	duties := sod.Duties(&authz.SubjectAccess{UserID: new("u"), Closure: []string{"user:u"}}, 1)
	got := duties.Add(authz.Grant{ID: "g", Subject: "user:u", RoleID: "new", Scope: "*"}, []string{"app.pay.create", "app.pay.audit"})
	want := &access.Violation{ConstraintID: "pay", Description: "four eyes", Sets: []access.HeldSet{{SetIndex: 0, Keys: []string{"app.pay.create"}}, {SetIndex: 2, Keys: []string{"app.pay.audit"}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEntitlementsEqualTheirDefinition(t *testing.T) {
	v := vocabularyOf(t, reviewCatalog)
	rapid.Check(t, func(t *rapid.T) {
		w := drawUser(t, v)
		now := rapid.Int64Range(0, 7).Draw(t, "now")
		want := access.UserEntitlements{UserID: "u", Active: w.data.Active, Closure: w.data.Closure,
			Entitlements: []access.Entitlement{}, Revokes: []access.EntitledRevoke{}}
		for _, key := range v.Catalog().Keys() {
			var sources []access.EntitlementSource
			for _, g := range w.live(key, now) {
				for _, p := range w.patterns(g) {
					if authz.Match(p, key) {
						s := access.EntitlementSource{GrantID: g.ID, Subject: g.Subject, Pattern: p, Scope: g.Scope, ExpiresAt: g.ExpiresAt}
						if g.Pattern == "" {
							s.RoleID = g.RoleID
						}
						sources = append(sources, s)
					}
				}
			}
			if sources != nil {
				want.Entitlements = append(want.Entitlements, access.Entitlement{Key: key, Held: w.holdsByRows(key, now), Sources: sources})
			}
		}
		for _, r := range w.data.Revokes {
			if r.UserID == "u" {
				want.Revokes = append(want.Revokes, access.EntitledRevoke{RevokeID: r.ID, Pattern: r.Pattern, Scope: r.Scope})
			}
		}
		if diff := cmp.Diff(want, compiled.Entitlements(v, &w.data, now), cmp.AllowUnexported(authz.Expiry{})); diff != "" {
			t.Fatalf("(-definition +got)\n%s", diff)
		}
	})
}
