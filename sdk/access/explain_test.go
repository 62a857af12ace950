package access_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// explained is the vocabulary of these tests, and a principal with rows.
func explained(t *testing.T, grants ...authz.Grant) (*access.Vocabulary, *authz.SubjectAccess) {
	t.Helper()
	in, err := catalog.ParseJSON([]byte(`{"namespaces":["docs"],"scopeTypes":{"docs.folder":{"parent":"docs.folder"}},"permissions":{
		"docs.files.read":{"scopes":["docs.folder"]},"docs.files.pay":{"requiresCondition":true},
		"docs.files.list":{"scopes":["docs.folder"],"impliedOnAncestors":true}}}`))
	if err != nil {
		t.Fatal(err)
	}
	built, err := catalog.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	user := "u"
	return access.NewVocabulary(built), &authz.SubjectAccess{UserID: &user, Closure: []string{"user:u", "everyone"}, Grants: grants, Active: true}
}

func TestAnExplanationTellsOfTheCondition(t *testing.T) {
	v, rows := explained(t, authz.Grant{ID: "g1", Subject: "user:u", Pattern: "docs.files.*", Scope: authz.Global})
	for key, conditional := range map[string]bool{"docs.files.pay": true, "docs.files.read": false} {
		e, err := access.Explain(v, rows, key, access.GlobalChain, 1, nil)
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
	e, err := access.Explain(v, rows, "docs.files.pay", access.GlobalChain, 1, nil)
	if err != nil || !e.RequiresCondition || strings.Contains(e.Text(authz.UserPrincipal("u"), "docs.files.pay", ""), "if its condition holds") {
		t.Errorf("of a denial: %+v, %v", e, err)
	}
}
