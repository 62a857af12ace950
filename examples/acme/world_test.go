package acme

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
)

// generated and asked are made once: every test only reads them.
var (
	generated = sync.OnceValue(Generate)
	asked     = sync.OnceValue(func() []Question { return Questions(generated()) })
)

func digest(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// A changed digest is a changed sample: bookmarked ids and questions move.
func TestWorldAndQuestionsAreTheSameBytesOnEveryRunAndMachine(t *testing.T) {
	const world, questions = "0a8336e6782f4774", "551bf74b6013ae75"
	if got := digest(t, generated()); got != world {
		t.Errorf("digest of the world is %q, was %q", got, world)
	}
	if got := digest(t, asked()); got != questions {
		t.Errorf("digest of the questions is %q, was %q", got, questions)
	}
	again := Generate()
	if digest(t, again) != digest(t, generated()) {
		t.Error("two worlds of one process differ")
	}
	again.Grants[0].Pattern = "changed"
	if generated().Grants[0].Pattern == "changed" {
		t.Error("two worlds share their rows")
	}
}

func TestWorldHasTheSizesOfItsConstants(t *testing.T) {
	w := generated()
	nodes := 0
	for _, s := range w.Scopes {
		if kind := authz.ScopeType(s.ID); kind == typeFolder || kind == typeDoc {
			nodes++
		}
	}
	for _, size := range []struct {
		what      string
		got, want int
	}{
		{"users", len(w.Users), UserCount}, {"groups", len(w.Groups), GroupCount}, {"roles", len(w.Roles), RoleCount},
		{"grants", len(w.Grants), GrantCount}, {"revokes", len(w.Revokes), RevokeCount}, {"folders and documents", nodes, NodeCount},
	} {
		if size.got != size.want {
			t.Errorf("%d %s, want %d", size.got, size.what, size.want)
		}
	}
}

func TestWorldHoldsEveryKindOfRow(t *testing.T) {
	w := generated()
	got := map[string]int{}
	for _, g := range w.Grants {
		kind, _, ok := authz.ParseSubject(g.Subject)
		if !ok {
			t.Fatalf("%q is no subject", g.Subject)
		}
		got[string(kind)]++
		if g.Scope == authz.Global {
			got["global grant"]++
		} else {
			got["scoped grant"]++
		}
		if g.RoleID != "" {
			got["grant of a role"]++
		}
		if g.Expiring() {
			got["expiring grant"]++
		}
		if at, dated := g.ExpiresAt.At(); dated && at >= FarFuture {
			got["dated grant"]++
		}
	}
	for _, r := range w.Revokes {
		if r.Scope == authz.Global {
			got["global revoke"]++
		} else {
			got["scoped revoke"]++
		}
	}
	for _, u := range w.Users {
		if !u.Active {
			got["deactivated"]++
		}
		if len(u.GroupIDs) > 1 {
			got["in several groups"]++
		}
		if u.ManagerUserID == "" {
			got["without manager"]++
		}
		for _, o := range u.OrgIDs {
			got["org "+o]++
		}
	}
	for _, s := range w.Scopes {
		if len(s.Parents) == 0 {
			got["root "+authz.ScopeType(s.ID)]++
		}
	}
	for what, least := range map[string]int{
		"user": 4000, "group": 1000, "org": 100, "everyone": 20, "service": 100, "directs": 200, "orgof": 200,
		"global grant": 100, "scoped grant": 6000, "grant of a role": 2000, "expiring grant": 50, "dated grant": 500,
		"global revoke": 40, "scoped revoke": 100, "deactivated": 40, "in several groups": 100, "without manager": 1,
		"org acme_europe": 100, "org acme_america": 100, "org acme_asia": 100, "org acme_labs": 100, "org acme_partners": 100,
		"root docs.folder": 10, "root docs.doc": 10,
	} {
		if got[what] < least {
			t.Errorf("%s: %d, want at least %d", what, got[what], least)
		}
	}
}

func TestGroupsAndManagersNestOverSeveralLevelsWithoutCycles(t *testing.T) {
	w := generated()
	k := newWalk(w, permissions())
	deepest := 0
	for _, g := range w.Groups {
		level, seen := 0, map[string]bool{}
		for next := []string{g.ID}; len(next) > 0; level++ {
			var parents []string
			for _, id := range next {
				if level > 0 && id == g.ID {
					t.Fatalf("%s lies in itself", g.ID)
				}
				if _, known := k.groups[id]; !known {
					t.Fatalf("%s has an unknown parent %s", g.ID, id)
				}
				if !seen[id] {
					seen[id] = true
					parents = append(parents, k.groups[id]...)
				}
			}
			next = parents
		}
		deepest = max(deepest, level)
	}
	if deepest < 4 {
		t.Errorf("groups nest %d levels deep, want at least 4", deepest)
	}
	longest := 0
	for _, u := range w.Users {
		length, at := 0, u.UserID
		for ; k.users[at].manager != ""; at = k.users[at].manager {
			if length++; length > UserCount {
				t.Fatalf("the managers above %s form a cycle", u.UserID)
			}
		}
		longest = max(longest, length)
	}
	if longest < 4 {
		t.Errorf("the longest line of managers is %d, want at least 4", longest)
	}
}

func TestScopesAreRecordedOnceWithParentsOfTheDeclaredType(t *testing.T) {
	w := generated()
	parentType := map[string]string{}
	for _, s := range scopeTypes {
		parentType[s.name] = s.parent
	}
	known := map[string]bool{}
	for _, a := range w.Accounts {
		known[a] = true
	}
	for _, s := range w.Scopes { // in the order of loading: parents come first
		if known[s.ID] || authz.ValidateScope(s.ID) != nil || len(s.Parents) > 1 {
			t.Fatalf("%s: recorded twice, malformed, or with several parents", s.ID)
		}
		known[s.ID] = true
		for _, p := range s.Parents {
			if !known[p] || authz.ScopeType(p) != parentType[authz.ScopeType(s.ID)] {
				t.Fatalf("%s has the parent %s, unknown so far or of another type than %q", s.ID, p, parentType[authz.ScopeType(s.ID)])
			}
		}
	}
}

// The rules of writing, restated over the table; the catalog's own are asked in
// catalog_build_test.go.
func TestEveryRowIsOneTheHostAccepts(t *testing.T) {
	w := generated()
	all := permissions()
	types := map[string][]string{} // scope types of what a known pattern matches
	learn := func(pattern string, scopes []string) { types[pattern] = append(types[pattern], scopes...) }
	for _, p := range all {
		for _, pattern := range []string{p.key, p.block + ".*", authz.NamespaceOf(p.key) + ".*", authz.Global} {
			learn(pattern, p.scopes)
		}
	}
	rolePatterns := map[string][]string{}
	for _, r := range w.Roles {
		if r.ID == "" || r.Name == "" || rolePatterns[r.ID] != nil || len(r.Patterns) == 0 {
			t.Fatalf("role %+v: unnamed, empty or twice", r)
		}
		rolePatterns[r.ID] = r.Patterns
		for _, p := range r.Patterns {
			if _, known := types[p]; !known {
				t.Errorf("role %s names %q, which the catalog does not know", r.ID, p)
			}
		}
	}
	recorded := map[string]bool{authz.Global: true}
	for _, a := range w.Accounts {
		recorded[a] = true
	}
	for _, s := range w.Scopes {
		recorded[s.ID] = true
	}
	tuples := map[string]bool{}
	expiring := false
	for i, g := range w.Grants {
		patterns := rolePatterns[g.RoleID]
		if g.Pattern != "" {
			patterns = []string{g.Pattern}
		}
		grantable := slices.ContainsFunc(patterns, func(p string) bool {
			_, known := types[p]
			return known && (g.Scope == authz.Global || slices.Contains(types[p], authz.ScopeType(g.Scope)))
		})
		if (g.RoleID == "") == (g.Pattern == "") || !grantable || !recorded[g.Scope] || tuples[g.tuple()] {
			t.Fatalf("grant %d %+v: not one of role and pattern, not grantable there, at an unknown scope, or twice", i, g)
		}
		tuples[g.tuple()] = true
		if expiring && !g.Expiring() || g.Expiring() && !g.ExpiresAt.IsZero() {
			t.Fatalf("grant %d %+v: expiring rows stand last and carry no date", i, g)
		}
		expiring = g.Expiring()
	}
	for i, r := range w.Revokes {
		if _, known := types[r.Pattern]; !known || r.UserID == "" || !recorded[r.Scope] {
			t.Fatalf("revoke %d %+v: unknown pattern, no user, or an unknown scope", i, r)
		}
	}
}
