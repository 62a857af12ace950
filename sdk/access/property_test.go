package access_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"pgregory.net/rapid"
)

// The plain definition: access.md's algebra written down over maps and lists,
// with nothing of the package under test.
type world struct {
	leaves  map[string]leaf
	parents map[string][]string
	data    authz.SubjectAccess
}

type leaf struct {
	scopes  []string
	implied bool
}

func (w *world) chain(scope string) []string {
	if scope == "*" {
		return []string{"*"}
	}
	chain := []string{scope}
	for i := 0; i < len(chain); i++ {
		for _, p := range w.parents[chain[i]] {
			if !slices.Contains(chain, p) {
				chain = append(chain, p)
			}
		}
	}
	return append(chain, "*")
}

func (w *world) live(g authz.Grant, key string, now int64) bool {
	if !slices.Contains(w.data.Closure, g.Subject) || g.ExpiresAt.Expired(now) {
		return false
	}
	if g.Scope != "*" {
		t, _, ok := strings.Cut(g.Scope, ":")
		if !ok || !slices.Contains(w.leaves[key].scopes, t) {
			return false
		}
	}
	patterns := []string{g.Pattern}
	if g.Pattern == "" {
		patterns = nil
		for _, r := range w.data.Roles {
			if r.ID == g.RoleID {
				patterns = r.Patterns
			}
		}
	}
	_, declared := w.leaves[key]
	for _, p := range patterns {
		matches := p == key || p == "*" && declared ||
			strings.HasSuffix(p, ".*") && strings.HasPrefix(key, strings.TrimSuffix(p, "*"))
		if matches {
			return true
		}
	}
	return false
}

func (w *world) revoked(key string, chain []string) bool {
	for _, r := range w.data.Revokes {
		if w.data.UserID != nil && r.UserID == *w.data.UserID && slices.Contains(chain, r.Scope) && authz.Match(r.Pattern, key) {
			return true
		}
	}
	return false
}

func (w *world) can(key, target string, now int64) bool {
	chain := w.chain(target)
	if !w.data.Active || w.revoked(key, chain) {
		return false
	}
	for _, g := range w.data.Grants {
		if w.live(g, key, now) && slices.Contains(chain, g.Scope) {
			return true
		}
	}
	if !w.leaves[key].implied || target == "*" {
		return false
	}
	for _, g := range w.data.Grants {
		own := w.chain(g.Scope)
		if w.live(g, key, now) && g.Scope != "*" && g.Scope != target && slices.Contains(own, target) && !w.revoked(key, own) {
			return true
		}
	}
	return false
}

var (
	scopeTypes = []string{"app.folder", "app.doc", "app.flat", "app.multi"}
	allKeys    = []string{"app.a.read", "app.a.edit_x", "app.a.b.read", "app.ab.read", "app.c.read", "app.c.list", "crm.a.read", "crm.list.read"}
)

func drawWorld(t *rapid.T) (*world, *access.Vocabulary) {
	w := &world{leaves: map[string]leaf{}, parents: map[string][]string{}}
	var doc []string
	for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom(allKeys), 1, len(allKeys), rapid.ID[string]).Draw(t, "keys") {
		l := leaf{scopes: rapid.SliceOfDistinct(rapid.SampledFrom(scopeTypes), rapid.ID[string]).Draw(t, "scopes"), implied: rapid.Bool().Draw(t, "implied")}
		w.leaves[k] = l
		quoted := make([]string, len(l.scopes))
		for i, s := range l.scopes {
			quoted[i] = `"` + s + `"`
		}
		doc = append(doc, fmt.Sprintf(`%q:{"scopes":[%s],"impliedOnAncestors":%t}`, k, strings.Join(quoted, ","), l.implied))
	}
	in, err := catalog.ParseJSON([]byte(`{"namespaces":["app","crm"],"includeAuthzInternal":false,"conventions":{"depth":"any"},"permissions":{` + strings.Join(doc, ",") + `},
		"scopeTypes":{"app.folder":{"parent":"app.folder"},"app.doc":{"parent":"app.folder"},"app.flat":{},"app.multi":{"multiParent":true}}}`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	scopes := []string{"*", "app.folder:1", "app.folder:2", "app.folder:3", "app.doc:1", "app.doc:2", "app.flat:1", "app.multi:1", "other.type:1", "untyped"}
	for i, s := range scopes[2:8] {
		w.parents[s] = rapid.SliceOfNDistinct(rapid.SampledFrom(scopes[1:2+i]), 0, 2, rapid.ID[string]).Draw(t, "parents of "+s)
	}
	pattern := rapid.SampledFrom(append([]string{"*", "app.*", "app.a.*", "app.a.b.*", "app.c.*", "crm.*", "gone.*", "gone.x"}, allKeys...))
	scope := rapid.SampledFrom(scopes)
	user := "u"
	w.data = authz.SubjectAccess{UserID: &user, Closure: []string{"user:u", "group:g", "everyone"}, Active: rapid.IntRange(0, 9).Draw(t, "active") > 0}
	if rapid.IntRange(0, 9).Draw(t, "service") == 0 {
		w.data.UserID, w.data.Closure = nil, []string{"service:u", "everyone"}
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "roles") {
		w.data.Roles = append(w.data.Roles, authz.Role{ID: fmt.Sprint("r", i), Patterns: rapid.SliceOfN(pattern, 0, 12).Draw(t, "patterns")})
	}
	for i := range rapid.IntRange(0, 12).Draw(t, "grants") {
		g := authz.Grant{ID: fmt.Sprint("g", i), Scope: scope.Draw(t, "at"),
			Subject: rapid.SampledFrom([]string{"user:u", "group:g", "everyone", "group:other", "service:u"}).Draw(t, "to")}
		if rapid.Bool().Draw(t, "by role") {
			g.RoleID = fmt.Sprint("r", rapid.IntRange(0, 3).Draw(t, "role"))
		} else {
			g.Pattern = pattern.Draw(t, "pattern")
		}
		if rapid.IntRange(0, 3).Draw(t, "expires") == 0 {
			g.ExpiresAt = authz.ExpiresAt(rapid.Int64Range(-1, 6).Draw(t, "expiry"))
		}
		w.data.Grants = append(w.data.Grants, g)
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "revokes") {
		w.data.Revokes = append(w.data.Revokes, authz.Revoke{ID: fmt.Sprint("v", i), Pattern: pattern.Draw(t, "pattern"), Scope: scope.Draw(t, "at"),
			UserID: rapid.SampledFrom([]string{"u", "u", "u", "other"}).Draw(t, "of")})
	}
	return w, access.NewVocabulary(c)
}

// TestCompiledEqualsThePlainDefinition compares every form of evaluation with the
// plain one, for every key and scope, at instants around every expiry, and on
// access compiled at another instant as long as it calls itself valid.
func TestCompiledEqualsThePlainDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, v := drawWorld(t)
		chains := func(scope string) (*access.Chain, error) { return access.NewChain(scope, w.chain(scope)), nil }
		compiledAt := rapid.Int64Range(0, 7).Draw(t, "compiled at")
		early := access.Compile(v, &w.data, compiledAt)
		for now := int64(0); now <= 7; now++ {
			a := early
			if !a.ValidAt(now) {
				a = access.Compile(v, &w.data, now)
			}
			if !a.ValidAt(now) {
				t.Fatalf("access compiled at %d is not valid then", now)
			}
			for _, key := range append([]string{"crm.gone.read"}, allKeys...) {
				for _, scope := range []string{"*", "app.folder:1", "app.folder:2", "app.folder:3", "app.doc:1", "app.doc:2", "app.flat:1", "app.multi:1", "other.type:1", "untyped"} {
					want := w.can(key, scope, now)
					chain, _ := chains(scope)
					e, err := access.Explain(v, &w.data, key, chain, now, chains)
					if err != nil {
						t.Fatal(err)
					}
					if e.Allowed != want {
						t.Fatalf("Explain(%s, %s) at %d = %v, plain definition %v", key, scope, now, e.Allowed, want)
					}
					k, declared := v.Lookup(key)
					if !declared {
						if got := access.DecideUndeclared(v, &w.data, key, chain, now); got != want {
							t.Fatalf("DecideUndeclared(%s, %s) at %d = %v, plain definition %v", key, scope, now, got, want)
						}
						continue
					}
					for name, decide := range map[string]func() (bool, bool){
						"Decide":     func() (bool, bool) { return a.Decide(k, chain) },
						"DecideView": func() (bool, bool) { return a.DecideView(k, a.View(chain)) },
					} {
						got, revoked := decide()
						if got && revoked {
							t.Fatalf("%s allowed what it found revoked", name)
						}
						if !got && !revoked {
							if got, err = a.Implied(k, chain, chains); err != nil {
								t.Fatal(err)
							}
						}
						if got = got && a.Active(); got != want {
							t.Fatalf("%s(%s, %s) at %d = %v, plain definition %v", name, key, scope, now, got, want)
						}
					}
				}
			}
		}
	})
}
