package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/catalog"
)

// command runs a command that needs no host.
func command(t *testing.T, in string, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e strings.Builder
	code = run(t.Context(), args, strings.NewReader(in), &o, &e)
	return o.String(), e.String(), code
}

// A catalog to begin with has nothing wrong with it, nor has one whose examples are taken.
func TestACatalogToBeginWith(t *testing.T) {
	dir := t.TempDir()
	for file, namespace := range map[string]string{"notes.catalog.yaml": "notes", "catalog.yaml": "docs", "My Notes.yml": "docs", "x_1.yaml": "x_1"} {
		path := filepath.Join(dir, file)
		out, errs, code := command(t, "", "catalog", "init", path)
		if code != 0 || !strings.Contains(out, "declares the permissions of "+namespace) {
			t.Fatalf("init %s: %d %s%s", file, code, out, errs)
		}
		if out, errs, code := command(t, "", "catalog", "lint", "--strict", path); code != 0 {
			t.Errorf("%s: %s%s", file, out, errs)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "NAMESPACE") || strings.Contains(string(text), " FILE ") || !strings.Contains(string(text), "\n#| ") {
			t.Errorf("%s holds\n%s", file, text)
		}
		taken := strings.ReplaceAll(string(text), "\n#| ", "\n")
		if strings.Contains(taken, "#|\n") {
			t.Errorf("a line of an example is left in\n%s", taken)
		}
		in, err := catalog.ParseYAML([]byte(taken))
		if err != nil {
			t.Fatal(err)
		}
		c, err := catalog.Build(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, issue := range catalog.Lint(c) {
			t.Errorf("%s with its examples: %+v", file, issue)
		}
		if len(c.SoD()) == 0 || len(c.Regions()) == 0 || len(c.Navigation()) == 0 || !c.HasKey(namespace+".files.approve") {
			t.Errorf("%s: an example is not taken", file)
		}
		out, errs, code = command(t, "", "catalog", "init", path)
		if code != exitUsage || !strings.Contains(errs, "is not overwritten") {
			t.Errorf("once more: %d %s%s", code, out, errs)
		}
		if again, err := os.ReadFile(path); err != nil || string(again) != string(text) {
			t.Errorf("%s was written again", file)
		}
	}
}

func TestACatalogToBeginWithIsRefused(t *testing.T) {
	dir := t.TempDir()
	for says, args := range map[string][]string{
		"JSON has no comments":               {filepath.Join(dir, "a.json")},
		"ends .yaml or .yml":                 {filepath.Join(dir, "a")},
		`--namespace "Docs" is none`:         {filepath.Join(dir, "a.yaml"), "--namespace", "Docs"},
		`--namespace "authz_internal" is no`: {filepath.Join(dir, "a.yaml"), "--namespace", "authz_internal"},
		"leave --output out":                 {"-", "-o", "json"},
		"no such file or directory":          {filepath.Join(dir, "none", "a.yaml")},
	} {
		out, errs, code := command(t, "", append([]string{"catalog", "init"}, args...)...)
		if code != exitUsage || !strings.Contains(errs, says) {
			t.Errorf("%v: %d %s%s", args, code, out, errs)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	out, _, code := command(t, "", "catalog", "init", "-", "--namespace", "billing")
	if code != 0 || !strings.Contains(out, "namespaces: [billing]") {
		t.Errorf("%d %s", code, out)
	}
	out, _, code = command(t, "", "catalog", "init", filepath.Join(dir, "docs.yaml"), "-o", "json")
	if code != 0 || !strings.Contains(out, `"namespace": "docs"`) {
		t.Errorf("%d %s", code, out)
	}
}

// Lint names what was meant, in text and as JSON.
func TestLintSuggests(t *testing.T) {
	const wrong = `namespaces: [docs]
scopeTypes:
  docs.folder: {parent: docs.foldr}
  docs.doc: {parnt: docs.folder, requestable: {policy: {stages: [{kind: named_aprovers, roleId: r}]}}}
permissions:
  doc.files.read: {scopes: [docs.folder]}
  docs.files.edit: {scopes: [docs.dok], kind: reed}
`
	out, _, code := command(t, wrong, "catalog", "lint", "-")
	if code != exitFailure {
		t.Errorf("exit %d", code)
	}
	for _, line := range []string{
		`standard input:4:14: error: scopeTypes.docs.doc.parnt: is not a field of a scope type. Did you mean "parent"?` + "\n",
		`standard input:7:3: error: docs.files.edit: kind must be "read" or "action" — got "reed"; did you mean "read"?`,
		`standard input:6:3: error: doc.files.read: the first segment "doc" is not a declared namespace — add it to ` + "`namespaces`" + `; did you mean "docs"?`,
		`got "named_aprovers"; did you mean "named_approvers"?`,
		`standard input:3:3: error: docs.folder: parent scope type "docs.foldr" is not declared; did you mean "docs.folder"?`,
		`standard input:7:3: error: docs.files.edit: references undeclared scope type "docs.dok"; did you mean "docs.doc"?`,
	} {
		if !strings.Contains(out, line) {
			t.Errorf("%q is not in\n%s", line, out)
		}
	}
	out, _, _ = command(t, wrong, "catalog", "lint", "-", "-o", "json")
	if !strings.Contains(out, `"didYouMean": "docs.doc"`) || !strings.Contains(out, `"line": 7`) {
		t.Errorf("as JSON: %s", out)
	}
	const linted = "namespaces: [docs]\npermissions:\n  docs.files.read: true\nnavigation:\n  - {label: Files, permission: docs.fils.*}\n"
	out, _, _ = command(t, linted, "catalog", "lint", "-")
	if !strings.Contains(out, `standard input:5:5: error: Files: nav permission "docs.fils.*" references nothing in the catalog; did you mean "docs.files.*"?`) {
		t.Errorf("told %s", out)
	}
}

func TestAReferenceOfACatalog(t *testing.T) {
	dir := t.TempDir()
	access := filepath.Join(dir, "access.yaml")
	if err := os.WriteFile(access, []byte("name: team\nroles:\n  - {id: editor, patterns: ['docs.files.*', 'docs.fils.read']}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, errs, code := command(t, docsCatalog, "catalog", "document", "-", "--access", access)
	if code != 0 || !strings.Contains(out, "# Permissions of `docs`") || !strings.Contains(out, "### `editor` editor") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	if !strings.Contains(errs, `warning: role editor: "docs.fils.read" is not in this catalog`) {
		t.Errorf("warned %q", errs)
	}
	if strings.Contains(out, "authz_internal") {
		t.Errorf("the internal namespace is told:\n%s", out)
	}
	if out, _, _ := command(t, docsCatalog, "catalog", "document", "-", "--internal"); !strings.Contains(out, "authz_internal.access.view_as") {
		t.Errorf("the internal namespace is not told:\n%s", out)
	}
	if out, _, _ := command(t, docsCatalog, "catalog", "document", "-", "-o", "json"); !strings.Contains(out, `"groups": [`) {
		t.Errorf("as JSON: %s", out)
	}
	out, errs, code = command(t, "namespaces: [docs]\npermissions:\n  doc.files.read: true\n", "catalog", "document", "-")
	if code != exitFailure || out != "" || !strings.Contains(errs, `standard input:3:3: error: doc.files.read`) {
		t.Errorf("a broken catalog: %d %s%s", code, out, errs)
	}
	if _, errs, code = command(t, docsCatalog, "catalog", "document", "-", "--access", "-"); code != exitUsage || !strings.Contains(errs, "only one of the files") {
		t.Errorf("twice standard input: %d %s", code, errs)
	}
}
