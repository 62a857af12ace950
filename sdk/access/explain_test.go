package access_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// explained is the catalog of these tests, and a principal with rows.
func explained(t *testing.T, grants ...authz.Grant) (*catalog.Catalog, *authz.SubjectAccess) {
	t.Helper()
	user := "u"
	return catalogOf(t, `{"namespaces":["docs"],"scopeTypes":{"docs.folder":{"parent":"docs.folder"}},"permissions":{
		"docs.files.read":{"scopes":["docs.folder"]},"docs.files.pay":{"requiresCondition":true},
		"docs.files.list":{"scopes":["docs.folder"],"impliedOnAncestors":true}}}`), &authz.SubjectAccess{UserID: &user, Closure: []string{"user:u", "everyone"}, Grants: grants, Active: true}
}

func TestAnExplanationTellsOfTheCondition(t *testing.T) {
	declared, rows := explained(t, authz.Grant{ID: "g1", Subject: "user:u", Pattern: "docs.files.*", Scope: authz.Global})
	for key, conditional := range map[string]bool{"docs.files.pay": true, "docs.files.read": false} {
		e, err := access.Explain(declared, rows, key, access.NewChain("", nil), 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		text := e.Text(authz.UserPrincipal("u"), key, "")
		if e.RequiresCondition != conditional || strings.Contains(text, "if its condition holds") != conditional || !strings.HasPrefix(text, "ALLOWED") {
			t.Errorf("%s: %s", key, text)
		}
		said, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(said), `"requiresCondition":true`) != conditional {
			t.Errorf("%s: %s", key, said)
		}
	}
	rows.Grants = nil
	e, err := access.Explain(declared, rows, "docs.files.pay", access.NewChain("", nil), 1, nil)
	if err != nil || !e.RequiresCondition || strings.Contains(e.Text(authz.UserPrincipal("u"), "docs.files.pay", ""), "if its condition holds") {
		t.Errorf("of a denial: %+v, %v", e, err)
	}
}

func TestADenialNamesTheRowThatExpired(t *testing.T) {
	const now = 1_700_000_000_000
	past, later := authz.ExpiresAt(now-1000), authz.ExpiresAt(now+1000)
	folder := access.NewChain("docs.folder:1", nil)
	below := access.NewChain("docs.folder:2", []string{"docs.folder:1"})
	chains := func(scope string) (access.Chain, error) {
		if scope == "docs.folder:2" {
			return below, nil
		}
		return folder, nil
	}
	at := func(id, pattern, scope string, until authz.Expiry) authz.Grant {
		return authz.Grant{ID: id, Subject: "user:u", Pattern: pattern, Scope: scope, ExpiresAt: until}
	}
	for name, c := range map[string]struct {
		key    string
		grants []authz.Grant
		revoke bool
		want   string
	}{
		"on the chain":                {"docs.files.read", []authz.Grant{at("g1", "docs.files.*", "docs.folder:1", past)}, false, "g1"},
		"several":                     {"docs.files.read", []authz.Grant{at("g1", "docs.files.*", "docs.folder:1", past), at("g2", "*", "*", past)}, false, "g1 g2"},
		"elsewhere":                   {"docs.files.read", []authz.Grant{at("g1", "docs.files.*", "docs.folder:9", past)}, false, ""},
		"of another key":              {"docs.files.read", []authz.Grant{at("g1", "docs.files.list", "*", past)}, false, ""},
		"beside one that allows":      {"docs.files.read", []authz.Grant{at("g1", "docs.files.*", "*", past), at("g2", "docs.files.*", "*", later)}, false, ""},
		"where a revoke denies":       {"docs.files.read", []authz.Grant{at("g1", "docs.files.*", "*", past)}, true, ""},
		"implied by one further down": {"docs.files.list", []authz.Grant{at("g1", "docs.files.list", "docs.folder:2", past)}, false, "g1"},
		"of another subject":          {"docs.files.read", []authz.Grant{{ID: "g1", Subject: "user:v", Pattern: "*", Scope: "*", ExpiresAt: past}}, false, ""},
	} {
		declared, rows := explained(t, c.grants...)
		if c.revoke {
			rows.Revokes = []authz.Revoke{{ID: "r1", UserID: "u", Pattern: "docs.*", Scope: "*"}}
		}
		e, err := access.Explain(declared, rows, c.key, folder, now, chains)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, g := range e.Expired {
			ids = append(ids, g.ID)
		}
		if got := strings.Join(ids, " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if text := e.Text(authz.UserPrincipal("u"), c.key, "docs.folder:1"); strings.Contains(text, "expired grant g1") != (c.want != "") ||
			strings.Contains(text, ", expired 2023-11-14T22:13:19Z") != (c.want != "") {
			t.Errorf("%s: %s", name, text)
		}
	}
}
