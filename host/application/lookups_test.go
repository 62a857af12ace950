package application_test

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/internal/lacking"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// A tree of every shape that the walk reads in its own way: a scope with more children
// than a chunk, many with few, long lines, and a scope below two parents.
func TestListScopesOfLargeTreesComeWholeInAnyPages(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store, Ancestry: application.Stored(store)})
	want, all := map[string]bool{}, storage.Commit{ID: "tree"}
	put := func(scope string, parents ...string) {
		all.Changes = append(all.Changes, storage.PutScopeParents{Scope: scope, Parents: parents})
		want[scope] = true
	}
	put("docs.folder:top")
	for i := range 2500 {
		put(fmt.Sprintf("docs.doc:wide%d", i), "docs.folder:top")
	}
	for i := range 300 {
		folder := fmt.Sprintf("docs.folder:f%d", i)
		put(folder, "docs.folder:top")
		for j := range 7 {
			put(fmt.Sprintf("docs.doc:f%d-%d", i, j), folder)
		}
	}
	line := "docs.folder:top"
	for i := range 40 {
		next := fmt.Sprintf("docs.folder:line%d", i)
		put(next, line)
		line = next
	}
	put("docs.tag:both", "docs.folder:f1", "docs.folder:line7")
	// A level in another order than that of its ids, at whose end one has many.
	put("docs.folder:A")
	put("docs.folder:A1", "docs.folder:A")
	put("docs.folder:A2", "docs.folder:A")
	for i := range 9 {
		put(fmt.Sprintf("docs.folder:Az%d", i), "docs.folder:A1")
		put(fmt.Sprintf("docs.doc:z%d", i), fmt.Sprintf("docs.folder:Az%d", i))
	}
	put("docs.folder:Ay", "docs.folder:A2")
	for i := range 1100 {
		put(fmt.Sprintf("docs.doc:y%d", i), "docs.folder:Ay")
	}
	all.Changes = append(all.Changes, storage.PutScopeParents{Scope: "docs.folder:apart", Parents: []string{}}, storage.PutScopeParents{Scope: "docs.doc:apart", Parents: []string{"docs.folder:apart"}})
	_, err := store.Commit(t.Context(), all)
	must(t, err)
	for _, scope := range []string{"docs.folder:top", "docs.folder:A"} {
		_, err = app.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:u", Pattern: "docs.files.read", Scope: scope}, root)
		must(t, err)
	}
	_, err = app.CreateRevoke(t.Context(), provider.RevokeInput{UserID: "u", Pattern: "docs.*", Scope: "docs.folder:f2"}, root)
	must(t, err)
	for i := range 7 {
		delete(want, fmt.Sprintf("docs.doc:f2-%d", i))
	}
	delete(want, "docs.folder:f2")
	for _, limit := range []int{0, 10, 17, 1000} {
		q := provider.ScopesQuery{Principal: authz.UserPrincipal("u"), Key: "docs.files.read", Continued: provider.Continued{Limit: limit}}
		got := map[string]bool{}
		for _, s := range rows(t, provider.EveryScope(t.Context(), app, q)) {
			if got[s.Scope] {
				t.Fatalf("pages of %d: %s twice", limit, s.Scope)
			}
			got[s.Scope] = true
		}
		for scope := range want {
			if !got[scope] {
				t.Errorf("pages of %d: %s is missing", limit, scope)
			}
		}
		if len(got) != len(want) {
			t.Errorf("pages of %d: %d scopes, want %d", limit, len(got), len(want))
		}
	}
}

// The last below one granted scope is the first below the next: it stands twice in a row.
func TestListScopesTellsOnceWhatIsBelowASharedScope(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store, Ancestry: application.Stored(store)})
	all := storage.Commit{ID: "shared"}
	for _, c := range []storage.PutScopeParents{
		{Scope: "docs.folder:p", Parents: []string{}},
		{Scope: "docs.folder:q", Parents: []string{}},
		{Scope: "docs.folder:both", Parents: []string{"docs.folder:p", "docs.folder:q"}},
		{Scope: "docs.doc:below", Parents: []string{"docs.folder:both"}},
		{Scope: "docs.folder:z", Parents: []string{"docs.folder:q"}},
	} {
		all.Changes = append(all.Changes, c)
	}
	_, err := store.Commit(t.Context(), all)
	must(t, err)
	for _, scope := range []string{"docs.folder:p", "docs.folder:q"} {
		_, err = app.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:u", Pattern: "docs.files.read", Scope: scope}, root)
		must(t, err)
	}
	for _, limit := range []int{1, 2, 3, 1000} {
		var told []string
		q := provider.ScopesQuery{Principal: authz.UserPrincipal("u"), Key: "docs.files.read", Continued: provider.Continued{Limit: limit}}
		for _, s := range rows(t, provider.EveryScope(t.Context(), app, q)) {
			told = append(told, s.Scope)
		}
		slices.Sort(told)
		if want := []string{"docs.doc:below", "docs.folder:both", "docs.folder:p", "docs.folder:q", "docs.folder:z"}; !slices.Equal(told, want) {
			t.Errorf("pages of %d: %q", limit, told)
		}
	}
}

// Of a grant at "*" every recorded scope is told, and of those that rows name the ones
// that are not recorded.
func TestListScopesOfEverywhereComeWholeInAnyPages(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store, Ancestry: application.Stored(store)})
	want, all := map[string]bool{"*": true, "docs.folder:named": true}, storage.Commit{ID: "everywhere"}
	for i := range 50 {
		folder := fmt.Sprintf("docs.folder:f%d", i)
		all.Changes = append(all.Changes, storage.PutScopeParents{Scope: folder, Parents: []string{}})
		want[folder] = i != 7
		for j := range 70 {
			doc := fmt.Sprintf("docs.doc:%d-%d", j, i)
			all.Changes = append(all.Changes, storage.PutScopeParents{Scope: doc, Parents: []string{folder}})
			want[doc] = i != 7 && (i != 9 || j != 9)
		}
	}
	_, err := store.Commit(t.Context(), all)
	must(t, err)
	for _, scope := range []string{"*", "docs.folder:named", "docs.doc:3-3"} {
		_, err = app.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:u", Pattern: "docs.files.read", Scope: scope}, root)
		must(t, err)
	}
	for _, scope := range []string{"docs.folder:f7", "docs.doc:9-9"} {
		_, err = app.CreateRevoke(t.Context(), provider.RevokeInput{UserID: "u", Pattern: "docs.*", Scope: scope}, root)
		must(t, err)
	}
	for _, limit := range []int{0, 10, 17, 1000} {
		got := map[string]bool{}
		for _, s := range rows(t, provider.EveryScope(t.Context(), app, provider.ScopesQuery{Principal: authz.UserPrincipal("u"), Key: "docs.files.read", Continued: provider.Continued{Limit: limit}})) {
			if got[s.Scope] || !want[s.Scope] {
				t.Fatalf("pages of %d: %s is told: again %v", limit, s.Scope, got[s.Scope])
			}
			got[s.Scope] = true
			if named := s.Scope == "docs.folder:named" || s.Scope == "docs.doc:3-3"; (len(s.By) == 2) != named {
				t.Errorf("pages of %d: %s by %v", limit, s.Scope, s.By)
			}
			if s.Scope == "*" && !slices.Equal(s.Except, []string{"docs.doc:9-9", "docs.folder:f7"}) {
				t.Errorf("everywhere but at %v", s.Except)
			}
		}
		for scope, held := range want {
			if held && !got[scope] {
				t.Errorf("pages of %d: %s is missing", limit, scope)
			}
		}
	}
}

// A page looks at a bounded number of scopes, also where it tells none of them, and the
// list is whole all the same.
func TestListScopesOfFewAmongManyComeWholeInAnyPages(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store, Ancestry: application.Stored(store)})
	all, below := storage.Commit{ID: "few"}, map[string]bool{"docs.folder:1": true, "docs.folder:2": true, "docs.folder:3": true, "docs.folder:2z": true}
	put := func(scope string, parents ...string) {
		all.Changes = append(all.Changes, storage.PutScopeParents{Scope: scope, Parents: parents})
	}
	put("docs.folder:1")
	put("docs.folder:2", "docs.folder:1")
	put("docs.folder:3", "docs.folder:1")
	put("docs.folder:2z", "docs.folder:3")
	put("docs.folder:gone")
	for i := range 4500 {
		both, gone := fmt.Sprintf("docs.doc:both%d", i), fmt.Sprintf("docs.doc:gone%d", i)
		put(both, "docs.folder:2", "docs.folder:3") // told below 2, and looked at again below 3
		put(gone, "docs.folder:gone")
		below[both] = true
	}
	grant := func(user, scope string) {
		all.Changes = append(all.Changes, storage.InsertGrant{Grant: authz.Grant{ID: "g" + user, Subject: "user:" + user, Pattern: "docs.files.read", Scope: scope, Provenance: root}})
	}
	grant("u", "docs.folder:1")
	grant("all", "*")
	all.Changes = append(all.Changes, storage.InsertRevoke{Revoke: authz.Revoke{ID: "r", UserID: "all", Pattern: "docs.*", Scope: "docs.folder:gone", Provenance: root}})
	_, err := store.Commit(t.Context(), all)
	must(t, err)
	everywhere := maps.Clone(below)
	everywhere["*"] = true
	for user, want := range map[string]map[string]bool{"u": below, "all": everywhere} {
		for _, limit := range []int{0, 10, 1000} {
			q := provider.ScopesQuery{Principal: authz.UserPrincipal(user), Key: "docs.files.read", Continued: provider.Continued{Limit: limit}}
			got, short := map[string]bool{}, 0
			for {
				page, err := app.ListScopes(t.Context(), q)
				must(t, err)
				for _, s := range page.Scopes {
					if got[s.Scope] || !want[s.Scope] {
						t.Fatalf("%s, pages of %d: %s is told: again %v", user, limit, s.Scope, got[s.Scope])
					}
					got[s.Scope] = true
				}
				if page.Next != "" && len(page.Scopes) < cmp.Or(limit, provider.MaxLookupPage) {
					short++
				}
				if q.After = page.Next; q.After == "" {
					break
				}
			}
			if len(got) != len(want) || short == 0 {
				t.Errorf("%s, pages of %d: %d scopes, want %d; %d pages ended before they were full", user, limit, len(got), len(want), short)
			}
		}
	}
}

// A page of a list that few are in ends before it is full, and the list is whole all the
// same: of revokes most of which take another key, and of grants most of which confer
// another one.
func TestListSubjectsOfFewAmongManyComeWholeInAnyPages(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store, Ancestry: application.Stored(store)})
	all, excepted, held := storage.Commit{ID: "few"}, map[string]bool{}, map[string]bool{}
	for i := range 5200 {
		u, pattern := fmt.Sprintf("u%d", i), "docs.files.write"
		if i%900 == 5 {
			pattern = "docs.files.read"
			excepted["user:"+u], held["user:"+u] = true, true
		}
		all.Changes = append(all.Changes,
			storage.InsertRevoke{Revoke: authz.Revoke{ID: fmt.Sprintf("r%d", i), UserID: u, Pattern: pattern, Scope: "docs.folder:1", Provenance: root}},
			storage.InsertGrant{Grant: authz.Grant{ID: fmt.Sprintf("g%d", i), Subject: "user:" + u, Pattern: pattern, Scope: "docs.folder:2", Provenance: root}})
	}
	all.Changes = append(all.Changes, storage.InsertGrant{Grant: authz.Grant{ID: "all", Subject: "everyone", Pattern: "docs.files.read", Scope: "docs.folder:1", Provenance: root}})
	_, err := store.Commit(t.Context(), all)
	must(t, err)
	_, err = app.SetScopeParents(t.Context(), []provider.ScopeParents{under("docs.folder:1"), under("docs.folder:2")}, root)
	must(t, err)
	excepted["everyone"] = true
	for scope, want := range map[string]map[string]bool{"docs.folder:1": excepted, "docs.folder:2": held} {
		for _, limit := range []int{0, 3, 1000} {
			q := provider.SubjectsQuery{Key: "docs.files.read", Scope: scope, Continued: provider.Continued{Limit: limit}}
			got, pages := map[string]bool{}, 0
			for {
				page, err := app.ListSubjects(t.Context(), q)
				must(t, err)
				pages++
				for _, h := range page.Subjects {
					if got[h.Subject] || !want[h.Subject] || (h.Except == provider.ExceptRevoked) != (scope == "docs.folder:1" && h.Subject != "everyone") {
						t.Fatalf("%s, pages of %d: %+v is told: again %v", scope, limit, h, got[h.Subject])
					}
					got[h.Subject] = true
				}
				if q.After = page.Next; q.After == "" {
					break
				}
			}
			if len(got) != len(want) || pages < 2 {
				t.Errorf("%s, pages of %d: %d subjects in %d pages, want %d in several", scope, limit, len(got), pages, len(want))
			}
		}
	}
}

func TestListSubjectsOfManyPeopleComeWholeInAnyPages(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store, Ancestry: application.Stored(store)})
	all, want := storage.Commit{ID: "people"}, map[string]bool{}
	for i := range 2300 {
		u := authz.User{UserID: fmt.Sprintf("u%d", i), Active: i%100 != 7, GroupIDs: []string{fmt.Sprint("g", i%3)}}
		if i > 0 {
			u.ManagerUserID = fmt.Sprintf("u%d", (i-1)/3)
		}
		all.Changes = append(all.Changes, storage.UpsertUser{User: u})
		if u.Active && i%3 != 2 {
			want["user:"+u.UserID] = true
		}
	}
	for i := range 1200 {
		id := fmt.Sprintf("own%d", i)
		all.Changes = append(all.Changes, storage.InsertGrant{Grant: authz.Grant{ID: id, Subject: "user:" + id, Pattern: "docs.files.*", Scope: "docs.folder:1", Provenance: root}})
		want["user:"+id] = true
	}
	all.Changes = append(all.Changes, storage.UpsertGroup{Group: authz.Group{ID: "g0", Name: "g0", Parents: []string{"top"}}}, storage.UpsertGroup{Group: authz.Group{ID: "top", Name: "top"}},
		storage.InsertGrant{Grant: authz.Grant{ID: "t", Subject: "group:top", Pattern: "docs.files.read", Scope: "*", Provenance: root}},
		storage.InsertGrant{Grant: authz.Grant{ID: "o", Subject: "group:g1", Pattern: "docs.files.read", Scope: "docs.folder:1", Provenance: root}},
		storage.InsertGrant{Grant: authz.Grant{ID: "d", Subject: "orgof:u2", Pattern: "docs.files.read", Scope: "docs.folder:1", Provenance: root}})
	for i := range 2300 { // everybody below u2
		for above := i; above > 2; {
			if above = (above - 1) / 3; above == 2 && i%100 != 7 {
				want[fmt.Sprintf("user:u%d", i)] = true
			}
		}
	}
	_, err := store.Commit(t.Context(), all)
	must(t, err)
	_, err = app.SetScopeParents(t.Context(), []provider.ScopeParents{under("docs.folder:1")}, root)
	must(t, err)
	for _, limit := range []int{0, 13, 1000} {
		got := map[string]bool{}
		for _, h := range rows(t, provider.EverySubject(t.Context(), app, provider.SubjectsQuery{Key: "docs.files.read", Scope: "docs.folder:1", Continued: provider.Continued{Limit: limit}})) {
			if got[h.Subject] || !want[h.Subject] {
				t.Fatalf("pages of %d: %s is told: again %v", limit, h.Subject, got[h.Subject])
			}
			if got[h.Subject] = true; len(h.By) == 0 {
				t.Errorf("%s by nothing", h.Subject)
			}
			if h.Subject == "user:u3" && !slices.Equal(h.By[0].Through, []string{"group:g0", "group:top"}) {
				t.Errorf("u3 through %v", h.By[0].Through)
			}
		}
		if len(got) != len(want) {
			t.Errorf("pages of %d: %d subjects, want %d", limit, len(got), len(want))
		}
	}
}

// No write makes a circle of scopes, but a database may have one. What is above one scope
// of a circle is not what is above a sibling of it: here the revoke is.
func TestListScopesSeesTheRevokeOfACircle(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store, Ancestry: application.Stored(store)})
	all := storage.Commit{ID: "circle", Changes: []storage.Change{
		storage.PutScopeParents{Scope: "docs.folder:p", Parents: []string{"docs.folder:a"}},
		storage.InsertRevoke{Revoke: authz.Revoke{ID: "r", UserID: "u", Pattern: "docs.*", Scope: "docs.folder:a", Provenance: root}}}}
	for _, scope := range []string{"docs.folder:a", "docs.folder:b"} {
		all.Changes = append(all.Changes, storage.PutScopeParents{Scope: scope, Parents: []string{"docs.folder:p"}},
			storage.InsertGrant{Grant: authz.Grant{ID: scope, Subject: "user:u", Pattern: "docs.files.read", Scope: scope, Provenance: root}})
	}
	_, err := store.Commit(t.Context(), all)
	must(t, err)
	if got := rows(t, provider.EveryScope(t.Context(), app, provider.ScopesQuery{Principal: authz.UserPrincipal("u"), Key: "docs.files.read"})); len(got) != 0 {
		t.Errorf("held in spite of the revoke: %+v", got)
	}
}

func TestLookupsRefuse(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store, Ancestry: application.Stored(store)})
	for _, id := range []string{"1", "2"} {
		_, err := app.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:" + id, Pattern: "docs.admin.read", Scope: "*"}, root)
		must(t, err)
	}
	page, err := app.ListSubjects(t.Context(), provider.SubjectsQuery{Key: "docs.admin.read", Continued: provider.Continued{Limit: 1}})
	must(t, err)
	if page.Next == "" || len(page.Subjects) != 1 {
		t.Fatalf("a page of one: %+v", page)
	}
	poor := newApp(t, application.Options{Store: lacking.Store(openStore(t), storage.CapLookups)})
	u := authz.UserPrincipal("u")
	for name, refused := range map[string]struct {
		err  error
		code authz.Code
	}{
		"the place of another list":   {second(app.ListSubjects(t.Context(), provider.SubjectsQuery{Key: "docs.files.read", Continued: provider.Continued{After: page.Next}})), authz.CodeValidation},
		"a place of no phase":         {second(app.ListSubjects(t.Context(), changed(t, page.Next, `"p":4`, `"p":-1`))), authz.CodeValidation},
		"a place after all phases":    {second(app.ListSubjects(t.Context(), changed(t, page.Next, `"p":4`, `"p":9`))), authz.CodeValidation},
		"a place that no text names":  {second(app.ListSubjects(t.Context(), changed(t, page.Next, `user:1`, `user:\u0000`))), authz.CodeValidation},
		"a place that is none":        {second(app.ListScopes(t.Context(), provider.ScopesQuery{Principal: u, Key: "docs.files.read", Continued: provider.Continued{After: "user:u"}})), authz.CodeValidation},
		"nobody":                      {second(app.ListKeys(t.Context(), provider.KeysQuery{})), authz.CodeValidation},
		"a negative limit":            {second(app.ListKeys(t.Context(), provider.KeysQuery{Principal: u, Continued: provider.Continued{Limit: -1}})), authz.CodeValidation},
		"no scope":                    {second(app.ListSubjects(t.Context(), provider.SubjectsQuery{Key: "docs.files.read", Scope: "folder"})), authz.CodeValidation},
		"a driver without lookups":    {second(poor.ListSubjects(t.Context(), provider.SubjectsQuery{Key: "docs.files.read"})), authz.CodeUnsupported},
		"a key that nobody declares":  {second(app.ListScopes(t.Context(), provider.ScopesQuery{Principal: u, Key: "docs.files.raed"})), ""},
		"an undeclared key, subjects": {second(app.ListSubjects(t.Context(), provider.SubjectsQuery{Key: "docs.files.raed"})), ""},
	} {
		var unknown *authz.UnknownPermissionError
		switch {
		case refused.code == "" && !errors.As(refused.err, &unknown):
			t.Errorf("%s: %v", name, refused.err)
		case refused.code != "" && authz.CodeOf(refused.err) != refused.code:
			t.Errorf("%s: %v, want %s", name, refused.err, refused.code)
		}
	}
	flat, err := poor.ListScopes(t.Context(), provider.ScopesQuery{Principal: u, Key: "docs.files.read"})
	if err != nil || !flat.Expanded {
		t.Errorf("no hierarchy at all: %+v, %v", flat, err)
	}
}

// changed asks on after a place of which somebody changed a part.
func changed(t *testing.T, cursor, old, with string) provider.SubjectsQuery {
	t.Helper()
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	must(t, err)
	if !strings.Contains(string(text), old) {
		t.Fatalf("the place %s has no %s", text, old)
	}
	cursor = base64.RawURLEncoding.EncodeToString([]byte(strings.ReplaceAll(string(text), old, with)))
	return provider.SubjectsQuery{Key: "docs.admin.read", Continued: provider.Continued{Limit: 1, After: cursor}}
}

func second[T any](_ T, err error) error { return err }
