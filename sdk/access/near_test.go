package access_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
)

func ids(grants []authz.Grant) string {
	var list []string
	for _, g := range grants {
		list = append(list, g.ID)
	}
	return strings.Join(list, " ")
}

func TestADenialTellsWhatCameNear(t *testing.T) {
	reader := authz.Role{ID: "reader", Name: "Reader", Patterns: []string{"docs.files.list", "docs.other.*"}}
	grant := func(id, role, pattern, scope string) authz.Grant {
		return authz.Grant{ID: id, Subject: "user:u", RoleID: role, Pattern: pattern, Scope: scope}
	}
	for name, c := range map[string]struct {
		key, scope string
		grants     []authz.Grant
		want, says string
	}{
		"elsewhere": {"docs.files.read", "docs.folder:1", []authz.Grant{grant("g1", "", "docs.files.*", "docs.folder:9")},
			"elsewhere g1, at docs.folder:1", "because the key is granted elsewhere, and not on the chain of docs.folder:1\n  elsewhere: grant g1  docs.files.* to user:u at docs.folder:9"},
		"a role without the key": {"docs.files.read", "docs.folder:1", []authz.Grant{grant("g1", "reader", "", "*")},
			"lacking g1 (docs.files.list), at docs.folder:1", `role "Reader" has docs.files.list, and not docs.files.read`},
		"the nearest first": {"docs.files.read", "docs.folder:1", []authz.Grant{grant("g1", "", "docs.other.*", "*"), grant("g2", "", "docs.files.list", "*")},
			"lacking g2 (docs.files.list), lacking g1 (docs.other.*), at docs.folder:1", "because the grants on the chain confer other keys"},
		"not grantable": {"docs.files.pay", "docs.folder:1", []authz.Grant{grant("g1", "", "docs.files.*", "docs.folder:1")},
			"not grantable g1, at *", `because the key does not count where it is granted: it must be granted at "*"`},
		"nothing":               {"docs.files.read", "*", nil, "at *", "because no live grant of the principal confers the key on the chain"},
		"of another namespace":  {"docs.files.read", "*", []authz.Grant{grant("g1", "", "mail.files.read", "*")}, "at *", "no live grant"},
		"somebody else's grant": {"docs.files.read", "*", []authz.Grant{{ID: "g1", Subject: "user:v", Pattern: "*", Scope: "*"}}, "at *", "no live grant"},
	} {
		declared, rows := explained(t, c.grants...)
		rows.Roles = []authz.Role{reader}
		e, err := access.Explain(declared, rows, c.key, access.NewChain(c.scope, nil), 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		around := access.Around(declared, rows, e, c.key, 1)
		var got []string
		if n := around.Near; len(n.Elsewhere) > 0 {
			got = append(got, "elsewhere "+ids(n.Elsewhere))
		}
		if len(around.Near.NotGrantable) > 0 {
			got = append(got, "not grantable "+ids(around.Near.NotGrantable))
		}
		for _, l := range around.Near.Lacking {
			got = append(got, fmt.Sprintf("lacking %s (%s)", l.Grant.ID, strings.Join(l.Patterns, " ")))
		}
		got = append(got, "at "+around.Near.GrantAt)
		if said := strings.Join(got, ", "); said != c.want {
			t.Errorf("%s: %s, want %s", name, said, c.want)
		}
		if text := around.Text(authz.UserPrincipal("u"), c.key, c.scope); !strings.Contains(text, c.says) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestAnAllowTellsTheWholeWay(t *testing.T) {
	declared, rows := explained(t, authz.Grant{ID: "g1", Subject: "group:all", RoleID: "editor", Scope: "*"}, authz.Grant{ID: "g2", Subject: "user:u", Pattern: "docs.files.read", Scope: "*"})
	rows.Closure = append(rows.Closure, "group:writers", "group:all")
	rows.Roles = []authz.Role{{ID: "editor", Name: "Editor", Patterns: []string{"docs.other.x", "docs.files.*"}}}
	e, err := access.Explain(declared, rows, "docs.files.read", access.NewChain("", nil), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	around := access.Around(declared, rows, e, "docs.files.read", 1)
	around.Paths[0].Through = []string{"group:writers", "group:all"}
	text := around.Text(authz.UserPrincipal("u"), "docs.files.read", "")
	for _, want := range []string{
		`user:u → group:writers → group:all → grant g1 → role "Editor" → docs.files.* → docs.files.read`,
		"user:u → grant g2 → docs.files.read",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if around.Near != nil {
		t.Errorf("an allow has %+v", around.Near)
	}
}

// What is told to come near never allows, and what a role is told to confer it confers.
func TestWhatCameNearDoesNotAllow(t *testing.T) {
	declared, _ := explained(t)
	keys := []string{"docs.files.read", "docs.files.pay", "docs.files.list"}
	scopes := []string{"*", "docs.folder:1", "docs.folder:2"}
	patterns := append([]string{"*", "docs.*", "docs.files.*", "mail.*"}, keys...)
	rapid.Check(t, func(t *rapid.T) {
		rows := rapidRows(t, patterns, scopes)
		key, scope := rapid.SampledFrom(keys).Draw(t, "key"), rapid.SampledFrom(scopes).Draw(t, "scope")
		chain := access.NewChain(scope, nil)
		chains := func(s string) (access.Chain, error) { return access.NewChain(s, nil), nil }
		e, err := access.Explain(declared, rows, key, chain, 100, chains)
		if err != nil {
			t.Fatal(err)
		}
		around := access.Around(declared, rows, e, key, 100)
		if (around.Near != nil) != e.Denied() {
			t.Fatalf("near is %v of %+v", around.Near, e)
		}
		if len(around.Paths) != len(e.MatchedGrants)+len(e.ImpliedBy) {
			t.Fatalf("%d paths of %+v", len(around.Paths), e)
		}
		for _, w := range around.Paths {
			if !authz.Match(w.Pattern, key) {
				t.Fatalf("the path %+v does not lead to %s", w, key)
			}
		}
		if around.Near == nil {
			return
		}
		for _, g := range around.Near.Elsewhere {
			if g.Scope == authz.Global || g.Scope == scope {
				t.Fatalf("%+v is on the chain", g)
			}
		}
		for _, near := range access.RolesConferring(declared, rows.Roles, key) {
			with := *rows
			with.Grants = append(with.Grants[:len(with.Grants):len(with.Grants)], authz.Grant{ID: "new", Subject: "user:u", RoleID: near.RoleID, Scope: around.Near.GrantAt})
			if allowed, err := access.Decide(declared, &with, key, chain, 100, chains); err != nil || !allowed {
				t.Fatalf("the role %s at %s does not allow %s at %s", near.RoleID, around.Near.GrantAt, key, scope)
			}
		}
	})
}

// rapidRows draws the rows of user u.
func rapidRows(t *rapid.T, patterns, scopes []string) *authz.SubjectAccess {
	user := "u"
	rows := &authz.SubjectAccess{UserID: &user, Closure: []string{"user:u", "group:a", "everyone"}, Active: rapid.IntRange(0, 9).Draw(t, "active") > 0}
	for i := range 3 {
		rows.Roles = append(rows.Roles, authz.Role{ID: fmt.Sprint("r", i), Name: "Role", Patterns: rapid.SliceOfN(rapid.SampledFrom(patterns), 0, 2).Draw(t, "role")})
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "grants") {
		g := authz.Grant{ID: fmt.Sprint("g", i), Subject: rapid.SampledFrom([]string{"user:u", "group:a", "group:b"}).Draw(t, "subject"),
			Scope: rapid.SampledFrom(scopes).Draw(t, "at"), ExpiresAt: rapid.SampledFrom([]authz.Expiry{{}, authz.ExpiresAt(50), authz.ExpiresAt(500)}).Draw(t, "until")}
		if rapid.Bool().Draw(t, "by role") {
			g.RoleID = rapid.SampledFrom([]string{"r0", "r1", "r2", "gone"}).Draw(t, "role")
		} else {
			g.Pattern = rapid.SampledFrom(patterns).Draw(t, "pattern")
		}
		rows.Grants = append(rows.Grants, g)
	}
	for i := range rapid.IntRange(0, 1).Draw(t, "revokes") {
		rows.Revokes = append(rows.Revokes, authz.Revoke{ID: fmt.Sprint("v", i), UserID: "u", Pattern: rapid.SampledFrom(patterns).Draw(t, "revoked"), Scope: rapid.SampledFrom(scopes).Draw(t, "revoked at")})
	}
	return rows
}
