package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/authzhost/authz/verify/config"
	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, files map[string]string) {
	t.Helper()
	for file, text := range files {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheFirstConfigurationIsOfWhatLiesThere(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, map[string]string{
		"package.json":            `{"dependencies":{"next":"16"}}`,
		".env.local":              "# x\nSTRIPE_SECRET=s3cret\nexport API_TOKEN = 1\nNEXT_PUBLIC_KEY=1\nNODE_ENV=x\nSTRIPE_SECRET=2\n",
		"a/deep/docs.json":        `{"formatVersion":1,"namespace":"docs","namespaces":["docs"],"leaves":[]}`,
		"gen/app.json":            `{"formatVersion":1,"namespace":"app","namespaces":["app"],"leaves":[]}`,
		"gen/imports.json":        `{"formatVersion":1,"namespace":"app","imports":[{"namespace":"docs"},{"namespace":"crm"}]}`,
		"gen/other.json":          `{"formatVersion":1,"namespace":"docs","imports":[]}`,
		"gen/broken.json":         `{"formatVersion"`,
		"node_modules/c/c.json":   `{"formatVersion":1,"namespace":"c","namespaces":["c"],"leaves":[]}`,
		"app/page.tsx":            "",
		"lib/x/y.ts":              "",
		"next.config.ts":          "",
		"public/logo.svg":         "",
		"node_modules/c/index.ts": "",
	})
	found, err := config.Look()
	if err != nil {
		t.Fatal(err)
	}
	if !found.Next {
		t.Error("next was not seen")
	}
	c, unknown, err := config.Parse(found.Text())
	if err != nil || unknown != nil {
		t.Fatalf("%v %v\n%s", err, unknown, found.Text())
	}
	want := &config.Config{Catalog: "gen/app.json", Include: []string{"app", "lib"}, Exclude: []string{}, GateNames: []string{}, VisibilityNames: []string{},
		ServerFilePatterns: []string{}, ForbidClientIdentifiers: []string{"API_TOKEN", "STRIPE_SECRET"},
		ImportManifest: "gen/imports.json", Imports: map[string]string{"docs": "a/deep/docs.json"}}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("%s\n%s", diff, found.Text())
	}
}

func TestTheFirstConfigurationOfAnEmptyDirectoryCanBeFilledIn(t *testing.T) {
	t.Chdir(t.TempDir())
	found, err := config.Look()
	if err != nil {
		t.Fatal(err)
	}
	c, unknown, err := config.Parse(found.Text())
	if err != nil || unknown != nil || c.Catalog != "catalog.json" || len(found.Catalogs) != 0 {
		t.Errorf("%+v %v %v\n%s", c, unknown, err, found.Text())
	}
}
