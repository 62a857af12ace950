package goanalysis

import (
	"go/parser"
	"go/token"
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
