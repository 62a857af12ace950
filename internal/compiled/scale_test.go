package compiled_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"pgregory.net/rapid"
)

func scaleCatalog(t *testing.T, keys int) *compiled.Vocabulary {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"namespaces":["app"],"includeAuthzInternal":false,"scopeTypes":{"app.folder":{"parent":"app.folder"}},
		"groups":{"app":{"scopes":["app.folder"]}},"permissions":{`)
	for k := range keys {
		if k > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"app.a%d.read_%d":true`, k/10, k%10)
	}
	b.WriteString("}}")
	return vocabularyOf(t, b.String())
}

// agree holds the compiled forms to the plain definition.
func agree(t *testing.T, v *compiled.Vocabulary, data *authz.SubjectAccess, keys []string, c *compiled.Chain) (allowed int) {
	t.Helper()
	a := compiled.Compile(v, data, 0)
	var view compiled.View
	view.See(c)
	for _, key := range keys {
		k, ok := v.Lookup(key)
		if !ok {
			t.Fatalf("%s is not declared", key)
		}
		want, err := access.Decide(v.Catalog(), data, key, c.Scopes(), 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := a.Decide(k, c)
		seen, _ := a.DecideView(k, &view)
		if got != want || seen != want {
			t.Fatalf("%s: Decide %v, DecideView %v, plain definition %v", key, got, seen, want)
		}
		if got {
			allowed++
		}
	}
	return allowed
}

func TestChainsFarLongerThanABatchAreJudgedWhole(t *testing.T) {
	v := scaleCatalog(t, 300)
	user := "u"
	var ancestors []string
	for n := range 200 {
		ancestors = append(ancestors, fmt.Sprintf("app.folder:%d", n))
	}
	chain := compiled.NewChain("app.folder:target", ancestors)
	for _, revokedAt := range []int{-1, 0, 14, 15, 16, 17, 100, 199} {
		data := &authz.SubjectAccess{UserID: &user, Active: true, Closure: []string{"user:u"}}
		var keys []string
		for n := range 200 {
			key := fmt.Sprintf("app.a%d.read_%d", n/10, n%10)
			keys = append(keys, key)
			data.Grants = append(data.Grants, authz.Grant{ID: key, Subject: "user:u", Pattern: key, Scope: ancestors[n]})
			for extra := range n % 5 { // more intervals than a slot holds itself
				data.Grants = append(data.Grants, authz.Grant{ID: fmt.Sprint(n, extra), Subject: "user:u",
					Pattern: fmt.Sprintf("app.a%d.read_%d", 20+extra, extra), Scope: ancestors[n]})
			}
		}
		want := 200
		if revokedAt >= 0 {
			data.Revokes = append(data.Revokes, authz.Revoke{ID: "r", UserID: user, Pattern: "app.a3.*", Scope: ancestors[revokedAt]})
			want = 190
		}
		if got := agree(t, v, data, keys, chain); got != want {
			t.Errorf("revoked at %d: %d keys allowed, want %d", revokedAt, got, want)
		}
	}
}

// Five thousand keys are more than a view makes bitsets for at once, seventy
// thousand more than it ever does, and than narrow intervals number.
func TestWideCatalogsAreExact(t *testing.T) {
	for _, size := range []int{5_000, 70_000} {
		v := scaleCatalog(t, size)
		user := "u"
		data := &authz.SubjectAccess{UserID: &user, Active: true, Closure: []string{"user:u"}}
		var keys []string
		for n := 0; n < size; n += size / 70 {
			key := fmt.Sprintf("app.a%d.read_%d", n/10, n%10)
			keys = append(keys, key)
			if n%2 == 0 {
				data.Grants = append(data.Grants, authz.Grant{ID: key, Subject: "user:u", Pattern: fmt.Sprintf("app.a%d.*", n/10), Scope: fmt.Sprintf("app.folder:%d", n%3)})
			}
		}
		data.Revokes = []authz.Revoke{{ID: "r", UserID: user, Pattern: keys[len(keys)-1], Scope: "app.folder:1"}, {ID: "r2", UserID: user, Pattern: keys[0], Scope: "app.folder:2"}}
		allowed := agree(t, v, data, keys, compiled.NewChain("app.folder:0", []string{"app.folder:1", "app.folder:2"}))
		if allowed == 0 || allowed == len(keys) {
			t.Errorf("%d keys: %d of %d allowed: they show little", size, allowed, len(keys))
		}
	}
}

// A view that many ask for the first time answers as the chain does, whoever makes it.
func TestAViewIsAskedByManyAtOnce(t *testing.T) {
	for _, size := range []int{300, 2_000} {
		v := scaleCatalog(t, size)
		user := "u"
		data := &authz.SubjectAccess{UserID: &user, Active: true, Closure: []string{"user:u"}}
		var keys []compiled.Key
		for n := range 40 {
			name := fmt.Sprintf("app.a%d.read_%d", n/10, n%10)
			k, ok := v.Lookup(name)
			if !ok {
				t.Fatalf("%s is not declared", name)
			}
			keys = append(keys, k)
			if n%2 == 0 {
				data.Grants = append(data.Grants, authz.Grant{ID: name, Subject: "user:u", Pattern: name, Scope: fmt.Sprintf("app.folder:%d", n%5)})
			}
		}
		data.Revokes = []authz.Revoke{{ID: "r", UserID: user, Pattern: "app.a1.*", Scope: "app.folder:3"}}
		a := compiled.Compile(v, data, 0)
		chain := compiled.NewChain("app.folder:0", []string{"app.folder:1", "app.folder:2", "app.folder:3", "app.folder:4"})
		for range 50 {
			var view compiled.View
			view.See(chain)
			var all sync.WaitGroup
			start := make(chan struct{})
			for first := range 8 {
				all.Go(func() {
					<-start
					for i := range keys {
						k := keys[(first+i)%len(keys)]
						allowed, _ := a.Decide(k, chain)
						if got, _ := a.DecideView(k, &view); got != allowed {
							t.Errorf("%d keys: the view says %v, the chain %v", size, got, allowed)
						}
					}
				})
			}
			close(start)
			all.Wait()
		}
	}
}

// Among so many scopes there are some whose tags are the same and whose places follow
// one another: each still has rows of its own.
func TestScopesThatShareATagAreToldApart(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED with -short: 300,000 scopes")
	}
	v := scaleCatalog(t, 300)
	data := &authz.SubjectAccess{UserID: new("u"), Active: true, Closure: []string{"user:u"}}
	const scopes = 300_000
	keys := [2]compiled.Key{}
	for i := range keys {
		keys[i], _ = v.Lookup(fmt.Sprint("app.a0.read_", i))
	}
	for n := range scopes {
		data.Grants = append(data.Grants, authz.Grant{ID: "g", Subject: "user:u", Pattern: fmt.Sprint("app.a0.read_", n%2), Scope: fmt.Sprint("app.folder:", n)})
	}
	a := compiled.Compile(v, data, 0)
	for n := range scopes {
		chain := compiled.NewChain(fmt.Sprint("app.folder:", n), nil)
		if allowed, _ := a.Decide(keys[n%2], chain); !allowed {
			t.Fatalf("scope %d: denied what is granted there", n)
		}
		if allowed, _ := a.Decide(keys[1-n%2], chain); allowed {
			t.Fatalf("scope %d: allowed what is granted elsewhere", n)
		}
	}
}

func TestScopeTypesBeyondTheMaskAreExact(t *testing.T) {
	var types []string
	for n := range 150 {
		types = append(types, fmt.Sprintf(`"app.type%d":{}`, n))
	}
	v, user := vocabularyOf(t, `{"namespaces":["app"],"includeAuthzInternal":false,"scopeTypes":{`+strings.Join(types, ",")+`},
		"permissions":{"app.a.read":{"scopes":["app.type3","app.type140"]},"app.b.read":{"scopes":["app.type64"]}}}`), "u"
	for n := range 150 {
		scope := fmt.Sprintf("app.type%d:1", n)
		data := &authz.SubjectAccess{UserID: &user, Active: true, Closure: []string{"user:u"},
			Grants: []authz.Grant{{ID: "g", Subject: "user:u", Pattern: "app.*", Scope: scope}}}
		want := 0
		if n == 3 || n == 140 || n == 64 {
			want = 1
		}
		if got := agree(t, v, data, []string{"app.a.read", "app.b.read"}, compiled.NewChain(scope, nil)); got != want {
			t.Errorf("type %d: %d keys allowed, want %d", n, got, want)
		}
	}
}

// Roles of more patterns than a slot holds, alone at their scopes, beside others, and
// with revokes; for principals who have the same ones and others, one after the other.
func TestWideRolesAreThePlainDefinition(t *testing.T) {
	vocabularies := map[int]*compiled.Vocabulary{}
	for _, size := range []int{300, 3_000} { // in sets of words, and of intervals
		vocabularies[size] = scaleCatalog(t, size)
	}
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{300, 3_000}).Draw(t, "size")
		v := vocabularies[size]
		key := rapid.Custom(func(t *rapid.T) string {
			n := rapid.IntRange(0, 59).Draw(t, "n") * size / 60
			return fmt.Sprintf("app.a%d.read_%d", n/10, n%10)
		})
		pattern := rapid.Custom(func(t *rapid.T) string {
			k := key.Draw(t, "key")
			if rapid.Bool().Draw(t, "group") {
				k = k[:strings.LastIndex(k, ".")] + ".*"
			}
			return k
		})
		scope := rapid.SampledFrom([]string{"*", "app.folder:0", "app.folder:1", "app.folder:2", "app.folder:3"})
		var roles []authz.Role
		for n := range rapid.IntRange(1, 4).Draw(t, "roles") {
			roles = append(roles, authz.Role{ID: fmt.Sprint("r", n), Patterns: rapid.SliceOfN(pattern, 0, 12).Draw(t, "patterns")})
		}
		for range 3 {
			w := &world{vocabulary: v, parents: map[string][]string{"app.folder:0": {"app.folder:1"}, "app.folder:1": {"app.folder:2"}}}
			w.data = authz.SubjectAccess{UserID: new("u"), Active: true, Closure: []string{"user:u"}, Roles: roles[rapid.IntRange(0, len(roles)-1).Draw(t, "without"):]}
			for n := range rapid.IntRange(0, 8).Draw(t, "grants") {
				g := authz.Grant{ID: fmt.Sprint("g", n), Subject: "user:u", Scope: scope.Draw(t, "at")}
				if rapid.IntRange(0, 3).Draw(t, "direct") == 0 {
					g.Pattern = pattern.Draw(t, "pattern")
				} else {
					g.RoleID = rapid.SampledFrom(roles).Draw(t, "role").ID
				}
				w.data.Grants = append(w.data.Grants, g)
			}
			for n := range rapid.IntRange(0, 3).Draw(t, "revokes") {
				w.data.Revokes = append(w.data.Revokes, authz.Revoke{ID: fmt.Sprint("v", n), UserID: "u", Pattern: pattern.Draw(t, "revoked"), Scope: scope.Draw(t, "revoked at")})
			}
			a := compiled.Compile(v, &w.data, 0)
			held := a.HeldKeys()
			for n := range 60 {
				n = n * size / 60
				asked := fmt.Sprintf("app.a%d.read_%d", n/10, n%10)
				k, _ := v.Lookup(asked)
				if want := w.holds(asked, 0); want != slices.Contains(held, asked) || want != a.HeldAnywhere(k) {
					t.Fatalf("%s held: want %v", asked, want)
				}
				for _, at := range []string{"*", "app.folder:0", "app.folder:2", "app.folder:3"} {
					chain, _ := w.chains(at)
					var view compiled.View
					view.See(chain)
					got, _ := a.Decide(k, chain)
					seen, _ := a.DecideView(k, &view)
					if want := w.can(asked, at, 0); got != want || seen != want {
						t.Fatalf("%s at %s: Decide %v, DecideView %v, want %v", asked, at, got, seen, want)
					}
				}
			}
		}
	})
}

// What a compilation keeps of roles changes no later one: not when a role means
// something else, nor when its rows no longer have it, nor when roles are too many.
func TestRolesAreThoseOfTheRows(t *testing.T) {
	v := scaleCatalog(t, 300)
	keys := []string{"app.a0.read_0", "app.a1.read_0", "app.a2.read_0"}
	holds := func(roles ...authz.Role) (held []string) {
		t.Helper()
		data := &authz.SubjectAccess{UserID: new("u"), Active: true, Closure: []string{"user:u"}, Roles: roles,
			Grants: []authz.Grant{{ID: "g", Subject: "user:u", RoleID: "r", Scope: authz.Global}}}
		agree(t, v, data, keys, compiled.GlobalChain)
		return compiled.Compile(v, data, 0).HeldKeys()
	}
	role := func(patterns ...string) authz.Role { return authz.Role{ID: "r", Patterns: patterns} }
	same := role("app.a1.read_0", "app.a0.*", "app.a0.read_3")
	crowd := make([]authz.Role, 3000)
	for i := range crowd {
		crowd[i] = authz.Role{ID: fmt.Sprint("other", i), Patterns: []string{"*", "app.*", "app.a0.*", "app.a1.*", "app.a2.*", "app.a3.*"}}
	}
	for i, c := range []struct {
		roles []authz.Role
		want  int
	}{
		{[]authz.Role{same}, 11}, {[]authz.Role{same}, 11}, {[]authz.Role{role("app.a2.read_0")}, 1}, {nil, 0},
		{[]authz.Role{role()}, 0}, {[]authz.Role{role("app.a2.read_0", "gone.*")}, 1}, {[]authz.Role{same, role("app.a2.*")}, 10},
		{append(crowd, same), 11}, {[]authz.Role{same}, 11}, {crowd, 0},
	} {
		if got := holds(c.roles...); len(got) != c.want {
			t.Errorf("step %d: %v, want %d keys", i, got, c.want)
		}
	}
}
