package goanalysis

import (
	"bytes"
	"flag"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/verify"
)

var update = flag.Bool("update", false, "write the catalog of testdata")

// vocabulary is what testdata is written against.
func vocabulary(t testing.TB) *catalog.Catalog {
	t.Helper()
	cat, err := catalog.Build(catalog.Input{
		Namespaces: []string{"docs"},
		ScopeTypes: []catalog.ScopeType{{Type: "docs.folder"}},
		Permissions: []catalog.PermissionSet{catalog.Leaves(
			catalog.Key("docs.files.read"), catalog.Key("docs.files.update"), catalog.Key("docs.audit.read"),
			catalog.Permission{Key: "docs.files.approve", RequiresCondition: true},
			catalog.Permission{Key: "docs.files.purge", RequiresCondition: true},
		)},
		Imports: []catalog.Import{{Namespace: "meet", Permissions: []catalog.Permission{{Key: "meet.rooms.join"}, {Key: "meet.rooms.leave"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(m.Run())
}

func TestTheCatalogOfTestdataIsCurrent(t *testing.T) {
	cat := vocabulary(t)
	for name, write := range map[string]func() ([]byte, error){"docs.catalog.json": cat.Document, "docs.imports.json": cat.Manifest} {
		want, err := write()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the test declares (-update writes it): %v", path, err)
		}
	}
}

var (
	wanted   = regexp.MustCompile("// want ((?:[`\"].*[`\"])+)")
	quotedRE = regexp.MustCompile("`[^`]*`|\"(?:[^\"\\\\]|\\\\.)*\"")
	fixedRE  = regexp.MustCompile(`/\* fix (.*?) \*/`)
)

// TestSources runs the analyzer once over both: most of the time goes
// into loading what net/http stands on. Comments say what is wanted, so every
// diagnostic at a look-alike fails it too.
func TestSources(t *testing.T) {
	results := analysistest.Run(t, analysistest.TestData(), NewAnalyzer(Options{}), "./planted/...", "./alike/...")
	t.Run("planted faults are found where they are, with their fixes", func(t *testing.T) { testPlanted(t, results) })
	t.Run("look-alikes are left alone", func(t *testing.T) { testAlike(t, results) })
}

func testPlanted(t *testing.T, results []*analysistest.Result) {
	planted, fixed := 0, 0
	for _, r := range results {
		if !strings.Contains(r.Pass.Pkg.Path(), "/planted/") {
			continue
		}
		offered := map[string][]string{} // by file and line
		for _, d := range r.Diagnostics {
			if !strings.HasPrefix(d.Message, "["+d.Category+"] ") {
				t.Errorf("the message %q does not begin with the rule %q", d.Message, d.Category)
			}
			at := r.Pass.Fset.Position(d.Pos)
			line := at.Filename + ":" + strconv.Itoa(at.Line)
			for _, fix := range d.SuggestedFixes {
				offered[line] = append(offered[line], applied(t, r.Pass, fix))
			}
		}
		for _, file := range r.Pass.Files {
			name := r.Pass.Fset.Position(file.FileStart).Filename
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(string(text), "\n") {
				if m := wanted.FindStringSubmatch(line); m != nil {
					planted += len(quotedRE.FindAllString(m[1], -1))
				}
				var want []string
				if m := fixedRE.FindStringSubmatch(line); m != nil {
					for _, q := range quotedRE.FindAllString(m[1], -1) {
						name, _ := strconv.Unquote(q)
						want = append(want, name)
					}
				}
				fixed += len(want)
				if got := offered[name+":"+strconv.Itoa(i+1)]; !slices.Equal(got, want) {
					t.Errorf("%s:%d offers %q, want %q", filepath.Base(name), i+1, got, want)
				}
			}
		}
	}
	if planted < 60 || fixed < 30 {
		t.Errorf("%d faults and %d fixes were looked for, want 60 and 30 at least", planted, fixed)
	}
}

// applied is the string that a fix leaves, which replaces one whole literal.
func applied(t *testing.T, pass *analysis.Pass, fix analysis.SuggestedFix) string {
	t.Helper()
	if len(fix.TextEdits) != 1 {
		t.Fatalf("the fix %q has %d edits", fix.Message, len(fix.TextEdits))
	}
	edit := fix.TextEdits[0]
	whole := false
	for _, file := range pass.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			whole = whole || ok && lit.Kind == token.STRING && lit.Pos() == edit.Pos && lit.End() == edit.End
			return true
		})
	}
	name, err := strconv.Unquote(string(edit.NewText))
	if !whole || err != nil {
		t.Errorf("the fix %q does not replace one literal by another", fix.Message)
	}
	return name
}

func testAlike(t *testing.T, results []*analysistest.Result) {
	alike := 0
	for _, r := range results {
		if !strings.Contains(r.Pass.Pkg.Path(), "/alike") {
			continue
		}
		for _, d := range r.Diagnostics {
			t.Errorf("%s: %s", r.Pass.Fset.Position(d.Pos), d.Message)
		}
	}
	files, err := filepath.Glob("testdata/alike/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(files, "testdata/alike/vendored/copied.go") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		alike += strings.Count(string(text), "// alike")
	}
	if alike < 100 {
		t.Errorf("%d look-alikes, want 100 at least", alike)
	}
}

func TestAnAnalyzerSeesAChangedCatalogAndSharesNothing(t *testing.T) {
	dir := t.TempDir()
	document, err := vocabulary(t).Document()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "docs.catalog.json")
	write := func(text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(document)
	m, other := &maker{options: &Options{Catalog: path}}, &maker{options: &Options{Catalog: path, Tests: true}}
	judges := func(m *maker, key string) bool {
		t.Helper()
		c, err := m.checkerFor(dir)
		if err != nil {
			t.Fatal(err)
		}
		return c.judge.Literal(key, verify.Use{Gate: true}).Rule == ""
	}
	first, err := m.checkerFor(dir)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := m.checkerFor(dir); again != first {
		t.Error("an unchanged catalog is built again")
	}
	if c, err := other.checkerFor(dir); err != nil || !c.tests || first.tests {
		t.Errorf("options leak between analyzers: %v", err)
	}
	if !judges(m, "docs.files.update") {
		t.Error("a declared key is refused")
	}
	write(bytes.ReplaceAll(document, []byte("docs.files.update"), []byte("docs.files.change")))
	if judges(m, "docs.files.update") || !judges(m, "docs.files.change") {
		t.Error("the old catalog is judged by")
	}
	write([]byte("{"))
	if _, err := m.checkerFor(dir); err == nil {
		t.Error("a broken catalog is passed over")
	}
}
