package goanalysis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/verify"
	"github.com/authzhost/authz/verify/config"
)

// scan judges packages of testdata by its configuration, changed as need be.
func scan(t *testing.T, change func(*Settings), patterns ...string) []verify.FileReport {
	t.Helper()
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	in, err := readInputs(filepath.Join(dir, config.DefaultPath), "")
	if err != nil {
		t.Fatal(err)
	}
	settings, err := in.settings()
	if err != nil {
		t.Fatal(err)
	}
	change(&settings)
	checker, err := New(settings)
	if err != nil {
		t.Fatal(err)
	}
	reports, err := checker.Scan(context.Background(), dir, patterns)
	if err != nil {
		t.Fatal(err)
	}
	return reports
}

func report(t *testing.T, reports []verify.FileReport, file string) verify.FileReport {
	t.Helper()
	i := slices.IndexFunc(reports, func(r verify.FileReport) bool { return r.File == file })
	if i < 0 {
		t.Fatalf("no report of %s", file)
	}
	return reports[i]
}

// told is what a finding says in short: rule, severity and line.
func told(r verify.FileReport) []string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, string(f.Rule)+" "+string(f.Severity)+" "+strings.Split(f.Message, " — ")[0])
	}
	return out
}

func TestAScanTellsWarningsReferencesAndWhatIsSkipped(t *testing.T) {
	reports := scan(t, func(s *Settings) { s.ImplicitImports = verify.PolicyWarn }, "./scanned")
	want := []string{
		"ignored-file warning authz-verify-ignore-file found here, but it is not in the file header, so it does nothing",
		"unchecked-gate warning decision of Can() is discarded",
		"implicit-import warning \"crm.deals.read\" is in namespace \"crm\", which this catalog neither owns nor imports",
		"stale-suppression warning authz-verify-ignore for \"unchecked-gate\" without a reason",
		"stale-suppression warning authz-verify-ignore for \"unknown-pattern\" suppresses nothing here",
		"stale-suppression warning authz-verify-ignore-next-line without a rule name",
	}
	r := report(t, reports, "scanned/scanned.go")
	if diff := cmp.Diff(want, told(r)); diff != "" {
		t.Error(diff)
	}
	if want := []string{"docs.files.read", "docs.files.update"}; !slices.Equal(r.Keys, want) {
		t.Errorf("the keys are %q, want %q: inspection is no reference", r.Keys, want)
	}
	if want := []string{"*"}; !slices.Equal(r.Patterns, want) {
		t.Errorf("the patterns are %q, want %q", r.Patterns, want)
	}
	skipped := report(t, reports, "scanned/skipped.go")
	if skipped.Skipped == nil || skipped.Skipped.Reason != "(no reason given)" || len(skipped.Keys) != 0 ||
		!slices.Equal(told(skipped), []string{"ignored-file warning authz-verify-ignore-file without a reason"}) {
		t.Errorf("the skipped file is told of as %+v", skipped)
	}
}

func TestTestFilesAreJudgedOnRequestAndCountForNothing(t *testing.T) {
	reports := scan(t, func(s *Settings) { s.Tests = true }, "./alike")
	r := report(t, reports, "alike/alike_test.go")
	if got := told(r); len(got) != 2 || len(r.Keys)+len(r.Patterns) > 0 {
		t.Errorf("findings %q, keys %q, patterns %q", got, r.Keys, r.Patterns)
	}
	seen := map[string]bool{}
	for _, r := range reports {
		if seen[r.File] {
			t.Errorf("%s is told of twice", r.File)
		}
		seen[r.File] = true
	}
}

// scanFiles judges a project of these files.
func scanFiles(t *testing.T, files map[string]string, change func(*Settings)) (dir string, reports []verify.FileReport, err error) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	settings := Settings{Catalog: vocabulary(t), Dir: dir}
	change(&settings)
	checker, err := New(settings)
	if err != nil {
		t.Fatal(err)
	}
	reports, err = checker.Scan(t.Context(), dir, []string{"./..."})
	return dir, reports, err
}

func TestAProgramOfTheProjectIsJudgedWhateverItsPath(t *testing.T) {
	_, reports, err := scanFiles(t, map[string]string{
		"go.mod":    "module example.com/load.test\n\ngo 1.26.0\n",
		"a.go":      "package main\n\nfunc can(string) bool { return true }\n\nvar ok = can(\"docs.files.raed\")\n\nfunc main() {}\n",
		"a_test.go": "package main\n\nimport \"testing\"\n\nfunc TestA(*testing.T) {}\n",
	}, func(s *Settings) { s.GateNames, s.Tests = []string{"can"}, true })
	if err != nil || len(reports) != 2 || len(told(report(t, reports, "a.go"))) != 1 {
		t.Errorf("%+v, %v", reports, err)
	}
}

func TestAFileThatUsesCgoIsJudgedWhereItStands(t *testing.T) {
	if out, err := exec.Command("go", "list", "-f", "{{.CgoFiles}}", "os/user").Output(); err != nil || string(out) == "[]\n" {
		t.Skip("SKIPPED: cgo is switched off, or there is no C compiler")
	}
	_, reports, err := scanFiles(t, map[string]string{
		"go.mod": "module example.com/p\n\ngo 1.26.0\n",
		"a.go": "package p\n\n// int one(void) { return 1; }\nimport \"C\"\n\nimport \"net/http\"\n\n" +
			"func serve(w http.ResponseWriter, r *http.Request) { _ = C.one() }\n\n" +
			"//authz-verify-ignore-next-line ungated-action is public\nfunc public(w http.ResponseWriter, r *http.Request) {}\n\n" +
			"func can(int, string) bool { return true }\n\nvar ok = can(int(C.one()), \"docs.files.raed\")\n",
	}, func(s *Settings) { s.GateNames = []string{"can"} })
	if err != nil || len(reports) != 1 {
		t.Fatalf("%+v, %v", reports, err)
	}
	var at []string
	for _, f := range reports[0].Findings {
		at = append(at, fmt.Sprintf("%s %s:%d:%d", f.Rule, f.File, f.Line, f.Column))
	}
	if diff := cmp.Diff([]string{"unknown-pattern a.go:15:28", "ungated-action a.go:8:1"}, at); diff != "" {
		t.Error(diff)
	}
}

func TestAScanFetchesNothingAndWritesNothing(t *testing.T) {
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOPRIVATE", "*")
	t.Setenv("GOPROXY", "direct")
	files := map[string]string{"go.mod": "module example.com/p\n\nrequire module.invalid/x v1.0.0\n", "a.go": "package p\n\nimport _ \"module.invalid/x\"\n",
		"go.sum": "module.invalid/x v1.0.0/go.mod h1:" + strings.Repeat("A", 43) + "=\n"}
	if _, _, err := scanFiles(t, files, func(*Settings) {}); err == nil || !strings.Contains(err.Error(), "GOPROXY=off") {
		t.Errorf("the error is %v", err)
	}
	files = map[string]string{"go.mod": "module example.com/p\n", "a.go": "package p\n"}
	dir, _, err := scanFiles(t, files, func(*Settings) {})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err != nil || string(text) != files["go.mod"] {
		t.Errorf("go.mod became %q, %v", text, err)
	}
}

func TestAPackageThatDoesNotTypeCheckIsNoReport(t *testing.T) {
	_, _, err := scanFiles(t, map[string]string{"go.mod": "module example.com/broken\n\ngo 1.26.0\n", "a.go": "package broken\n\nvar a = missing\n"},
		func(*Settings) {})
	if broken := (*LoadError)(nil); !errors.As(err, &broken) || broken.Package != "example.com/broken" {
		t.Errorf("the error is %v", err)
	}
}

func TestSecretsAreFoundInFilesThatAreNotBuiltHere(t *testing.T) {
	r := report(t, scan(t, func(*Settings) {}, "./shipped"), "shipped/page_js.go")
	if got, want := told(r), []string{`client-reachable-secret error "signingKey" referenced in a client file`}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestSecretsAreFoundInPackagesThatAreNotBuiltHere(t *testing.T) {
	t.Setenv("GOFLAGS", "-buildmode=pie")
	use := "package p\n\nvar a = \"signingKey\"\n"
	_, reports, err := scanFiles(t, map[string]string{
		"go.mod": "module example.com/p\n\ngo 1.26.0\n", "p.go": "package p\n",
		"page/a_js.go": use, "page/b.go": "//go:build wasm\n\n" + use, "page/c.go": "//go:build !linux\n\n" + use, "page/c_js_test.go": use,
		"edge/a.go": "//go:build wasip1 && wasm\n\n" + use, "windows/a_windows.go": use, "both/a.go": use, "both/a_js.go": use,
	}, func(s *Settings) { s.ForbidClientIdentifiers, s.Tests = []string{"signingKey"}, true })
	var at []string
	for _, r := range reports {
		for _, f := range r.Findings {
			at = append(at, fmt.Sprintf("%s %s:%d", f.Rule, f.File, f.Line))
		}
	}
	var want []string
	for _, where := range []string{"both/a_js.go:3", "edge/a.go:5", "page/a_js.go:3", "page/b.go:5", "page/c_js_test.go:3"} {
		want = append(want, "client-reachable-secret "+where)
	}
	if diff := cmp.Diff(want, at); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestCarriageReturnsMoveNoPragma(t *testing.T) {
	text := strings.ReplaceAll("// one\n\n/* two\n * three\n *\n *\n *\n  authz-verify-ignore-file\n */\npackage p\n", "\n", "\r\n")
	_, reports, err := scanFiles(t, map[string]string{"go.mod": "module example.com/p\n\ngo 1.26.0\n", "a.go": text}, func(*Settings) {})
	if err != nil || len(reports) != 1 || len(reports[0].Findings) != 1 || reports[0].Findings[0].Line != 8 || reports[0].Findings[0].Column != 3 {
		t.Errorf("%+v, %v", reports, err)
	}
}

func TestAConfigurationOutsideTheProjectExcludesPathsInIt(t *testing.T) {
	project, elsewhere := t.TempDir(), t.TempDir()
	document, err := vocabulary(t).Document()
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		filepath.Join(project, "go.mod"):             "module example.com/p\n",
		filepath.Join(elsewhere, config.DefaultPath): `{"catalog": "c.json", "exclude": ["old/"]}`,
		filepath.Join(elsewhere, "c.json"):           string(document),
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m := &maker{options: &Options{Config: filepath.Join(elsewhere, config.DefaultPath)}}
	c, err := m.checkerFor(filepath.Join(project, "old"))
	if err != nil {
		t.Fatal(err)
	}
	if path := c.pathOf(filepath.Join(project, "old", "a.go")); path != "old/a.go" || !c.excluded(path) {
		t.Errorf("the file goes by %q, excluded %v", path, c.excluded(path))
	}
}

func TestAForeignClientHasNoCheckAndNoRequireGate(t *testing.T) {
	for _, names := range [][]string{nil, {"Check", "RequireGate"}} {
		r := report(t, scan(t, func(s *Settings) {
			s.ClientPackages, s.GateNames = []string{"example.com/docs/guarded"}, names
		}, "./guarded"), "guarded/guarded.go")
		if got, want := len(r.Findings), 2*(1+len(names)); got != want {
			t.Errorf("with the gates %q %d findings, want %d: %v", names, got, want, told(r))
		}
	}
}
