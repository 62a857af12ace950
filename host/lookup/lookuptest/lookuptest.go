// Package lookuptest holds lists of who may, where and what to the definition of a check,
// over any storage driver; tests alone import it.
package lookuptest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	now      int64 = 1_700_000_000_000
	document       = `{
  "namespaces": ["docs"], "includeAuthzInternal": false,
  "scopeTypes": {"docs.folder": {"parent": "docs.folder", "multiParent": true}, "docs.doc": {"parent": "docs.folder", "multiParent": true}},
  "permissions": {
    "docs.files.read": {"scopes": ["docs.folder", "docs.doc"]},
    "docs.files.edit": {"scopes": ["docs.doc"], "requiresCondition": true},
    "docs.files.see": {"scopes": ["docs.doc", "docs.folder"], "impliedOnAncestors": true},
    "docs.admin.run": true
  }
}`
)

var (
	keys     = []string{"docs.files.read", "docs.files.edit", "docs.files.see", "docs.admin.run"}
	scopes   = []string{"docs.folder:1", "docs.folder:2", "docs.folder:3", "docs.doc:1", "docs.doc:2", "docs.doc:3", "docs.doc:4"}
	users    = []string{"a", "b", "c", "d", "nobody"}
	services = []string{"s", "t"}
	groups   = []string{"g1", "g2", "g3", "g4"}
	orgs     = []string{"o1", "o2"}
)

// Property does random writes to new partitions of a driver, and compares for every
// subject, key and scope the three lists with what a check answers.
func Property(t *testing.T, driver storage.Driver) {
	t.Helper()
	in, err := catalog.ParseJSON([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	partition := 0
	rapid.Check(t, func(rt *rapid.T) {
		partition++
		store, err := driver.Open(t.Context(), fmt.Sprintf("lookup%d", partition))
		if err != nil {
			rt.Fatal(err)
		}
		defer store.Close()
		w := world{T: rt, ctx: t.Context(), store: store, catalog: c}
		w.write()
		w.app, err = application.New(w.ctx, application.Options{Catalog: c, Store: store, Ancestry: application.Stored(store), Clock: func() int64 { return now }})
		if err != nil {
			rt.Fatal(err)
		}
		defer w.app.Close()
		w.compare()
	})
}

type world struct {
	*rapid.T
	ctx     context.Context
	store   storage.Store
	catalog *catalog.Catalog
	app     *application.Application
	limit   int
}

func (w *world) one(of []string, what string) string { return rapid.SampledFrom(of).Draw(w.T, what) }

func (w *world) some(of []string, most int, what string) []string {
	if len(of) == 0 {
		return nil
	}
	return rapid.SliceOfNDistinct(rapid.SampledFrom(of), 0, min(most, len(of)), rapid.ID[string]).Draw(w.T, what)
}

func (w *world) write() {
	c := storage.Commit{ID: "c"}
	for i, scope := range scopes {
		if rapid.IntRange(0, 9).Draw(w.T, "recorded") > 0 {
			// Upwards in the list alone: no circles, and folders come first.
			c.Changes = append(c.Changes, storage.PutScopeParents{Scope: scope, Parents: w.some(scopes[:min(i, 3)], 2, "parents")})
		}
	}
	for _, g := range groups {
		c.Changes = append(c.Changes, storage.UpsertGroup{Group: authz.Group{ID: g, Name: g, Parents: w.some(groups, 2, "above")}})
	}
	for i, u := range users[:4] {
		row := authz.User{UserID: u, Active: rapid.IntRange(0, 5).Draw(w.T, "active") > 0, GroupIDs: w.some(groups, 2, "member"), OrgIDs: w.some(orgs[:1], 1, "org")}
		if i > 0 && rapid.Bool().Draw(w.T, "managed") {
			row.ManagerUserID = w.one(users[:i], "manager")
		}
		c.Changes = append(c.Changes, storage.UpsertUser{User: row})
	}
	c.Changes = append(c.Changes, storage.UpsertRole{Role: authz.Role{ID: "r", Name: "r", Patterns: w.some(append([]string{"docs.files.*", "*"}, keys...), 2, "role")}})
	var subjects []string
	for _, u := range users {
		subjects = append(subjects, "user:"+u, "directs:"+u, "orgof:"+u)
	}
	for _, g := range groups {
		subjects = append(subjects, "group:"+g, "group:"+g)
	}
	subjects = append(subjects, "org:o1", "org:o2", "service:s", "service:t", "everyone")
	patterns := append([]string{"*", "docs.*", "docs.files.*", "", ""}, keys...)
	at := append([]string{"*"}, scopes...)
	for i := range rapid.IntRange(0, 12).Draw(w.T, "grants") {
		g := authz.Grant{ID: fmt.Sprint("g", i), Subject: w.one(subjects, "subject"), Pattern: w.one(patterns, "pattern"), Scope: w.one(at, "at"), Provenance: authz.AdminProvenance("root")}
		if g.Pattern == "" {
			g.RoleID = w.one([]string{"r", "r", "gone"}, "role")
		}
		if n := rapid.IntRange(0, 5).Draw(w.T, "expiry"); n < 2 {
			g.ExpiresAt = authz.ExpiresAt(now + int64(n)*2 - 1)
		}
		c.Changes = append(c.Changes, storage.InsertGrant{Grant: g})
	}
	for i := range rapid.IntRange(0, 4).Draw(w.T, "revokes") {
		c.Changes = append(c.Changes, storage.InsertRevoke{Revoke: authz.Revoke{ID: fmt.Sprint("r", i), UserID: w.one(users, "revoked"),
			Pattern: w.one(append([]string{"*", "docs.files.*"}, keys...), "revoke"), Scope: w.one(at, "revoked at"), Provenance: authz.AdminProvenance("root")}})
	}
	if _, err := w.store.Commit(w.ctx, c); err != nil {
		w.Fatal(err)
	}
	w.limit = rapid.SampledFrom([]int{1, 2, 3, 1000}).Draw(w.T, "limit")
}

// can is what the definition answers. An error is an answer of its own.
func (w *world) can(p authz.Principal, key, scope string) (bool, error) {
	rows, err := w.app.GetSubjectAccess(w.ctx, p)
	if err != nil {
		return false, err
	}
	chains := func(scope string) (access.Chain, error) {
		above, err := w.app.ResolveAncestors(w.ctx, scope)
		return access.NewChain(scope, above), err
	}
	chain, err := chains(scope)
	if err != nil {
		return false, err
	}
	return access.Decide(w.catalog, &rows, key, chain, now, chains)
}

func (w *world) principals() (all []authz.Principal) {
	for _, u := range users {
		all = append(all, authz.UserPrincipal(u))
	}
	for _, s := range services {
		all = append(all, authz.ServicePrincipal(s))
	}
	return all
}

func (w *world) compare() {
	everywhere := append([]string{"*"}, scopes...)
	for _, key := range keys {
		for _, scope := range everywhere {
			w.subjects(key, scope)
		}
		for _, p := range w.principals() {
			w.scopes(p, key, everywhere)
		}
	}
	for _, p := range w.principals() {
		for _, scope := range everywhere {
			w.keys(p, scope)
		}
	}
}

// distinct fails on a row that is told twice.
func (w *world) distinct(what string, rows []string) {
	sorted := slices.Sorted(slices.Values(rows))
	if len(slices.Compact(sorted)) != len(rows) {
		w.Fatalf("%s: told twice: %v", what, rows)
	}
}

func (w *world) subjects(key, scope string) {
	what := fmt.Sprint("who holds ", key, " at ", scope)
	held, excepted, told := map[string]provider.Holder{}, map[string]bool{}, []string(nil)
	for h, err := range provider.EverySubject(w.ctx, w.app, provider.SubjectsQuery{Key: key, Scope: scope, Continued: provider.Continued{Limit: w.limit}}) {
		if err != nil {
			if _, err := w.can(authz.UserPrincipal("a"), key, scope); err == nil && !w.broken() {
				w.Fatalf("%s: %v", what, err)
			}
			return
		}
		if told = append(told, h.Subject); h.Except != "" {
			excepted[h.Subject] = true
		} else {
			held[h.Subject] = h
		}
	}
	w.distinct(what, told)
	_, everyone := held[authz.Everyone]
	for _, p := range w.principals() {
		want, err := w.can(p, key, scope)
		if err != nil {
			continue
		}
		h, named := held[p.Subject()]
		if got := named || everyone && !excepted[p.Subject()]; got != want {
			w.Fatalf("%s: %s is told %v, a check answers %v; told %v", what, p.Subject(), got, want, told)
		}
		if named {
			w.by(what, p, key, scope, h)
		}
	}
	for subject := range excepted {
		if id := strings.TrimPrefix(subject, "user:"); !everyone || !slices.Contains(users, id) {
			w.Fatalf("%s: %s is excepted of nothing", what, subject)
		}
	}
}

// by compares the grants of a holder with those of the explanation.
func (w *world) by(what string, p authz.Principal, key, scope string, h provider.Holder) {
	rows, err := w.app.GetSubjectAccess(w.ctx, p)
	if err != nil {
		w.Fatal(err)
	}
	chains := func(scope string) (access.Chain, error) {
		above, err := w.app.ResolveAncestors(w.ctx, scope)
		return access.NewChain(scope, above), err
	}
	chain, err := chains(scope)
	if err != nil {
		w.Fatal(err)
	}
	e, err := access.Explain(w.catalog, &rows, key, chain, now, chains)
	if err != nil && w.broken() {
		return // of the expired rows below a scope that cannot be told
	}
	if err != nil {
		w.Fatal(err)
	}
	var want, got []string
	for _, g := range append(e.MatchedGrants, e.ImpliedBy...) {
		want = append(want, g.ID)
	}
	for _, by := range h.By {
		got = append(got, by.GrantID)
		if n := len(by.Through); (n > 0) != strings.HasPrefix(by.Subject, "group:") || n > 0 && by.Through[n-1] != by.Subject {
			w.Fatalf("%s: %s holds %s through %v", what, h.Subject, by.Subject, by.Through)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" || h.Implied != e.Implied {
		w.Fatalf("%s: %s by other rows (-explained +told), implied %v:\n%s", what, h.Subject, h.Implied, diff)
	}
}

// broken reports a scope whose chain cannot be told: a list that comes to it fails, as a
// check of it does.
func (w *world) broken() bool {
	return slices.ContainsFunc(scopes, func(scope string) bool {
		_, err := w.app.ResolveAncestors(w.ctx, scope)
		return err != nil
	})
}

func (w *world) scopes(p authz.Principal, key string, all []string) {
	what := fmt.Sprint("where ", p.Subject(), " holds ", key)
	var told []string
	for s, err := range provider.EveryScope(w.ctx, w.app, provider.ScopesQuery{Principal: p, Key: key, Continued: provider.Continued{Limit: w.limit}}) {
		if err != nil {
			if !w.broken() {
				w.Fatalf("%s: %v", what, err)
			}
			return
		}
		if len(s.By) == 0 {
			w.Fatalf("%s: %s by nothing", what, s.Scope)
		}
		told = append(told, s.Scope)
	}
	w.distinct(what, told)
	recorded, err := w.store.GetScopeParents(w.ctx, all)
	if err != nil {
		w.Fatal(err)
	}
	for _, scope := range all {
		want, err := w.can(p, key, scope)
		if err != nil {
			continue
		}
		got := slices.Contains(told, scope)
		if _, ok := recorded[scope]; !ok && !got && slices.Contains(told, authz.Global) {
			continue // held everywhere, and never recorded
		}
		if got != want {
			w.Fatalf("%s: %s is told %v, a check answers %v; told %v", what, scope, got, want, told)
		}
	}
}

func (w *world) keys(p authz.Principal, scope string) {
	what := fmt.Sprint("what ", p.Subject(), " holds at ", scope)
	var told []string
	for k, err := range provider.EveryKey(w.ctx, w.app, provider.KeysQuery{Principal: p, Scope: scope, Continued: provider.Continued{Limit: w.limit}}) {
		if err != nil {
			if !w.broken() {
				w.Fatalf("%s: %v", what, err)
			}
			return
		}
		told = append(told, k.Key)
		if k.RequiresCondition != (k.Key == "docs.files.edit") {
			w.Fatalf("%s: the condition of %s", what, k.Key)
		}
	}
	for _, key := range keys {
		want, err := w.can(p, key, scope)
		if err == nil && slices.Contains(told, key) != want {
			w.Fatalf("%s: %s: a check answers %v; told %v", what, key, want, told)
		}
	}
}
