package compiled_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// world is a catalog and the rows of one principal. What is expected of every form of
// evaluation is said by the definition, access.Decide, or in these few lines by the rows
// that it reads.
type world struct {
	vocabulary *compiled.Vocabulary
	parents    map[string][]string
	regions    []region
	data       authz.SubjectAccess
}

// region is an open import: keys below prefix that nobody can list.
type region struct {
	pattern string
	scopes  []string
	strict  bool
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

func (w *world) chains(scope string) (*compiled.Chain, error) {
	return compiled.NewChain(scope, w.chain(scope)), nil
}

// plain are the chains that the definition asks for.
func (w *world) plain(scope string) (access.Chain, error) {
	return access.NewChain(scope, w.chain(scope)), nil
}

func (w *world) can(key, target string, now int64) bool {
	chain, _ := w.plain(target)
	allowed, err := access.Decide(w.vocabulary.Catalog(), &w.data, key, chain, now, w.plain)
	return allowed && err == nil
}

func (w *world) live(key string, now int64) []authz.Grant {
	return access.Conferring(w.vocabulary.Catalog(), &w.data, key, now)
}

// revoked reports whether a revoke at one of the scopes takes the key.
func (w *world) revoked(key string, scopes ...string) bool {
	return slices.ContainsFunc(w.data.Revokes, func(r authz.Revoke) bool {
		return w.theirs(r) && slices.Contains(scopes, r.Scope) && authz.Match(r.Pattern, key)
	})
}

func (w *world) theirs(r authz.Revoke) bool {
	return w.data.UserID != nil && r.UserID == *w.data.UserID
}

func (w *world) patterns(g authz.Grant) []string {
	if g.Pattern != "" {
		return []string{g.Pattern}
	}
	return w.rolePatterns(g.RoleID)
}

func (w *world) holds(key string, now int64) bool { return w.data.Active && w.holdsByRows(key, now) }

func (w *world) grantedScopes(key string, now int64) access.GrantedScopes {
	g := access.GrantedScopes{Granted: []string{}, Revoked: []string{}}
	if !w.data.Active {
		return g
	}
	for _, row := range w.live(key, now) {
		if !slices.Contains(g.Granted, row.Scope) {
			g.Granted = append(g.Granted, row.Scope)
		}
	}
	for _, row := range w.data.Revokes {
		if w.revoked(key, row.Scope) && !slices.Contains(g.Revoked, row.Scope) {
			g.Revoked = append(g.Revoked, row.Scope)
		}
	}
	slices.Sort(g.Granted)
	slices.Sort(g.Revoked)
	return g
}

func (w *world) visible(pattern string, now int64) bool {
	if !w.data.Active {
		return false
	}
	for _, key := range w.vocabulary.Catalog().Keys() {
		for _, g := range w.live(key, now) {
			if authz.Match(pattern, key) && !w.revoked(key, w.chain(g.Scope)...) {
				return true
			}
		}
	}
	for _, r := range w.regions {
		for _, g := range w.data.Grants {
			t, _, _ := strings.Cut(g.Scope, ":")
			if !authz.Intersects(pattern, r.pattern) || !slices.Contains(w.data.Closure, g.Subject) || g.ExpiresAt.Expired(now) ||
				g.Scope != "*" && !slices.Contains(r.scopes, t) {
				continue
			}
			reaches := slices.ContainsFunc(w.patterns(g), func(p string) bool {
				return p != "*" && authz.Intersects(p, r.pattern) && authz.Intersects(p, pattern)
			})
			hidden := slices.ContainsFunc(w.data.Revokes, func(v authz.Revoke) bool {
				return w.theirs(v) && slices.Contains(w.chain(g.Scope), v.Scope) && authz.Intersects(v.Pattern, r.pattern)
			})
			if reaches && !hidden {
				return true
			}
		}
	}
	return false
}

var (
	scopeTypes = []string{"app.folder", "app.doc", "app.flat", "app.multi"}
	allKeys    = []string{"app.a.read", "app.a.edit_x", "app.a.b.read", "app.ab.read", "app.c.read", "app.c.list", "crm.a.read", "crm.list.read"}
)

func drawWorld(t *rapid.T) *world {
	w := &world{parents: map[string][]string{}}
	var doc []string
	for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom(allKeys), 1, len(allKeys), rapid.ID[string]).Draw(t, "keys") {
		scopes := rapid.SliceOfDistinct(rapid.SampledFrom(scopeTypes), rapid.ID[string]).Draw(t, "scopes")
		quoted := make([]string, len(scopes))
		for i, s := range scopes {
			quoted[i] = `"` + s + `"`
		}
		doc = append(doc, fmt.Sprintf(`%q:{"scopes":[%s],"impliedOnAncestors":%t}`, k, strings.Join(quoted, ","), rapid.Bool().Draw(t, "implied")))
	}
	var imports []string
	for _, r := range []region{{pattern: "zoom.rooms.*"}, {pattern: "zoom.rooms.big.*"}, {pattern: "meet.*", strict: true}} {
		if !rapid.Bool().Draw(t, "import "+r.pattern) {
			continue
		}
		r.scopes = rapid.SliceOfDistinct(rapid.SampledFrom(scopeTypes), rapid.ID[string]).Draw(t, "scopes")
		w.regions = append(w.regions, r)
	}
	for _, ns := range []string{"zoom", "meet"} {
		var entries []string
		for _, r := range w.regions {
			if strings.HasPrefix(r.pattern, ns+".") {
				quoted := make([]string, len(r.scopes))
				for i, s := range r.scopes {
					quoted[i] = `"` + s + `"`
				}
				entries = append(entries, fmt.Sprintf(`%q:{"scopes":[%s]}`, r.pattern, strings.Join(quoted, ",")))
			}
		}
		imports = append(imports, fmt.Sprintf(`%q:{"strict":%t,"permissions":{%s}}`, ns, ns == "meet", strings.Join(entries, ",")))
	}
	w.vocabulary = vocabularyOf(t, `{"imports":{`+strings.Join(imports, ",")+`},"namespaces":["app","crm"],"includeAuthzInternal":false,"conventions":{"depth":"any"},"permissions":{`+strings.Join(doc, ",")+`},
		"scopeTypes":{"app.folder":{"parent":"app.folder"},"app.doc":{"parent":"app.folder"},"app.flat":{},"app.multi":{"multiParent":true}}}`)
	scopes := []string{"*", "app.folder:1", "app.folder:2", "app.folder:3", "app.doc:1", "app.doc:2", "app.flat:1", "app.multi:1", "other.type:1", "untyped"}
	for i, s := range scopes[2:8] {
		w.parents[s] = rapid.SliceOfNDistinct(rapid.SampledFrom(scopes[1:2+i]), 0, 2, rapid.ID[string]).Draw(t, "parents of "+s)
	}
	pattern := rapid.SampledFrom(append([]string{"*", "app.*", "app.a.*", "app.a.b.*", "app.c.*", "crm.*", "gone.*", "gone.x", "zoom.*", "zoom.rooms.*", "zoom.rooms.big.*", "zoom.rooms.join", "meet.*"}, allKeys...))
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
	return w
}

// TestCompiledEqualsThePlainDefinition compares every form of evaluation with the
// plain one, for every key and scope, at instants around every expiry, and on
// access compiled at another instant as long as it calls itself valid.
func TestCompiledEqualsThePlainDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		v := w.vocabulary
		compiledAt := rapid.Int64Range(0, 7).Draw(t, "compiled at")
		early := compiled.Compile(v, &w.data, compiledAt)
		for now := int64(0); now <= 7; now++ {
			a := early
			if !a.ValidAt(now) {
				a = compiled.Compile(v, &w.data, now)
			}
			if !a.ValidAt(now) {
				t.Fatalf("access compiled at %d is not valid then", now)
			}
			compareShapes(t, w, a, now)
			for _, key := range append(slices.Clone(foreign), allKeys...) {
				for _, scope := range []string{"*", "app.folder:1", "app.folder:2", "app.folder:3", "app.doc:1", "app.doc:2", "app.flat:1", "app.multi:1", "other.type:1", "untyped"} {
					want := w.can(key, scope, now)
					chain, _ := w.chains(scope)
					e, err := access.Explain(v.Catalog(), &w.data, key, chain.Scopes(), now, w.plain)
					if err != nil {
						t.Fatal(err)
					}
					if e.Allowed != want {
						t.Fatalf("Explain(%s, %s) at %d = %v, plain definition %v", key, scope, now, e.Allowed, want)
					}
					if shown := e.Active && len(e.MatchedRevokes) == 0 && len(e.MatchedGrants)+len(e.ImpliedBy) > 0; shown != want {
						t.Fatalf("the rows of Explain(%s, %s) at %d say %v, plain definition %v", key, scope, now, shown, want)
					}
					k, declared := v.Lookup(key)
					if !declared {
						if got := a.DecideUndeclared(key, chain, now); got != want {
							t.Fatalf("DecideUndeclared(%s, %s) at %d = %v, plain definition %v", key, scope, now, got, want)
						}
						continue
					}
					if !k.ImpliedOnAncestors() {
						compareMatched(t, v, a, key, chain, e, now)
					}
					for name, decide := range map[string]func() (bool, bool){
						"Decide": func() (bool, bool) { return a.Decide(k, chain) },
						"DecideView": func() (bool, bool) {
							var view compiled.View
							view.See(chain)
							return a.DecideView(k, &view)
						},
					} {
						got, revoked := decide()
						if got && revoked {
							t.Fatalf("%s allowed what it found revoked", name)
						}
						if !got && !revoked {
							if got, err = a.Implied(k, chain, w.chains); err != nil {
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

// compareMatched: the rows by their index are those that an explanation shows.
func compareMatched(t *rapid.T, v *compiled.Vocabulary, a *compiled.Access, key string, chain *compiled.Chain, e access.Explanation, now int64) {
	k, _ := v.Lookup(key)
	if len(e.MatchedRevokes) == 0 {
		if diff := cmp.Diff(allowing(e.MatchedGrants), a.Allowing(k, chain, now)); diff != "" {
			t.Fatalf("grants of %s at %s, instant %d (-explained +index)\n%s", key, chain.Scopes()[0], now, diff)
		}
	}
	if diff := cmp.Diff(revokeIDs(e.MatchedRevokes), a.Suppressing(k, chain, now)); diff != "" {
		t.Fatalf("revokes of %s at %s, instant %d (-explained +index)\n%s", key, chain.Scopes()[0], now, diff)
	}
}

func allowing(rows []authz.Grant) (m compiled.Allowing) {
	ids := map[string]bool{}
	for _, g := range rows {
		m.Grants = append(m.Grants, g.ID)
		if g.RoleID != "" && g.Pattern == "" && !slices.Contains(m.Roles, g.RoleID) {
			m.Roles = append(m.Roles, g.RoleID)
		}
		ids[g.ID] = true
		m.Sole = g.ID
	}
	if len(ids) != 1 {
		m.Sole = ""
	}
	return m
}

func revokeIDs(rows []authz.Revoke) (ids []string) {
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids
}

func vocabularyOf(t interface{ Fatal(...any) }, document string) *compiled.Vocabulary {
	in, err := catalog.ParseJSON([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	return compiled.NewVocabulary(c)
}

// foreign are keys that no catalog lists: an open region may admit them.
var foreign = []string{"crm.gone.read", "zoom.rooms.join", "zoom.rooms.big.join", "meet.call.start"}

// compareShapes compares the shapes that take no scope.
func compareShapes(t *rapid.T, w *world, a *compiled.Access, now int64) {
	v := w.vocabulary
	held := []string{}
	for _, key := range v.Catalog().Keys() {
		k, _ := v.Lookup(key)
		want := w.holds(key, now)
		if want {
			held = append(held, key)
		}
		if got := a.HeldAnywhere(k); got != want {
			t.Fatalf("HeldAnywhere(%s) at %d = %v, plain definition %v", key, now, got, want)
		}
		if diff := cmp.Diff(w.grantedScopes(key, now), a.GrantedScopes(k)); diff != "" {
			t.Fatalf("GrantedScopes(%s) at %d (-plain +got)\n%s", key, now, diff)
		}
	}
	if diff := cmp.Diff(held, a.HeldKeys()); diff != "" {
		t.Fatalf("HeldKeys at %d (-plain +got)\n%s", now, diff)
	}
	for _, key := range foreign {
		if got, want := a.HoldsUndeclared(key, now), w.holds(key, now); got != want {
			t.Fatalf("HoldsUndeclared(%s) at %d = %v, plain definition %v", key, now, got, want)
		}
		if diff := cmp.Diff(w.grantedScopes(key, now), a.GrantedScopesUndeclared(key, now)); diff != "" {
			t.Fatalf("GrantedScopesUndeclared(%s) at %d (-plain +got)\n%s", key, now, diff)
		}
	}
	for _, pattern := range []string{"*", "app.*", "app.a.*", "app.a.b.*", "crm.*", "app.c.list", "zoom.*", "zoom.rooms.*", "zoom.rooms.big.*", "zoom.rooms.join", "meet.*"} {
		got, err := a.Visible(pattern, now, w.chains)
		if err != nil {
			t.Fatal(err)
		}
		if want := w.visible(pattern, now); got != want {
			t.Fatalf("Visible(%s) at %d = %v, plain definition %v", pattern, now, got, want)
		}
	}
}
