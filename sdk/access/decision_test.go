package access_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

const decisionCatalog = `{"namespaces":["docs"],"includeAuthzInternal":false,
	"imports":{"zoom":{"permissions":{"zoom.rooms.*":{"scopes":["docs.folder"]}}}},
	"scopeTypes":{"docs.folder":{"parent":"docs.folder"},"docs.doc":{"parent":"docs.folder","multiParent":true}},
	"permissions":{
		"docs.files.read":{"scopes":["docs.folder","docs.doc"]},
		"docs.files.delete":{"scopes":["docs.folder"]},
		"docs.files.list":{"scopes":["docs.folder","docs.doc"],"impliedOnAncestors":true}}}`

// ancestry: doc 1 lies in folder 9, which lies in folder 2; doc 2 lies in folders 9 and 7.
var ancestry = map[string][]string{
	"docs.folder:9": {"docs.folder:2"},
	"docs.doc:1":    {"docs.folder:9", "docs.folder:2"},
	"docs.doc:2":    {"docs.folder:9", "docs.folder:7", "docs.folder:2"},
}

func ancestryOf(scope string) (access.Chain, error) {
	return access.NewChain(scope, ancestry[scope]), nil
}

// The definition, by hand: each case is the rows of a principal, and questions about them
// with the answers.
func TestDecide(t *testing.T) {
	const (
		now    = 1000
		read   = "docs.files.read"
		remove = "docs.files.delete"
		list   = "docs.files.list"
	)
	grant := func(pattern, scope string) authz.Grant {
		return authz.Grant{ID: "g", Subject: "user:u", Pattern: pattern, Scope: scope}
	}
	to := func(subject string, g authz.Grant) authz.Grant { g.Subject = subject; return g }
	until := func(at authz.Expiry, g authz.Grant) authz.Grant { g.ExpiresAt = at; return g }
	revoke := func(pattern, scope string) authz.Revoke {
		return authz.Revoke{ID: "r", UserID: "u", Pattern: pattern, Scope: scope}
	}
	type ask struct {
		key, scope string
		want       bool
	}
	user := authz.SubjectAccess{UserID: new("u"), Active: true, Closure: []string{"user:u", "group:g", "everyone"},
		Roles: []authz.Role{{ID: "reader", Patterns: []string{"docs.none.x", read}}}}
	inactive, service := user, user
	inactive.Active = false
	service.UserID, service.Closure = nil, []string{"service:u", "everyone"}

	for _, c := range []struct {
		name    string
		who     authz.SubjectAccess
		grants  []authz.Grant
		revokes []authz.Revoke
		asks    []ask
	}{
		{"no row", user, nil, nil, []ask{{read, "*", false}}},
		{"at an ancestor", user, []authz.Grant{grant(read, "docs.folder:2")}, nil,
			[]ask{{read, "docs.doc:1", true}, {read, "docs.folder:2", true}, {read, "*", false}, {read, "docs.folder:7", false}, {list, "docs.doc:1", false}}},
		{"everywhere", user, []authz.Grant{grant("docs.*", "*")}, nil,
			[]ask{{read, "*", true}, {remove, "docs.doc:1", true}, {read, "other.type:1", true}, {read, "untyped", true}}},
		{"a revoke between", user, []authz.Grant{grant(read, "docs.folder:2")}, []authz.Revoke{revoke(read, "docs.folder:9")},
			[]ask{{read, "docs.doc:1", false}, {read, "docs.folder:9", false}, {read, "docs.folder:2", true}}},
		{"a revoke above what is granted nearer", user, []authz.Grant{grant(read, "docs.doc:1")}, []authz.Revoke{revoke("docs.*", "docs.folder:2")},
			[]ask{{read, "docs.doc:1", false}}},
		{"a revoke on one of two branches", user, []authz.Grant{grant(read, "docs.folder:7")}, []authz.Revoke{revoke(read, "docs.folder:9")},
			[]ask{{read, "docs.doc:2", false}, {read, "docs.folder:7", true}}},
		{"a revoke of another user", user, []authz.Grant{grant(read, "*")}, []authz.Revoke{{ID: "r", UserID: "v", Pattern: "*", Scope: "*"}},
			[]ask{{read, "*", true}}},
		{"a revoke where the key is not grantable", user, []authz.Grant{grant(remove, "*")}, []authz.Revoke{revoke(remove, "docs.doc:1")},
			[]ask{{remove, "docs.doc:1", false}, {remove, "docs.folder:9", true}}},
		{"a grant where the key is not grantable", user, []authz.Grant{grant("docs.*", "docs.doc:1")}, nil,
			[]ask{{remove, "docs.doc:1", false}, {read, "docs.doc:1", true}}},
		{"a grant at an undeclared type, and at none", user, []authz.Grant{grant("*", "other.type:1"), grant("*", "untyped")}, nil,
			[]ask{{read, "other.type:1", false}, {read, "untyped", false}}},
		{"by role, by group, of everyone", user, []authz.Grant{{ID: "g", Subject: "group:g", RoleID: "reader", Scope: "docs.folder:9"}, to("everyone", grant(remove, "docs.folder:7"))}, nil,
			[]ask{{read, "docs.doc:1", true}, {remove, "docs.folder:7", true}, {list, "docs.doc:1", false}}},
		{"of a role that is not there", user, []authz.Grant{{ID: "g", Subject: "user:u", RoleID: "gone", Scope: "*"}}, nil, []ask{{read, "*", false}}},
		{"a pattern beside a role", user, []authz.Grant{{ID: "g", Subject: "user:u", RoleID: "reader", Pattern: remove, Scope: "*"}}, nil,
			[]ask{{remove, "*", true}, {read, "*", false}}},
		{"of another's subject", user, []authz.Grant{to("group:other", grant("*", "*")), to("service:u", grant("*", "*"))}, nil, []ask{{read, "*", false}}},
		{"until now, and later", user, []authz.Grant{until(authz.ExpiresAt(now), grant(read, "*")), until(authz.ExpiresAt(0), grant(read, "*")), until(authz.ExpiresAt(now+1), grant(remove, "*"))}, nil,
			[]ask{{read, "*", false}, {remove, "*", true}}},
		{"inactive", inactive, []authz.Grant{grant("*", "*")}, nil, []ask{{read, "*", false}, {list, "docs.folder:9", false}}},
		{"a service meets no revoke", service, []authz.Grant{to("service:u", grant(read, "*"))}, []authz.Revoke{revoke("*", "*")}, []ask{{read, "*", true}}},
		{"implied above", user, []authz.Grant{grant(list, "docs.folder:9")}, nil,
			[]ask{{list, "docs.folder:2", true}, {list, "docs.doc:1", true}, {list, "*", false}, {list, "docs.folder:7", false}}},
		{"implied by another key", user, []authz.Grant{grant(read, "docs.folder:9")}, nil, []ask{{read, "docs.folder:2", false}}},
		{"implied where a revoke is", user, []authz.Grant{grant(list, "docs.folder:9")}, []authz.Revoke{revoke(list, "docs.folder:2")},
			[]ask{{list, "docs.folder:2", false}, {list, "docs.folder:9", false}}},
		{"implied by one that a revoke hides", user, []authz.Grant{grant(list, "docs.doc:1")}, []authz.Revoke{revoke(list, "docs.folder:9")},
			[]ask{{list, "docs.folder:2", false}}},
		{"the bare * over what is not declared", user, []authz.Grant{grant("*", "*")}, nil,
			[]ask{{read, "*", true}, {"zoom.rooms.join", "*", false}, {"crm.deals.read", "*", false}}},
		{"an open region", user, []authz.Grant{grant("zoom.*", "docs.folder:9")}, nil,
			[]ask{{"zoom.rooms.join", "docs.doc:1", true}, {"zoom.rooms.join", "docs.folder:2", false}, {"zoom.other.join", "docs.folder:9", false}}},
		{"an open region where it is not wired", user, []authz.Grant{grant("zoom.*", "docs.doc:1")}, nil, []ask{{"zoom.rooms.join", "docs.doc:1", false}}},
		{"the bare * revokes what is not declared", user, []authz.Grant{grant("zoom.*", "*")}, []authz.Revoke{revoke("*", "docs.folder:2")},
			[]ask{{"zoom.rooms.join", "docs.doc:1", false}, {"zoom.rooms.join", "*", true}}},
		{"what a policy admits", user, []authz.Grant{grant("crm.*", "*"), grant("other.*", "docs.folder:9")}, nil,
			[]ask{{"crm.deals.read", "docs.doc:1", true}, {"other.deals.read", "docs.folder:9", false}}},
		{"a built-in key that is left out", user, []authz.Grant{grant("authz_internal.*", "*")}, nil, []ask{{"authz_internal.access.read", "*", false}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.who.Grants, c.who.Revokes = c.grants, c.revokes
			declared := catalogOf(t, decisionCatalog)
			for _, a := range c.asks {
				chain, _ := ancestryOf(a.scope)
				got, err := access.Decide(declared, &c.who, a.key, chain, now, ancestryOf)
				if err != nil || got != a.want {
					t.Errorf("%s at %s: %v, %v, want %v", a.key, a.scope, got, err, a.want)
				}
			}
		})
	}
}

func TestDecideFailsWithTheChainThatItNeeds(t *testing.T) {
	declared, boom := catalogOf(t, decisionCatalog), errors.New("boom")
	failing := func(string) (access.Chain, error) { return nil, boom }
	rows := authz.SubjectAccess{UserID: new("u"), Active: true, Closure: []string{"user:u"},
		Grants: []authz.Grant{{ID: "g", Subject: "user:u", Pattern: "docs.*", Scope: "docs.doc:1"}}}
	chain, _ := ancestryOf("docs.folder:2")
	if allowed, err := access.Decide(declared, &rows, "docs.files.list", chain, math.MinInt64, failing); allowed || !errors.Is(err, boom) {
		t.Errorf("implied: %v, %v", allowed, err)
	}
	if allowed, err := access.Decide(declared, &rows, "docs.files.read", chain, math.MinInt64, failing); allowed || err != nil {
		t.Errorf("not implied: %v, %v", allowed, err)
	}
}

// "*" is on every chain: a revoke there is not lost on a chain that leaves it out.
func TestEveryChainEndsWithTheGlobalScope(t *testing.T) {
	declared := catalogOf(t, decisionCatalog)
	rows := authz.SubjectAccess{UserID: new("u"), Active: true, Closure: []string{"user:u"},
		Grants:  []authz.Grant{{ID: "g", Subject: "user:u", Pattern: "docs.files.read", Scope: "docs.doc:1"}, {ID: "h", Subject: "user:u", Pattern: "docs.files.delete", Scope: "*"}},
		Revokes: []authz.Revoke{{ID: "r", UserID: "u", Pattern: "docs.files.read", Scope: "*"}}}
	for _, chain := range []access.Chain{{"docs.doc:1", "*"}, {"docs.doc:1"}, {"*"}, {}, nil} {
		for key, want := range map[string]bool{"docs.files.read": false, "docs.files.delete": true, "docs.files.list": false} {
			if got, err := access.Decide(declared, &rows, key, chain, 1, ancestryOf); err != nil || got != want {
				t.Errorf("%s on %q: %v, %v, want %v", key, chain, got, err, want)
			}
		}
	}
	for _, c := range []struct {
		scope     string
		ancestors []string
		want      access.Chain
	}{
		{"", nil, access.Chain{"*"}}, {"*", []string{"docs.folder:1"}, access.Chain{"*"}}, {"docs.doc:1", nil, access.Chain{"docs.doc:1", "*"}},
		{"docs.doc:1", []string{"*", "docs.folder:2", "docs.doc:1", "docs.folder:2", "docs.folder:1"}, access.Chain{"docs.doc:1", "docs.folder:2", "docs.folder:1", "*"}},
	} {
		if got := access.NewChain(c.scope, c.ancestors); !slices.Equal(got, c.want) {
			t.Errorf("the chain of %q, %q: %q, want %q", c.scope, c.ancestors, got, c.want)
		}
	}
}

func catalogOf(t interface{ Fatal(...any) }, document string) *catalog.Catalog {
	in, err := catalog.ParseJSON([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
