package goanalysis

import (
	"go/parser"
	"go/token"
	"go/types"
	"testing"
)

func TestFilesThatRequireABrowser(t *testing.T) {
	c, err := New(Settings{Catalog: vocabulary(t), ClientFilePatterns: []string{`^app/mobile/`}})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		path, build string
		want        bool
	}{
		{"a.go", "", false},
		{"a_js.go", "", true},
		{"a_wasm.go", "", true},
		{"a_js_wasm.go", "", true},
		{"a_js_test.go", "", true},
		{"js.go", "", false},
		{"wasm_exec.go", "", false},
		{"a_js_amd64.go", "", false},
		{"a_linux.go", "", false},
		{"a.go", "js && wasm", true},
		{"a.go", "js || wasm", true},
		{"a.go", "js || linux", false},
		{"a.go", "js && !dev", true},
		{"a.go", "!js", false},
		{"a.go", "!(!js || !wasm)", true},
		{"a.go", "!(js || linux)", false},
		{"app/mobile/login.go", "", true},
		{"other/app/mobile/login.go", "", false},
	} {
		text := "package a\n"
		if k.build != "" {
			text = "//go:build " + k.build + "\n\n" + text
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, k.path, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.forClient(&source{fset: fset, file: file, path: k.path}); got != k.want {
			t.Errorf("%s with the constraint %q: %v, want %v", k.path, k.build, got, k.want)
		}
	}
}

// TestSecretsAreFoundInFilesForAnotherSystem has no types to go by.
func TestSecretsAreFoundInFilesForAnotherSystem(t *testing.T) {
	c, err := New(Settings{Catalog: vocabulary(t), ForbidClientIdentifiers: []string{"SECRET_KEY"}})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		`"SECRET_KEY"`: 1, `SECRET_KEY`: 1, `"SECRET_" + "KEY"`: 1, `"SEC" + ("RET" + "_") + "KEY"`: 1, "`SECRET_` + \"KEY\"": 1,
		`"SECRET_" + "KEY" + "S"`: 1, // the first two are one
		`"SECRET_" + "KEYS"`:      0, `"SECRET_" + KEY + "KEY"`: 0, `"SECRET_" - "KEY"`: 0, `"" + "KEY"`: 0, `"SECRET_" + KEY`: 0,
	} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "a_js.go", "package a\n\nvar x = "+text+"\n", 0)
		if err != nil {
			t.Fatal(err)
		}
		s := &source{fset: fset, file: file, info: &types.Info{}}
		if c.walkSecrets(s); len(s.findings) != want {
			t.Errorf("%s: %d findings, want %d", text, len(s.findings), want)
		}
	}
}
