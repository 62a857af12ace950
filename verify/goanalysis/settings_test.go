package goanalysis

import (
	"strings"
	"testing"
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
