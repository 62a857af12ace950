package goanalysis

import (
	"strings"
	"testing"

	"github.com/authzhost/authz/verify/config"
)

func TestSettingsThatNothingCanBeMadeOfAreRefused(t *testing.T) {
	cat := vocabulary(t)
	for name, k := range map[string]struct {
		settings Settings
		want     string
	}{
		"no catalog":         {Settings{}, "Catalog"},
		"no such policy":     {Settings{Catalog: cat, ImplicitImports: "loud"}, "ImplicitImports"},
		"server functions":   {Settings{Catalog: cat, ServerFunctions: []string{"("}}, "go.serverFunctions"},
		"server files":       {Settings{Catalog: cat, ServerFilePatterns: []string{"(?=x)"}}, "serverFilePatterns"},
		"files for a client": {Settings{Catalog: cat, ClientFilePatterns: []string{"["}}, "go.clientFilePatterns"},
	} {
		if _, err := New(k.settings); err == nil || !strings.Contains(err.Error(), k.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestADocumentOfAnotherNamespaceIsNoOwners(t *testing.T) {
	document, err := vocabulary(t).Document()
	if err != nil {
		t.Fatal(err)
	}
	in := &inputs{catalog: document, parsed: &config.Config{Imports: map[string]string{"meet": "meet.json"}},
		documents: map[string][]byte{"meet": document}}
	if _, err := in.settings(); err == nil || !strings.Contains(err.Error(), `meet.json: the document publishes ["docs" "authz_internal"], not "meet"`) {
		t.Errorf("the error is %v", err)
	}
}

func TestClientPackages(t *testing.T) {
	for _, k := range []struct {
		packages []string
		path     string
		want     bool
	}{
		{nil, "github.com/authzhost/authz/sdk/client", true},
		{nil, "github.com/authzhost/authz", true},
		{nil, "github.com/authzhost/authzeta", false},
		{[]string{"example.com/guard"}, "example.com/guard", true},
		{[]string{"example.com/guard"}, "example.com/guard/sub", false},
		{[]string{"example.com/guard"}, "github.com/authzhost/authz/sdk/client", false},
		{[]string{"example.com/guard/..."}, "example.com/guard/sub", true},
		{[]string{}, "github.com/authzhost/authz/sdk/client", false},
	} {
		c, err := New(Settings{Catalog: vocabulary(t), ClientPackages: k.packages})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.client(k.path); got != k.want {
			t.Errorf("%s in %q: %v", k.path, k.packages, got)
		}
	}
}
