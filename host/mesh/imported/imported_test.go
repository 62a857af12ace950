package imported_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/mesh/imported"
	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

const (
	now  = 1000
	read = "billing.invoices.read"
)

var billing = imported.Owner{Partition: "billing", Namespaces: []string{"billing", "invoicing"}}

// docs is a catalog of its own keys that imports what is written.
func docs(t testing.TB, imports string) *catalog.Catalog {
	in, err := catalog.ParseJSON([]byte(`{"namespaces":["docs"],"scopeTypes":{"docs.folder":{}},
		"permissions":{"docs.files.read":{"scopes":["docs.folder"]},"docs.files.edit_x":{}},"imports":{` + imports + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// jane is what a partition supplies of her.
func jane(subjects ...string) authz.SubjectAccess {
	return authz.SubjectAccess{UserID: new("jane"), Active: true, Closure: append([]string{"user:jane"}, append(subjects, authz.Everyone)...)}
}

func granted(subject, pattern, scope string) authz.Grant {
	return authz.Grant{ID: "g1", Subject: subject, Pattern: pattern, Scope: scope}
}

// The worked cases of the mesh: docs imports one key of billing.
func TestWhatTheOwnerLends(t *testing.T) {
	vocabulary := docs(t, `"billing":{"scopes":["docs.folder"],"permissions":{"billing.invoices.read":true}}`)
	keys := imported.New(billing, vocabulary)
	with := func(change func(*authz.SubjectAccess)) authz.SubjectAccess {
		s := jane("group:accountants")
		change(&s)
		return s
	}
	auditor := func(s *authz.SubjectAccess) {
		s.Grants = []authz.Grant{{ID: "g1", Subject: "user:jane", RoleID: "auditor", Scope: "*"}}
		s.Roles = []authz.Role{{ID: "auditor", Name: "Auditor", Patterns: []string{"billing.*"}}}
	}
	of := func(grants ...authz.Grant) authz.SubjectAccess {
		return with(func(s *authz.SubjectAccess) { s.Grants = grants })
	}
	type ask struct {
		key, scope string
		by         string // the id of the row that decides, "" of nothing
	}
	for _, c := range []struct {
		name   string
		own    authz.SubjectAccess
		supply authz.SubjectAccess
		asks   []ask
	}{
		{"by role", jane(), with(auditor), []ask{{read, "*", "mesh:billing:g1"}, {read, "docs.folder:1", "mesh:billing:g1"}, {"docs.files.read", "*", ""}}},
		{"a key that is not imported", jane(), with(auditor), []ask{{"billing.invoices.void", "*", ""}}},
		{"the bare *", jane(), of(granted("user:jane", "*", "*")), []ask{{"docs.files.read", "*", ""}, {read, "*", "mesh:billing:g1"}, {"authz_internal.access.read", "*", ""}}},
		{"a group of the same id here and there", jane("group:ops"), of(granted("group:ops", read, "*")), []ask{{read, "*", ""}}},
		{"a group there", jane("group:ops"), of(granted("group:accountants", read, "*")), []ask{{read, "*", "mesh:billing:g1"}}},
		{"everyone there", jane(), of(granted("everyone", read, "*")), []ask{{read, "*", "mesh:billing:g1"}}},
		{"at an instance", jane(), of(granted("user:jane", read, "billing.account:7"), granted("user:jane", read, "docs.folder:1")),
			[]ask{{read, "*", ""}, {read, "docs.folder:1", ""}, {read, "billing.account:7", ""}}},
		{"a role that is not there", jane(), with(func(s *authz.SubjectAccess) {
			auditor(s)
			s.Roles, s.UnresolvedRoleIDs = nil, []string{"auditor"}
		}), []ask{{read, "*", ""}}},
		{"inactive there", with(func(s *authz.SubjectAccess) { s.Grants = []authz.Grant{granted("user:jane", "docs.*", "*")} }),
			with(func(s *authz.SubjectAccess) { auditor(s); s.Active = false }), []ask{{read, "*", ""}, {"docs.files.read", "*", "g1"}}},
		{"expired", jane(), of(authz.Grant{ID: "g1", Subject: "user:jane", Pattern: read, Scope: "*", ExpiresAt: authz.ExpiresAt(now)}), []ask{{read, "*", ""}}},
		{"a pattern beside a role", jane(), with(func(s *authz.SubjectAccess) { auditor(s); s.Grants[0].Pattern = "billing.refunds.*" }), []ask{{read, "*", ""}}},
		{"granted here, revoked there", with(func(s *authz.SubjectAccess) { s.Grants = []authz.Grant{granted("user:jane", "*", "*")} }),
			with(func(s *authz.SubjectAccess) {
				s.Revokes = []authz.Revoke{{ID: "r1", UserID: "jane", Pattern: "*", Scope: "*"}}
			}),
			[]ask{{read, "*", "mesh:billing:r1"}, {read, "docs.folder:1", "mesh:billing:r1"}, {"docs.files.read", "*", "g1"}}},
		{"revoked there at an instance, or of another user", jane(), with(func(s *authz.SubjectAccess) {
			auditor(s)
			s.Revokes = []authz.Revoke{{ID: "r1", UserID: "jane", Pattern: "*", Scope: "billing.account:7"}, {ID: "r2", UserID: "joe", Pattern: "*", Scope: "*"}}
		}), []ask{{read, "*", "mesh:billing:g1"}}},
		{"revoked here, at a scope", with(func(s *authz.SubjectAccess) {
			s.Revokes = []authz.Revoke{{ID: "r1", UserID: "jane", Pattern: read, Scope: "docs.folder:1"}}
		}), with(auditor), []ask{{read, "docs.folder:1", "r1"}, {read, "docs.folder:2", "mesh:billing:g1"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			merged, err := keys.Add(c.own, c.supply)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range c.asks {
				e, err := access.Explain(vocabulary, &merged, a.key, access.NewChain(a.scope, nil), now, nil)
				if err != nil {
					t.Fatal(err)
				}
				by := ""
				switch {
				case len(e.MatchedRevokes) == 1:
					by = e.MatchedRevokes[0].ID
				case len(e.MatchedGrants) == 1:
					by = e.MatchedGrants[0].ID
				case len(e.MatchedRevokes)+len(e.MatchedGrants) > 0:
					t.Fatalf("%s at %s is decided by more than one row: %+v", a.key, a.scope, e)
				}
				if allows := by != "" && len(e.MatchedRevokes) == 0; by != a.by || e.Allowed != allows {
					t.Errorf("%s at %s: allowed %v by %q, want by %q", a.key, a.scope, e.Allowed, by, a.by)
				}
			}
		})
	}
}

func TestPatternsReachWhatIsImportedOnly(t *testing.T) {
	c := docs(t, `"billing":{"permissions":{"billing.invoices.*":true,"billing.invoices.lines.*":true,"billing.audit.read":true,"billing.audit.read_x":true}},
		"invoicing":{"permissions":{}},"zoom":{"permissions":{"zoom.rooms.*":true}}`)
	all := []string{"billing.audit.read", "billing.audit.read_x", "billing.invoices.*"}
	for pattern, want := range map[string][]string{
		"*":                           all,
		"billing.*":                   all,
		"billing.audit.*":             all[:2],
		"billing.audit.read":          all[:1],
		"billing.invoices.*":          all[2:],
		"billing.invoices.void":       {"billing.invoices.void"},
		"billing.invoices.lines.*":    {"billing.invoices.lines.*"},
		"billing.invoices.lines.a.b":  {"billing.invoices.lines.a.b"},
		"billing.invoices":            nil,
		"billing.invoices.":           nil,
		"billing.invoicesx.*":         nil,
		"billing.audit.re":            nil,
		"billing.audit.read.*":        nil,
		"billing.refunds.*":           nil,
		"billing":                     nil,
		"":                            nil,
		"zoom.*":                      nil,
		"docs.*":                      nil,
		"authz_internal.*":            nil,
		"invoicing.*":                 nil,
		"authz_internal.access.grant": nil,
	} {
		supply := jane()
		supply.Grants = []authz.Grant{granted("user:jane", pattern, "*")}
		if pattern == "" {
			supply.Grants[0].RoleID = "gone"
		}
		supply.Revokes = []authz.Revoke{{ID: "r1", UserID: "jane", Pattern: pattern, Scope: "*"}}
		owner := billing
		owner.Namespaces = append([]string{"docs", "authz_internal", "billing"}, owner.Namespaces...)
		grants, _, revokes := imported.New(owner, c).Reduce(supply)
		var granted, revoked []string
		for _, g := range grants {
			granted = append(granted, g.Pattern)
		}
		for _, r := range revokes {
			revoked = append(revoked, r.Pattern)
		}
		if !slices.Equal(granted, want) || !slices.Equal(revoked, want) {
			t.Errorf("%q: granted %q, revoked %q, want %q", pattern, granted, revoked, want)
		}
	}
}

// A merged row is the owner's but for its ids, its subject and what it reaches.
func TestMergedRowsShowTheirOrigin(t *testing.T) {
	keys := imported.New(billing, docs(t, `"billing":{"permissions":{"billing.invoices.*":true,"billing.audit.read":true}}`))
	prov := authz.AdminProvenance("root")
	supply := authz.SubjectAccess{Active: true, Closure: []string{"service:biller", authz.Everyone},
		Grants: []authz.Grant{
			{ID: "g1", Subject: authz.Everyone, RoleID: "r", Scope: "*", ExpiresAt: authz.ExpiresAt(7), Provenance: prov, CreatedAt: 3},
			{ID: "g2", Subject: "service:biller", RoleID: "r", Pattern: "*", Scope: "*", Provenance: prov, CreatedAt: 4},
			{ID: "g3", Subject: "service:biller", RoleID: "r", Scope: "*"},
			{ID: "g4", Subject: "service:biller", RoleID: "other", Scope: "*"}},
		Roles: []authz.Role{{ID: "other", Patterns: []string{"docs.*"}}, {ID: "unnamed", Patterns: []string{"billing.*"}},
			{ID: "r", Name: "R", Description: "D", Patterns: []string{"billing.invoices.void", "docs.*", "billing.audit.*", "billing.audit.read"}, Requestable: &authz.Requestable{}}},
		Revokes: []authz.Revoke{{ID: "v", UserID: "biller", Pattern: "*", Scope: "*"}}}
	grants, roles, revokes := keys.Reduce(supply)
	const role = "mesh:billing:r"
	if diff := cmp.Diff([]authz.Grant{
		{ID: "mesh:billing:g1", Subject: "service:biller", RoleID: role, Scope: "*", ExpiresAt: authz.ExpiresAt(7), Provenance: prov, CreatedAt: 3},
		{ID: "mesh:billing:g2", Subject: "service:biller", Pattern: "billing.audit.read", Scope: "*", Provenance: prov, CreatedAt: 4},
		{ID: "mesh:billing:g2", Subject: "service:biller", Pattern: "billing.invoices.*", Scope: "*", Provenance: prov, CreatedAt: 4},
		{ID: "mesh:billing:g3", Subject: "service:biller", RoleID: role, Scope: "*"},
	}, grants, cmp.AllowUnexported(authz.Expiry{})); diff != "" {
		t.Errorf("grants (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]authz.Role{{ID: role, Name: "R", Description: "D", Patterns: []string{"billing.audit.read", "billing.invoices.void"}}}, roles); diff != "" {
		t.Errorf("roles (-want +got)\n%s", diff)
	}
	if len(revokes) > 0 {
		t.Errorf("revokes of a service: %v", revokes)
	}
}

// A row that stands for several patterns is one row to whoever counts rows.
func TestARowInPartsCountsOnce(t *testing.T) {
	c := docs(t, `"billing":{"permissions":{"billing.invoices.read":true,"billing.audit.read":true}}`)
	supply := jane()
	supply.Grants = []authz.Grant{granted("user:jane", "*", "*")}
	merged, err := imported.New(billing, c).Add(jane(), supply)
	if err != nil {
		t.Fatal(err)
	}
	v := compiled.NewVocabulary(c)
	at, err := compiled.Compile(v, &merged, now).Attribute([]string{read, "billing.audit.read"}, compiled.GlobalChain, now, nil)
	if err != nil || at.Sole != "mesh:billing:g1" || len(at.Grants) != 1 {
		t.Errorf("%+v, %v", at, err)
	}
	for _, e := range compiled.Entitlements(v, &merged, now).Entitlements {
		if len(e.Sources) != 1 || e.Sources[0].GrantID != "mesh:billing:g1" {
			t.Errorf("%s by %+v", e.Key, e.Sources)
		}
	}
}

func TestRowsOfAnotherPrincipalAreRefused(t *testing.T) {
	keys := imported.New(billing, docs(t, `"billing":{"permissions":{"billing.*":true}}`))
	joe, service, nobody := jane(), jane(), jane()
	joe.UserID, joe.Closure = new("joe"), []string{"user:joe", authz.Everyone}
	service.UserID, service.Closure = nil, []string{"service:jane", authz.Everyone}
	nobody.UserID, nobody.Closure = nil, []string{authz.Everyone}
	for _, pair := range [][2]authz.SubjectAccess{{jane(), joe}, {jane(), service}, {service, jane()}, {nobody, nobody}, {jane(), nobody}} {
		if merged, err := keys.Add(pair[0], pair[1]); err == nil {
			t.Errorf("%v and %v: %+v", pair[0].Closure, pair[1].Closure, merged)
		}
	}
}

// Whoever creates a role may choose its id: that of a merged one too. A grant may also
// name a role that is not there any more.
func TestRolesOfTheSameIDStayApart(t *testing.T) {
	c := docs(t, `"billing":{"scopes":["docs.folder"],"permissions":{"billing.*":true}}`)
	keys := imported.New(billing, c)
	const id = "mesh:billing:r"
	own, supply := jane(), jane()
	own.Grants = []authz.Grant{{ID: "own", Subject: "user:jane", RoleID: id, Scope: "docs.folder:1"}}
	supply.Grants = []authz.Grant{{ID: "g", Subject: "user:jane", RoleID: "r", Scope: "*", ExpiresAt: authz.ExpiresAt(now)}}
	supply.Roles = []authz.Role{{ID: "r", Patterns: []string{"billing.*"}}}
	for _, defined := range [][]authz.Role{nil, {{ID: id, Patterns: []string{"docs.files.read"}}}} {
		own.Roles = defined
		merged, err := keys.Add(own, supply)
		if err != nil {
			t.Fatal(err)
		}
		for key, want := range map[string][2]bool{read: {true, false}, "docs.files.read": {defined != nil, defined != nil}} {
			for i, at := range []int64{now - 1, now} {
				if got, err := access.Decide(c, &merged, key, access.NewChain("docs.folder:1", nil), at, nil); got != want[i] || err != nil {
					t.Errorf("%v: %s at %d: %v, %v", defined, key, at, got, err)
				}
			}
		}
	}
}

// rows are 100 of the owner: most by roles and of groups, as they are.
func rows() authz.SubjectAccess {
	supply := jane("group:accountants")
	patterns := []string{"billing.invoices.*", "billing.audit.read_c", "docs.*", "billing.*", "billing.refunds.read"}
	for i := range 10 {
		supply.Roles = append(supply.Roles, authz.Role{ID: fmt.Sprint("r", i), Patterns: patterns})
	}
	for i := range 100 {
		g := authz.Grant{ID: fmt.Sprint("g", i), Subject: "group:accountants", RoleID: fmt.Sprint("r", i%10), Scope: "*"}
		switch {
		case i%5 == 0:
			g.Scope = "billing.account:7"
		case i%5 == 1:
			g.RoleID, g.Pattern = "", patterns[i%len(patterns)]
		}
		supply.Grants = append(supply.Grants, g)
	}
	return supply
}

// Most of the rows are of roles that reach all of the 21 entries.
func BenchmarkReduce100Rows(b *testing.B) {
	imports := `"billing.invoices.*":true`
	for i := range 20 {
		imports += fmt.Sprintf(`,"billing.audit.read_%c":true`, 'a'+i)
	}
	keys := imported.New(billing, docs(b, `"billing":{"permissions":{`+imports+`}}`))
	supply := rows()
	b.ReportAllocs()
	for b.Loop() {
		if grants, roles, _ := keys.Reduce(supply); len(grants) != 80 || len(roles) != 6 {
			b.Fatal(len(grants), len(roles))
		}
	}
}
