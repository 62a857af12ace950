package goanalysis

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestOtherPeoplesPackagesAreRead judges what the verifier itself stands on: nothing of
// it may stop the run.
func TestOtherPeoplesPackagesAreRead(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: reads some hundred packages")
	}
	checker := shop(t)
	for _, patterns := range [][]string{
		{"net/http/...", "net/rpc", "expvar", "go/types", "encoding/..."},
		{"golang.org/x/tools/go/...", "github.com/santhosh-tekuri/jsonschema/v6"},
	} {
		judged, err := checker.Judge(t.Context(), ".", patterns)
		if err != nil {
			t.Fatal(err)
		}
		if len(judged.Reports) < 50 {
			t.Errorf("only %d files of %q were read", len(judged.Reports), patterns)
		}
	}
}

// FuzzRoutes reads sources that need not make sense.
func FuzzRoutes(f *testing.F) {
	err := filepath.WalkDir("testdata/routes", func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.HasSuffix(path, ".go") && !strings.Contains(path, "stubs") {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			f.Add(string(text))
		}
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	double := strings.Repeat("\tx = append(x, x...)\n\th = wrap(h, h)\n", 64)
	f.Add("package p\n\nimport \"net/http\"\n\nfunc wrap(a, b http.Handler) http.Handler { return a }\n\nfunc f(m *http.ServeMux, h http.Handler) {\n\tx := []http.Handler{h}\n" +
		double + "\tfor _, one := range x {\n\t\tm.Handle(\"/\", one)\n\t}\n}\n")
	f.Add("package p\n\nimport \"net/http\"\n\nfunc f(m *http.ServeMux) { f(m); g(m); m.Handle(\"/\", m) }\nfunc g(m *http.ServeMux) { f(m) }\n")
	checker := shop(f)
	fset := token.NewFileSet()
	std := importer.Default()
	f.Fuzz(func(t *testing.T, text string) {
		file, err := parser.ParseFile(fset, "/p/p.go", text, parser.ParseComments|parser.SkipObjectResolution)
		if file == nil || err != nil {
			return
		}
		info := &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
			Instances: map[*ast.Ident]types.Instance{}, Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		}
		config := types.Config{Importer: onlyHTTP{std}, Error: func(error) {}}
		pkg, _ := config.Check("p", fset, []*ast.File{file}, info)
		began := time.Now()
		_, err = checker.Check(Package{Fset: fset, Files: []*ast.File{file}, Info: info, Types: pkg, Alone: true,
			ReadFile: func(string) ([]byte, error) { return []byte(text), nil }})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// onlyHTTP has the few packages that fuzzed sources may import.
type onlyHTTP struct{ types.Importer }

func (i onlyHTTP) Import(path string) (*types.Package, error) {
	switch path {
	case "net/http", "context", "errors", "strings":
		return i.Importer.Import(path)
	}
	return nil, os.ErrNotExist
}
