package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/examples/internal/demo"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
)

// world is what can be granted in a random world: keys for every type, for one
// type only, for none but "*", and one that is implied on ancestors. A clip may lie
// in several folders.
var world = catalog.MustDefine(catalog.Input{
	Namespaces: []string{"docs"},
	ScopeTypes: []catalog.ScopeType{
		{Type: "docs.folder", Parent: "docs.folder"}, {Type: "docs.doc", Parent: "docs.folder"},
		{Type: "docs.clip", Parent: "docs.folder", MultiParent: true},
	},
	Permissions: []catalog.PermissionSet{
		catalog.Group("docs.files", catalog.GroupInput{Scopes: []string{"docs.folder", "docs.doc", "docs.clip"}},
			catalog.Key("docs.files.read"), catalog.Key("docs.files.update"),
			catalog.Permission{Key: implied, ImpliedOnAncestors: true},
			catalog.Permission{Key: "docs.files.nest", Scopes: []string{"docs.folder"}},
			catalog.Permission{Key: "docs.files.print", Scopes: []string{"docs.doc"}},
		),
		catalog.Leaves(catalog.Key("docs.audit.read")),
	},
})

const implied = "docs.files.list"

var keys = []string{"docs.files.read", "docs.files.update", implied, "docs.files.nest", "docs.files.print", "docs.audit.read"}

// Instances that a filter could take for one another: by case, by what LIKE reads
// as syntax, by prefix.
var instances = []string{"a", "A", "ab", "a_", "a%", `a\`, "é", "É", "1", "01", "a:b"}

// parents draws folders that form a forest, and what lies in them.
func parents(t *rapid.T, clips bool) map[string][]string {
	drawn := map[string][]string{}
	folders := []string{}
	some := rapid.SliceOfDistinct(rapid.SampledFrom(instances), rapid.ID[string])
	for _, id := range some.Draw(t, "folders") {
		above := []string{}
		if len(folders) > 0 && rapid.IntRange(0, 3).Draw(t, "nested") > 0 {
			above = append(above, rapid.SampledFrom(folders).Draw(t, "folder above "+id))
		}
		drawn["docs.folder:"+id] = above
		folders = append(folders, "docs.folder:"+id)
	}
	for _, id := range some.Draw(t, "docs") {
		drawn["docs.doc:"+id] = []string{}
		if len(folders) > 0 && rapid.IntRange(0, 3).Draw(t, "filed") > 0 {
			drawn["docs.doc:"+id] = []string{rapid.SampledFrom(folders).Draw(t, "folder of "+id)}
		}
	}
	if clips && len(folders) > 0 {
		for _, id := range some.Draw(t, "clips") {
			drawn["docs.clip:"+id] = rapid.SliceOfNDistinct(rapid.SampledFrom(folders), 0, 3, rapid.ID[string]).Draw(t, "folders of "+id)
		}
	}
	return drawn
}

// populate writes people and random rows about them. What the application refuses,
// such as a key at a type that it is not for, stays out.
func populate(ctx context.Context, t *rapid.T, app *demo.App, scopes []string) {
	tolerate := func(err error) {
		if err != nil && authz.CodeOf(err) != authz.CodeValidation {
			t.Fatal(err)
		}
	}
	pattern := rapid.SampledFrom(append([]string{"docs.files.*", "docs.*", "*"}, keys...))
	scope := rapid.SampledFrom(append([]string{"", authz.Global}, scopes...))
	for _, group := range []provider.GroupInput{{ID: new("all"), Name: "all"}, {ID: new("team"), Name: "team", Parents: []string{"all"}}} {
		if _, err := app.CreateGroup(ctx, group, demo.Setup); err != nil {
			t.Fatal(err)
		}
	}
	tolerate(app.SetGroupMembership(ctx, "u", []string{"team"}, demo.Setup))
	_, err := app.CreateRole(ctx, provider.RoleInput{ID: new("r"), Name: "r", Patterns: rapid.SliceOfNDistinct(pattern, 1, 3, rapid.ID[string]).Draw(t, "role")}, demo.Setup)
	tolerate(err)
	for range rapid.IntRange(0, 8).Draw(t, "grants") {
		in := provider.GrantInput{Scope: scope.Draw(t, "at"),
			Subject: rapid.SampledFrom([]string{"user:u", "group:team", "group:all", "everyone", "user:other", "group:others"}).Draw(t, "to")}
		if rapid.Bool().Draw(t, "by role") {
			in.RoleID = "r"
		} else {
			in.Pattern = pattern.Draw(t, "grant")
		}
		if rapid.IntRange(0, 3).Draw(t, "dated") == 0 {
			in.ExpiresAt = authz.ExpiresAt(time.Now().Add(time.Hour).UnixMilli())
		}
		_, err := app.CreateGrant(ctx, in, demo.Setup)
		tolerate(err)
	}
	for range rapid.IntRange(0, 3).Draw(t, "revokes") {
		_, err := app.CreateRevoke(ctx, provider.RevokeInput{UserID: "u", Pattern: pattern.Draw(t, "revoke"), Scope: scope.Draw(t, "from")}, demo.Setup)
		tolerate(err)
	}
	tolerate(app.SetUserActive(ctx, "u", rapid.IntRange(0, 9).Draw(t, "active") > 0, demo.Setup))
}

// TestAPlanListsExactlyWhatCanAllows runs the plans of random worlds on SQLite. A
// key that is implied on ancestors may be allowed above what its plan lists; every
// row that it does list passes.
func TestAPlanListsExactlyWhatCanAllows(t *testing.T) {
	type kind struct {
		mode  access.ListingMode
		empty bool
	}
	met := map[kind]int{}
	allowedAbove := 0
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		clips := rapid.Bool().Draw(t, "several parents")
		edges := parents(t, clips)
		scopes := slices.Sorted(maps.Keys(edges))
		app, err := demo.Open(ctx, world, demo.Rows{Parents: edges})
		if err != nil {
			t.Fatal(err)
		}
		defer app.Close()
		populate(ctx, t, app, scopes)
		db, err := openDocuments(ctx, exact, edges)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()

		user := authz.UserPrincipal("u")
		for _, key := range keys {
			var allowed []string
			for _, scope := range scopes {
				may, err := app.Client().Can(ctx, user, key, scope)
				if err != nil {
					t.Fatal(err)
				}
				if may {
					allowed = append(allowed, scope)
				}
			}
			where, err := app.Client().GrantedScopes(ctx, user, key)
			if err != nil {
				t.Fatal(err)
			}
			met[kind{access.PlanListing(where.Granted, where.Revoked).Mode, len(allowed) == 0}]++
			for name, below := range filters {
				if name == "path" && clips {
					continue // a path holds one parent a level
				}
				listed, err := list(ctx, app.Client(), db, user, key, below)
				if err != nil {
					t.Fatal(err)
				}
				want := allowed
				if key == implied {
					want = slices.DeleteFunc(slices.Clone(allowed), func(s string) bool { return !slices.Contains(listed, s) })
					allowedAbove += len(allowed) - len(want)
				}
				if diff := cmp.Diff(want, listed, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s by %s, granted %q, revoked %q (-can +listed)\n%s", key, name, where.Granted, where.Revoked, diff)
				}
			}
		}
	})
	for _, k := range []kind{{access.ListNone, true}, {access.ListAll, false}, {access.ListAllExcept, false}, {access.ListScoped, false}} {
		if met[k] == 0 {
			t.Errorf("no world had a plan %q, empty %v: %s", k.mode, k.empty, fmt.Sprint(met))
		}
	}
	if allowedAbove == 0 {
		t.Error("no world allowed an implied key above a granted scope")
	}
}
