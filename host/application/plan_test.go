package application_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/internal/lacking"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

var (
	planUsers    = []string{"ann", "ben", "cleo", "dan"}
	planGroups   = []string{"a", "b", "c"}
	planRoles    = []string{"r0", "r1", "r2"}
	planScopes   = []string{"*", "docs.folder:1", "docs.folder:2", "docs.doc:1"}
	planSubjects = []string{"user:ann", "user:ben", "group:a", "group:b", "group:c", "everyone", "service:robot", "directs:ann", "orgof:ann", "org:o1"}
	planPatterns = []string{"docs.*", "docs.files.*", "docs.files.read", "docs.files.delete", "docs.files.see", "docs.admin.read"}
)

// seen is a key that a grant below answers above.
const seen = "docs.files.see"

// planWorld is an application with people, groups, roles and rows of every kind.
func planWorld(t *rapid.T, tb testing.TB, store storage.Store) *application.Application {
	app := newApp(tb, application.Options{Store: store, Ancestry: application.Stored(store), IDs: ascending(),
		Catalog: buildCatalog(tb, []byte(strings.Replace(testCatalog, `"docs.admin.read"`, `"docs.files.see": {"scopes": ["docs.folder", "docs.doc"], "impliedOnAncestors": true}, "docs.admin.read"`, 1)))})
	ctx := tb.Context()
	ok := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := app.SetScopeParents(ctx, []provider.ScopeParents{{Scope: "docs.folder:1", Parents: &[]string{}}, {Scope: "docs.folder:2", Parents: &[]string{}},
		{Scope: "docs.doc:1", Parents: &[]string{"docs.folder:1"}}}, root)
	ok(err)
	for _, id := range planRoles {
		_, err := app.CreateRole(ctx, provider.RoleInput{ID: &id, Name: id, Patterns: rapid.SliceOfNDistinct(rapid.SampledFrom(planPatterns), 1, 2, rapid.ID).Draw(t, "patterns")}, root)
		ok(err)
	}
	for i, id := range planGroups {
		_, err := app.CreateGroup(ctx, provider.GroupInput{ID: &id, Name: id, Parents: rapid.SliceOfNDistinct(rapid.SampledFrom(planGroups[:i+1]), 0, i, rapid.ID).Filter(func(p []string) bool { return !slices.Contains(p, id) }).Draw(t, "parents")}, root)
		ok(err)
	}
	for _, u := range planUsers {
		ok(app.SetGroupMembership(ctx, u, rapid.SliceOfNDistinct(rapid.SampledFrom(planGroups), 0, 2, rapid.ID).Draw(t, "groups"), root))
	}
	ok(app.SetReportingEdge(ctx, "ben", "ann", root))
	ok(app.SetReportingEdge(ctx, "cleo", "ben", root))
	_, err = store.Commit(ctx, storage.Commit{ID: "org", Changes: []storage.Change{storage.PatchUser{UserID: "dan", OrgIDs: &[]string{"o1"}}}})
	ok(err)
	for range rapid.IntRange(0, 5).Draw(t, "grants") {
		_, err := app.CreateGrant(ctx, planGrant(t), root)
		_ = err // some are refused: not grantable there
	}
	for range rapid.IntRange(0, 2).Draw(t, "revokes") {
		_, err := app.CreateRevoke(ctx, planRevoke(t), root)
		ok(err)
	}
	return app
}

func planGrant(t *rapid.T) provider.GrantInput {
	in := provider.GrantInput{Subject: rapid.SampledFrom(planSubjects).Draw(t, "subject"), Scope: rapid.SampledFrom(planScopes).Draw(t, "scope")}
	if rapid.Bool().Draw(t, "by role") {
		in.RoleID = rapid.SampledFrom(planRoles).Draw(t, "role")
	} else {
		in.Pattern = rapid.SampledFrom(planPatterns).Draw(t, "pattern")
	}
	return in
}

func planRevoke(t *rapid.T) provider.RevokeInput {
	return provider.RevokeInput{UserID: rapid.SampledFrom(planUsers).Draw(t, "user"), Pattern: rapid.SampledFrom(planPatterns).Draw(t, "pattern"), Scope: rapid.SampledFrom(planScopes).Draw(t, "scope")}
}

// A plan tells exactly the answers that change when it is carried out: of everybody, at
// every scope where a row of theirs lies.
func TestAPlanTellsWhatCarryingItOutChanges(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		store := openStore(t)
		app := planWorld(rt, t, store)
		ctx := t.Context()
		var in provider.Supposing
		var carry []func() error
		for range rapid.IntRange(1, 3).Draw(rt, "changes") {
			switch rapid.IntRange(0, 5).Draw(rt, "change") {
			case 0:
				g := planGrant(rt)
				tried := in
				tried.With.Grants = append(slices.Clone(in.With.Grants), g)
				if _, err := app.Plan(ctx, tried); err != nil {
					continue // refused as createGrant refuses it
				}
				in.With.Grants = append(in.With.Grants, g)
				carry = append(carry, func() error { _, err := app.CreateGrant(ctx, g, root); return err })
			case 1:
				r := planRevoke(rt)
				in.With.Revokes = append(in.With.Revokes, r)
				carry = append(carry, func() error { _, err := app.CreateRevoke(ctx, r, root); return err })
			case 2:
				role, patterns := rapid.SampledFrom(planRoles).Draw(rt, "role"), rapid.SliceOfNDistinct(rapid.SampledFrom(planPatterns), 0, 2, rapid.ID).Draw(rt, "patterns")
				if slices.ContainsFunc(in.With.Roles, func(r provider.SupposedRole) bool { return r.RoleID == role }) || len(in.With.Grants) > 0 {
					continue // a grant of the role may be judged by its patterns
				}
				in.With.Roles = append(in.With.Roles, provider.SupposedRole{RoleID: role, Patterns: patterns})
				carry = append([]func() error{func() error {
					_, err := app.UpdateRole(ctx, role, provider.RoleUpdate{Patterns: &patterns}, root)
					return err
				}}, carry...)
			case 3:
				user, groups := rapid.SampledFrom(planUsers).Draw(rt, "user"), rapid.SliceOfNDistinct(rapid.SampledFrom(planGroups), 0, 2, rapid.ID).Draw(rt, "groups")
				if slices.ContainsFunc(in.With.Members, func(m provider.SupposedMembers) bool { return m.UserID == user }) {
					continue
				}
				in.With.Members = append(in.With.Members, provider.SupposedMembers{UserID: user, GroupIDs: groups})
				carry = append(carry, func() error { return app.SetGroupMembership(ctx, user, groups, root) })
			case 4:
				if len(in.With.Groups) > 0 {
					continue
				}
				in.With.Groups = append(in.With.Groups, provider.SupposedGroup{GroupID: "b", Parents: []string{}})
				carry = append(carry, func() error { _, err := app.SetGroupParents(ctx, "b", []string{}, root); return err })
			case 5:
				for g := range app.ListGrants(ctx, provider.GrantQuery{}) {
					if slices.Contains(in.Without, g.ID) {
						break
					}
					in.Without = append(in.Without, g.ID)
					carry = append(carry, func() error { return app.DeleteGrant(ctx, g.ID, root) })
					break
				}
			}
		}
		impact, err := app.Plan(ctx, in)
		must(t, err)
		subjects := map[string]authz.Principal{"service:robot": authz.ServicePrincipal("robot")}
		for _, u := range planUsers {
			subjects["user:"+u] = authz.UserPrincipal(u)
		}
		before, scopes := answers(t, app, subjects)
		for _, do := range carry {
			must(t, do())
		}
		after, more := answers(t, app, subjects)
		var want []string
		for q, was := range before {
			at := scopes[q.subject]
			if after[q] != was && max(at[q.scope], more[q.subject][q.scope]) >= map[bool]int{true: above, false: there}[q.key == seen] {
				want = append(want, fmt.Sprint(q.subject, " ", q.key, " ", q.scope, " ", after[q]))
			}
		}
		slices.Sort(want)
		got, everyone := []string(nil), map[string]bool{}
		for _, e := range impact.Changes {
			if e.Subject == authz.Everyone {
				everyone[fmt.Sprint(" ", e.Key, " ", e.Scope, " ", e.Allowed)] = true
			} else {
				got = append(got, fmt.Sprint(e.Subject, " ", e.Key, " ", e.Scope, " ", e.Allowed))
			}
		}
		slices.Sort(got)
		want = slices.DeleteFunc(want, func(w string) bool { // told once, of everyone, perhaps above
			q := strings.Fields(w)
			above, err := app.ResolveAncestors(ctx, q[2])
			must(t, err)
			return !slices.Contains(got, w) && slices.ContainsFunc(access.NewChain(q[2], above), func(s string) bool {
				return everyone[" "+q[1]+" "+s+" "+q[3]]
			})
		})
		if !slices.Equal(got, want) {
			rt.Fatalf("of %+v\nthe plan tells %q\nwhat changes is %q", in, got, want)
		}
		if impact.More || len(impact.Unknown)+len(impact.Unresolved) > 0 {
			rt.Fatalf("%+v", impact)
		}
	})
}

// Where a scope lies to the rows of somebody.
const (
	above = iota + 1
	there
)

type planQuestion struct{ subject, key, scope string }

// answers are those of every question, and the scopes at which rows of each subject lie.
func answers(t *testing.T, app *application.Application, subjects map[string]authz.Principal) (map[planQuestion]bool, map[string]map[string]int) {
	all, scopes := map[planQuestion]bool{}, map[string]map[string]int{}
	for subject, p := range subjects {
		rows, err := app.GetSubjectAccess(t.Context(), p)
		must(t, err)
		scopes[subject] = map[string]int{"*": there}
		note := func(scope string) {
			scopes[subject][scope] = there
			ancestors, err := app.ResolveAncestors(t.Context(), scope)
			must(t, err)
			for _, a := range ancestors {
				scopes[subject][a] = max(scopes[subject][a], above)
			}
		}
		for _, g := range rows.Grants {
			note(g.Scope)
		}
		for _, r := range rows.Revokes {
			note(r.Scope)
		}
		for _, key := range app.Catalog().Keys() {
			for _, scope := range planScopes {
				ancestors, err := app.ResolveAncestors(t.Context(), scope)
				must(t, err)
				allowed, err := access.Decide(app.Catalog(), &rows, key, access.NewChain(scope, ancestors), 1, func(s string) (access.Chain, error) {
					ancestors, err := app.ResolveAncestors(t.Context(), s)
					return access.NewChain(s, ancestors), err
				})
				must(t, err)
				all[planQuestion{subject, key, scope}] = allowed
			}
		}
	}
	return all, scopes
}

func TestAPlanIsRefusedWithItsPlace(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store, Ancestry: application.Stored(store)})
	for name, c := range map[string]struct {
		in   provider.Supposing
		says string
	}{
		"an unknown pattern":   {provider.Supposing{With: provider.Supposed{Grants: []provider.GrantInput{{Subject: "user:u", Pattern: "docs.files.raed"}}}}, `with.grants[0]: pattern "docs.files.raed" references nothing`},
		"no such role":         {provider.Supposing{With: provider.Supposed{Grants: []provider.GrantInput{{Subject: "user:u", RoleID: "r"}}}}, `with.grants[0]: role "r" does not exist`},
		"no subject":           {provider.Supposing{With: provider.Supposed{Grants: []provider.GrantInput{{Subject: "u", Pattern: "docs.*"}}}}, `with.grants[0]: "u" is not a valid subject id`},
		"no such group":        {provider.Supposing{With: provider.Supposed{Members: []provider.SupposedMembers{{UserID: "u", GroupIDs: []string{"g"}}}}}, `with.members[0]: group "g" does not exist`},
		"a circle":             {provider.Supposing{With: provider.Supposed{Groups: []provider.SupposedGroup{{GroupID: "g", Parents: []string{"h"}}, {GroupID: "h", Parents: []string{"g"}}}}}, "cycle: "},
		"a revoke of nothing":  {provider.Supposing{With: provider.Supposed{Revokes: []provider.RevokeInput{{UserID: "u", Pattern: "mail.*"}}}}, "with.revokes[0]: "},
		"a row that is gone":   {provider.Supposing{Without: []string{"g1"}}, `without[0]: no grant and no revoke has the id "g1"`},
		"a role of no pattern": {provider.Supposing{With: provider.Supposed{Roles: []provider.SupposedRole{{RoleID: "r", Patterns: []string{"nothing.*"}}}}}, "with.roles[0]: "},
	} {
		_, err := app.Plan(t.Context(), c.in)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s", name, err, c.says)
		}
	}
}

// A plan that meets a bound says so, and one of people whom the driver does not list.
func TestAPlanSaysWhatItDoesNotTell(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store, Ancestry: application.Stored(store)})
	_, err := app.CreateGroup(t.Context(), provider.GroupInput{ID: new("all"), Name: "all"}, root)
	must(t, err)
	change := storage.Commit{ID: "people"}
	for i := range provider.MaxPlanPrincipals + 5 {
		change.Changes = append(change.Changes, storage.PatchUser{UserID: fmt.Sprintf("u%04d", i), GroupIDs: &[]string{"all"}})
	}
	_, err = store.Commit(t.Context(), change)
	must(t, err)
	impact, err := app.Plan(t.Context(), provider.Supposing{With: provider.Supposed{Grants: []provider.GrantInput{{Subject: "group:all", Pattern: "docs.files.read"}}}})
	must(t, err)
	if !impact.More || impact.Checked != provider.MaxPlanPrincipals || len(impact.Changes) != provider.MaxPlanPrincipals {
		t.Errorf("more is %v, %d checked, %d changes", impact.More, impact.Checked, len(impact.Changes))
	}
	to := func(subject string) provider.Supposing {
		return provider.Supposing{With: provider.Supposed{Grants: []provider.GrantInput{{Subject: subject, Pattern: "docs.files.read"}}}}
	}
	poor := newApp(t, application.Options{Store: lacking.Store(store, storage.CapLookups)})
	for _, subject := range []string{"org:o", "directs:m", "orgof:m"} {
		impact, err := poor.Plan(t.Context(), to(subject))
		must(t, err)
		if !slices.Equal(impact.Unknown, []string{subject}) {
			t.Errorf("%s: %+v", subject, impact)
		}
	}
	impact, err = app.Plan(t.Context(), to("everyone"))
	must(t, err)
	if len(impact.Changes) != 1 || impact.Changes[0] != (provider.Effect{Subject: "everyone", Key: "docs.files.read", Scope: "*", Allowed: true}) {
		t.Errorf("everyone: %+v", impact)
	}
	_, err = app.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:v", Pattern: "docs.files.read", Scope: "docs.doc:unrecorded"}, root)
	must(t, err)
	if impact, err = app.Plan(t.Context(), to("user:v")); err != nil || !slices.Equal(impact.Unresolved, []string{"docs.doc:unrecorded"}) || len(impact.Changes) != 1 {
		t.Errorf("a scope that is not recorded: %+v, %v", impact, err)
	}
}

// A grant of a role that many have concerns whom it is for, and nobody else.
func TestAPlanOfAGrantConcernsItsSubjectAlone(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store})
	_, err := app.CreateRole(t.Context(), provider.RoleInput{ID: new("reader"), Name: "Reader", Patterns: []string{"docs.files.read"}}, root)
	must(t, err)
	var many []provider.GrantInput
	for i := range provider.MaxPlanPrincipals + 1 {
		many = append(many, provider.GrantInput{Subject: fmt.Sprintf("user:u%04d", i), RoleID: "reader"})
	}
	for some := range slices.Chunk(many, 500) {
		_, err := app.CreateGrants(t.Context(), some, root)
		must(t, err)
	}
	impact, err := app.Plan(t.Context(), provider.Supposing{With: provider.Supposed{Grants: []provider.GrantInput{{Subject: "user:new", RoleID: "reader"}}}})
	must(t, err)
	if impact.More || impact.Checked != 1 || len(impact.Changes) != 1 {
		t.Errorf("more is %v, %d checked, %v", impact.More, impact.Checked, impact.Changes)
	}
	impact, err = app.Plan(t.Context(), provider.Supposing{With: provider.Supposed{Roles: []provider.SupposedRole{{RoleID: "reader", Patterns: []string{}}}}})
	must(t, err)
	if !impact.More || impact.Checked != provider.MaxPlanPrincipals {
		t.Errorf("of the role itself: more is %v, %d checked", impact.More, impact.Checked)
	}
}
