package acme_test

import (
	"sync"
	"testing"

	"github.com/authzhost/authz/examples/acme"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// world and questions are made once: every test only reads them.
var (
	world     = sync.OnceValue(acme.Generate)
	questions = sync.OnceValue(func() []acme.Question { return acme.Questions(world()) })
)

func build(t *testing.T) *catalog.Catalog {
	t.Helper()
	in, err := catalog.ParseYAML(acme.Catalog())
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCatalogPassesEveryBootRule(t *testing.T) {
	c := build(t)
	if len(c.SoD()) != 1 || len(c.Navigation()) != 2 || len(c.ScopeTypes()) != 4 {
		t.Errorf("%d constraints, %d menus, %d scope types", len(c.SoD()), len(c.Navigation()), len(c.ScopeTypes()))
	}
	own := 0
	for _, key := range c.Keys() {
		if authz.NamespaceOf(key) != authz.InternalNamespace {
			own++
		}
	}
	if own < 110 || own > 130 {
		t.Errorf("%d permissions, want about 120", own)
	}
}

func TestCatalogKnowsAndPlacesEveryRowOfTheWorld(t *testing.T) {
	c, w := build(t), world()
	patterns := map[string][]string{}
	for _, r := range w.Roles {
		patterns[r.ID] = r.Patterns
		for _, p := range r.Patterns {
			if issue := c.ValidateKnownPattern(p); issue != nil {
				t.Errorf("role %s: %s", r.ID, issue.Message)
			}
		}
	}
	for i, g := range w.Grants {
		granted := patterns[g.RoleID]
		if g.Pattern != "" {
			granted = []string{g.Pattern}
			if issue := c.ValidateKnownPattern(g.Pattern); issue != nil {
				t.Errorf("grant %d: %s", i, issue.Message)
			}
		}
		placed := false
		for _, p := range granted {
			placed = placed || c.ValidateGrantableAt(p, g.Scope) == nil
		}
		if !placed {
			t.Errorf("grant %d: no pattern of %v is grantable at %s", i, granted, g.Scope)
		}
	}
	for i, r := range w.Revokes {
		if issue := c.ValidateKnownPattern(r.Pattern); issue != nil {
			t.Errorf("revoke %d: %s", i, issue.Message)
		}
	}
	for _, s := range w.Scopes {
		if _, declared := c.ScopeType(authz.ScopeType(s.ID)); !declared {
			t.Errorf("%s is of no declared type", s.ID)
		}
	}
}

func TestEveryQuestionNamesADeclaredKeyThatNeedsNoCondition(t *testing.T) {
	c := build(t)
	for _, q := range questions() {
		if leaf, ok := c.Leaf(q.Key); !ok || leaf.RequiresCondition {
			t.Errorf("%s is not declared, or needs a condition", q.Key)
		}
	}
}
