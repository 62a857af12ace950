package config_test

import (
	"os"
	"path/filepath"
	"slices"
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
		".env.local":              "# x\nSTRIPE_SECRET=s3cret\nexport API_TOKEN = 1\nNEXT_PUBLIC_KEY=1\nEXPO_PUBLIC_TOKEN=1\nNUXT_PUBLIC_TOKEN=1\nGATSBY_TOKEN=1\nVUE_APP_TOKEN=1\nNODE_ENV=x\nSTRIPE_SECRET=2\n",
		".env":                    "\ufeffCRM_SECRET=1\n",
		"a/deep/docs.json":        `{"formatVersion":1,"namespace":"docs","namespaces":["docs"],"leaves":[]}`,
		"gen/app.json":            `{"formatVersion":1,"namespace":"app","namespaces":["app"],"leaves":[]}`,
		"gen/imports.json":        `{"formatVersion":1,"namespace":"app","imports":[{"namespace":"docs"},{"namespace":"crm"}]}`,
		"gen/other.json":          `{"formatVersion":1,"namespace":"docs","imports":[]}`,
		"gen/broken.json":         `{"formatVersion"`,
		"node_modules/c/c.json":   `{"formatVersion":1,"namespace":"c","namespaces":["c"],"leaves":[]}`,
		"app/page.tsx":            "",
		"lib/x/y.ts":              "",
		"next.config.ts":          "",
		".storybook/main.ts":      "",
		".hidden.ts":              "",
		"public/logo.svg":         "",
		"node_modules/c/index.ts": "",
	})
	if err := os.Symlink("../app", ".storybook/app"); err != nil { // by which app is not to be known
		t.Fatal(err)
	}
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
	want := &config.Config{Catalog: "gen/app.json", Include: []string{"app", "lib", "next.config.ts"}, Exclude: []string{}, GateNames: []string{}, VisibilityNames: []string{},
		ServerFilePatterns: []string{}, ForbidClientIdentifiers: []string{"API_TOKEN", "CRM_SECRET", "STRIPE_SECRET"},
		ImportManifest: "gen/imports.json", Imports: map[string]string{"docs": "a/deep/docs.json"},
		Judge: config.JudgeExports, GateWrappers: []string{}, PassThroughWrappers: []string{}, PublicWrappers: []string{}, GateMiddleware: []string{},
		Exempt: map[string]string{}}
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

func TestTheFirstConfigurationHasWhatGoNeeds(t *testing.T) {
	for name, c := range map[string]struct {
		files             map[string]string
		include, packages []string
	}{
		"a module":                     {map[string]string{"go.mod": ""}, []string{}, []string{"./..."}},
		"a workspace":                  {map[string]string{"go.work": "", "a/go.mod": ""}, []string{}, []string{"work"}},
		"a workspace with one at top":  {map[string]string{"go.work": "", "go.mod": ""}, []string{}, []string{"work"}},
		"a module and TypeScript":      {map[string]string{"go.mod": "", "web/a.ts": ""}, []string{"web"}, []string{"./..."}},
		"a module below is not at top": {map[string]string{"a/go.mod": "", "go.mod/x": ""}, []string{"src"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			write(t, c.files)
			found, err := config.Look()
			if err != nil {
				t.Fatal(err)
			}
			got, unknown, err := config.Parse(found.Text())
			if err != nil || unknown != nil {
				t.Fatalf("%v %v\n%s", err, unknown, found.Text())
			}
			var want *config.Go
			if c.packages != nil {
				want = &config.Go{Packages: c.packages}
			}
			if diff := cmp.Diff(want, got.Go) + cmp.Diff(c.include, got.Include); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestADirectoryThatCannotBeReadIsPassedOver(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("SKIPPED: root may read every directory")
	}
	t.Chdir(t.TempDir())
	write(t, map[string]string{"app/a.ts": ""})
	if err := os.Mkdir("data", 0); err != nil {
		t.Fatal(err)
	}
	if found, err := config.Look(); err != nil || !slices.Equal(found.Include, []string{"app"}) {
		t.Errorf("%+v, %v", found, err)
	}
}
