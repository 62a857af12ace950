package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/licenseclassifier/v2/assets"
)

const root = "../../.."

func TestTheNoticesAreThoseOfTheModulesThatAreLinked(t *testing.T) {
	if err := run(root, true); err != nil {
		t.Error(err)
	}
}

func TestALicenceThatNobodyLookedAtIsRefused(t *testing.T) {
	c, err := newClassifier()
	if err != nil {
		t.Fatal(err)
	}
	mit, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		t.Fatal(err)
	}
	agpl, err := assets.ReadLicenseFile("License/AGPL-3.0/license.txt")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		files map[string]string // below the module
		want  string            // in the error; "" is none
	}{
		"a licence that is known":              {map[string]string{"LICENSE": string(mit)}, ""},
		"one above the package":                {map[string]string{"LICENCE.md": string(mit), "sub/x.go": ""}, ""},
		"one beside a folder that is not ours": {map[string]string{"other/LICENSE": string(mit)}, "has no licence file"},
		"none":                                 {map[string]string{"license.go": string(mit)}, "has no licence file"},
		"a text that is none":                  {map[string]string{"LICENSE": "All rights reserved."}, "no licence is recognised in LICENSE"},
		"a licence that asks for more":         {map[string]string{"LICENSE": string(mit), "COPYING": string(agpl)}, "which nobody has looked at"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			linked := filepath.Join(dir, "sub")
			for file, text := range test.files {
				path := filepath.Join(dir, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.MkdirAll(linked, 0o755); err != nil {
				t.Fatal(err)
			}
			m := &module{path: "example.org/x", version: "v1.0.0", dir: dir, dirs: map[string]bool{linked: true}}
			err := c.read(m)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

func TestTheNoticeOfAnMPLModuleSaysWhereItsSourceIs(t *testing.T) {
	text := string(render([]*module{{path: "github.com/Some/thing", version: "v1.2.3", kinds: []string{mpl}}}, []byte("What the dashboard is built of\n")))
	if want := "https://proxy.golang.org/github.com/!some/thing/@v/v1.2.3.zip"; !strings.Contains(text, want) {
		t.Errorf("no %s in\n%s", want, text)
	}
	if !strings.HasSuffix(strings.TrimSpace(text), "What the dashboard is built of") {
		t.Errorf("the dashboard does not come last:\n%s", text)
	}
}

func TestAProgramWithoutTheNoticesIsRefused(t *testing.T) {
	_, err := linked(root, []program{{"authz-faults", ".", "./cmd/authz-faults"}}) // it is not shipped
	if err == nil || !strings.Contains(err.Error(), "does not carry the notices") {
		t.Errorf("%v", err)
	}
}
