package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func generate(t *testing.T, p Params) *World {
	t.Helper()
	w, err := Generate(p)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestTheWorldIsTheOneThatTheComparisonPromises(t *testing.T) {
	for _, p := range []Params{{}, {Depth: 20}, {Users: 10_000, Depth: 20}} {
		w := generate(t, p)
		if len(w.Keys) != 300 || len(w.Roles) != 50 {
			t.Errorf("%d keys, %d roles; want 300 and 50", len(w.Keys), len(w.Roles))
		}
		for _, r := range w.Roles {
			if len(r.Patterns) != 10 {
				t.Errorf("role %s has %d patterns, want 10", r.ID, len(r.Patterns))
			}
		}
		d := newDefinition(w)
		deepest := 0
		for _, s := range w.Scopes {
			n := 0
			for at := s.ScopeID; at.Kind != Global; at = d.parents[at] {
				n++
			}
			deepest = max(deepest, n)
			if s.Kind == Document && n != w.Params.Depth {
				t.Fatalf("%v lies %d deep, want %d", s.ScopeID, n, w.Params.Depth)
			}
		}
		if deepest != w.Params.Depth {
			t.Errorf("the tree is %d deep, want %d", deepest, w.Params.Depth)
		}
		if n := len(d.members["u0"]); n < 4 {
			t.Errorf("u0 is in %d groups; nesting must add to its two teams", n)
		}
		if len(w.Users) != w.Params.Users || len(w.Revokes) != w.Params.Users/2 || len(w.Grants) < w.Params.Users {
			t.Errorf("%d users, %d grants, %d revokes", len(w.Users), len(w.Grants), len(w.Revokes))
		}
	}
}

func TestHalfTheQuestionsAreDeniedSomeByARevokeAlone(t *testing.T) {
	w := generate(t, Params{})
	d := newDefinition(w)
	allowed, suppressed, global := 0, 0, 0
	users, keys := map[string]bool{}, map[string]bool{}
	for _, q := range w.Questions {
		if got := d.allowed(q); got != q.Allowed {
			t.Fatalf("%+v: the rows say %v", q, got)
		}
		if q.Allowed {
			allowed++
		} else if d.granted(q) {
			suppressed++
		}
		if q.Scope.Kind == Global {
			global++
		}
		users[q.User], keys[q.Key] = true, true
	}
	t.Logf("%d questions: %d allowed, %d denied by a revoke alone, %d at the global scope, %d users, %d keys",
		len(w.Questions), allowed, suppressed, global, len(users), len(keys))
	if len(w.Questions) != 10_000 || allowed != 5000 {
		t.Errorf("%d questions, %d allowed; want half of 10,000", len(w.Questions), allowed)
	}
	if suppressed != 1250 || global < 200 || len(users) < 900 || len(keys) != 300 {
		t.Errorf("the questions are one-sided: %d suppressed, %d global, %d users, %d keys", suppressed, global, len(users), len(keys))
	}
}

func TestTheSameParamsMakeTheSameWorld(t *testing.T) {
	p := Params{Users: 50, Depth: 4, Questions: 100, Seed: 7}
	if diff := cmp.Diff(generate(t, p), generate(t, p)); diff != "" {
		t.Error(diff)
	}
	other := p
	other.Seed = 8
	if cmp.Equal(generate(t, p).Questions, generate(t, other).Questions) {
		t.Error("the seed changes nothing")
	}
}

func TestParamsThatMakeNoWorldAreRefused(t *testing.T) {
	for _, p := range []Params{{Users: 9}, {Users: -1}, {Depth: 1}, {Depth: 101}, {Questions: -1}} {
		if _, err := Generate(p); err == nil {
			t.Errorf("%+v is accepted", p)
		}
	}
}

// TestTheDefinition pins the plain definition itself on a world made by hand.
func TestTheDefinition(t *testing.T) {
	global, outer, inner, doc := ScopeID{}, ScopeID{Folder, "outer"}, ScopeID{Folder, "inner"}, ScopeID{Document, "doc"}
	w := &World{
		Keys:   []string{"docs.a.x", "docs.a.y", "docs.ab.x"},
		Roles:  []Role{{"editor", []string{"docs.a.*"}}},
		Groups: []Group{{"company", nil}, {"team", []string{"company"}}},
		Users:  []User{{"ann", []string{"team"}}, {"bob", nil}},
		Scopes: []Scope{{outer, global}, {inner, outer}, {doc, inner}},
		Grants: []Grant{
			{Subject: Subject{Group: true, ID: "company"}, Role: "editor", Scope: outer},
			{Subject: Subject{ID: "bob"}, Pattern: "docs.ab.x", Scope: doc},
		},
		Revokes: []Revoke{{"ann", "docs.a.y", inner}},
	}
	d := newDefinition(w)
	for _, c := range []struct {
		name string
		q    Question
		want bool
	}{
		{"a role granted to an outer group at an outer folder reaches the document", Question{User: "ann", Key: "docs.a.x", Scope: doc}, true},
		{"a wildcard ends at its dot", Question{User: "ann", Key: "docs.ab.x", Scope: doc}, false},
		{"nothing is granted above the scope of the row", Question{User: "ann", Key: "docs.a.x", Scope: global}, false},
		{"a revoke wins below its scope", Question{User: "ann", Key: "docs.a.y", Scope: doc}, false},
		{"a revoke says nothing above its scope", Question{User: "ann", Key: "docs.a.y", Scope: outer}, true},
		{"a group's rows are not for others", Question{User: "bob", Key: "docs.a.x", Scope: doc}, false},
		{"a user's own row counts", Question{User: "bob", Key: "docs.ab.x", Scope: doc}, true},
		{"an unknown user holds nothing", Question{User: "eve", Key: "docs.a.x", Scope: doc}, false},
	} {
		if got := d.allowed(c.q); got != c.want {
			t.Errorf("%s: got %v", c.name, got)
		}
	}
}
