package acme

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// TestWalkAgreesWithTheWorkedCases keeps the yardstick itself honest: cases whose
// answers are written down in the spec (spec: access §19), none computed here.
func TestWalkAgreesWithTheWorkedCases(t *testing.T) {
	leaves := []permission{
		{key: "docs.files.read", scopes: []string{typeFolder, typeDoc}},
		{key: "docs.files.delete", scopes: []string{typeFolder}},
		{key: "docs.files.list", scopes: []string{typeFolder}, marks: implied},
	}
	const f9, f2, f7, d1 = "docs.folder:9", "docs.folder:2", "docs.folder:7", "docs.doc:1"
	grant := func(subject, pattern, scope string) Grant {
		return Grant{GrantInput: provider.GrantInput{Subject: subject, Pattern: pattern, Scope: scope}}
	}
	revoke := func(pattern, scope string) provider.RevokeInput {
		return provider.RevokeInput{UserID: "u", Pattern: pattern, Scope: scope}
	}
	expired := grant("user:u", "docs.files.read", "*")
	expired.ExpiresInMs = 1
	dated := grant("user:u", "docs.files.read", "*")
	dated.ExpiresAt = authz.ExpiresAt(FarFuture)
	type check struct {
		key, scope string
		want       bool
	}
	for _, c := range []struct {
		name    string
		grants  []Grant
		revokes []provider.RevokeInput
		users   []authz.User
		checks  []check
	}{
		{"a grant covers what lies below its scope", []Grant{grant("user:u", "docs.files.read", f2)}, nil, nil,
			[]check{{"docs.files.read", d1, true}, {"docs.files.read", "*", false}, {"docs.files.read", "", false}}},
		{"a revoke wins at its scope and below, not above", []Grant{grant("user:u", "docs.files.read", f2)}, []provider.RevokeInput{revoke("docs.files.read", f9)}, nil,
			[]check{{"docs.files.read", d1, false}, {"docs.files.read", f9, false}, {"docs.files.read", f2, true}}},
		{"a revoke above beats a grant below", []Grant{grant("user:u", "docs.files.read", d1)}, []provider.RevokeInput{revoke("docs.*", f2)}, nil,
			[]check{{"docs.files.read", d1, false}}},
		{"a wildcard confers at a scope only what is grantable there", []Grant{grant("user:u", "docs.*", d1)}, nil, nil,
			[]check{{"docs.files.delete", d1, false}, {"docs.files.read", d1, true}}},
		{"an implying grant answers on proper ancestors, never for * or sideways", []Grant{grant("user:u", "docs.files.list", f9)}, nil, nil,
			[]check{{"docs.files.list", f2, true}, {"docs.files.list", "*", false}, {"docs.files.list", f7, false}}},
		{"a revoke on the implying grant's chain kills it", []Grant{grant("user:u", "docs.files.list", f9)}, []provider.RevokeInput{revoke("docs.files.list", f2)}, nil,
			[]check{{"docs.files.list", f2, false}, {"docs.files.list", f9, false}}},
		{"a revoke at the implying grant kills it above", []Grant{grant("user:u", "docs.files.list", f9)}, []provider.RevokeInput{revoke("docs.files.list", f9)}, nil,
			[]check{{"docs.files.list", f2, false}}},
		{"a bare * confers what is declared", []Grant{grant("user:u", "*", "*")}, nil, nil, []check{{"docs.files.delete", d1, true}}},
		{"a grant of an unknown role confers nothing", []Grant{{GrantInput: provider.GrantInput{Subject: "user:u", RoleID: "gone", Scope: "*"}}}, nil, nil,
			[]check{{"docs.files.read", d1, false}}},
		{"everyone is overruled by a personal revoke", []Grant{grant("everyone", "docs.files.read", "*")}, []provider.RevokeInput{revoke("docs.files.read", "*")}, nil,
			[]check{{"docs.files.read", d1, false}}},
		{"an expired grant confers nothing", []Grant{expired}, nil, nil, []check{{"docs.files.read", d1, false}}},
		{"a grant of the far future confers", []Grant{dated}, nil, nil, []check{{"docs.files.read", d1, true}}},
		{"an inactive user has nothing", []Grant{grant("user:u", "*", "*")}, nil, []authz.User{{UserID: "u"}}, []check{{"docs.files.read", d1, false}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newWalk(&World{Grants: c.grants, Revokes: c.revokes, Users: c.users, Scopes: []Scope{
				{ID: f2}, {ID: f7}, {ID: f9, Parents: []string{f2}}, {ID: d1, Parents: []string{f9}}}}, leaves)
			for _, ch := range c.checks {
				if got := k.ask("u", "", ch.key, ch.scope, removal{}).allowed; got != ch.want {
					t.Errorf("%s at %q: %v, want %v", ch.key, ch.scope, got, ch.want)
				}
			}
		})
	}
	t.Run("a service with a user's id has none of the user's revokes", func(t *testing.T) {
		k := newWalk(&World{Grants: []Grant{grant("everyone", "docs.files.read", "*")}, Revokes: []provider.RevokeInput{revoke("*", "*")}}, leaves)
		if !k.ask("", "u", "docs.files.read", "*", removal{}).allowed {
			t.Error("denied")
		}
	})
}

func TestWalkClosureIsInTheOrderOfTheSpec(t *testing.T) {
	k := newWalk(&World{
		Users: []authz.User{
			{UserID: "u", Active: true, GroupIDs: []string{"a", "b"}, OrgIDs: []string{"o", "o"}, ManagerUserID: "m"},
			{UserID: "m", ManagerUserID: "n"}, {UserID: "n", ManagerUserID: "u"},
		},
		Groups: []authz.Group{{ID: "a", Parents: []string{"c"}}, {ID: "b", Parents: []string{"c", "d"}}, {ID: "c", Parents: []string{"a"}}},
	}, nil)
	want := []string{"user:u", "group:a", "group:b", "group:c", "group:d", "directs:m", "orgof:m", "orgof:n", "org:o", "everyone"}
	if diff := cmp.Diff(want, k.closure("u", "")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"user:x", "everyone"}, k.closure("x", "")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"service:s", "everyone"}, k.closure("", "s")); diff != "" {
		t.Error(diff)
	}
}
