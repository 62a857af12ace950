package catalog_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

const sampleJSON = `{
 "namespaces": ["docs", "docs"],
 "permissions": [
  {"kind": "block", "path": "docs.files", "group": {"label": "Files", "scopes": ["docs.folder", "docs.doc"]},
   "leaves": {
    "docs.files.read": {"label": "View", "impliedOnAncestors": true},
    "docs.files.approve_draft": {"scopes": [], "requiresCondition": true},
    "docs.files.delete": {"scopes": ["docs.folder", "docs.folder"]}}},
  {"docs.reports.read": true}],
 "groups": {"docs": {"label": "Documents"}},
 "scopeTypes": {
  "docs.folder": {"parent": "docs.folder", "requestable": {
    "prompts": [{"id": "why", "label": "Reason"}], "maxDurationMs": 28800000, "requireExpiry": true, "patterns": ["docs.files.*"],
    "policy": {"stages": [{"kind": "auto", "predicate": {"type": "in_group", "groupId": "editors"}}, {"kind": "management", "layers": 1}]}}},
  "docs.doc": {"description": "One document", "parent": "docs.folder"}},
 "navigation": [{"label": "Files", "href": "/files", "permission": "docs.files.*", "children": [
   {"label": "Trash", "permission": ["docs.files.read", "docs.files.delete"]}]}],
 "includeAuthzInternal": false,
 "constraints": {"sod": [{"id": "approve-vs-delete", "sets": [["docs.files.approve_draft"], ["docs.files.delete"]]}]}
}`

const sampleYAML = `
namespaces: [docs, docs]
permissions:
  - kind: block
    path: docs.files
    group: {label: Files, scopes: &both [docs.folder, docs.doc]}
    leaves:
      docs.files.read: {label: View, impliedOnAncestors: true, scopes: *both}
      docs.files.approve_draft: {scopes: [], requiresCondition: true}
      docs.files.delete:
        scopes: [docs.folder, docs.folder]
  - docs.reports.read: true
groups:
  docs: {label: Documents}
scopeTypes:
  docs.folder:
    parent: docs.folder
    requestable:
      prompts: [{id: why, label: Reason}]
      maxDurationMs: 28_800_000
      requireExpiry: true
      patterns: [docs.files.*]
      policy:
        stages:
          - {kind: auto, predicate: {type: in_group, groupId: editors}}
          - {kind: management, layers: 1.0}
  docs.doc: {description: One document, parent: docs.folder}
navigation:
  - label: Files
    href: /files
    permission: docs.files.*
    children:
      - {label: Trash, permission: [docs.files.read, docs.files.delete]}
includeAuthzInternal: false
constraints: {sod: [{id: approve-vs-delete, sets: [[docs.files.approve_draft], [docs.files.delete]]}]}
`

func TestYAMLDeclaresTheSameCatalogAsJSON(t *testing.T) {
	fromJSON := mustBuild(t, sampleJSON)
	in, err := catalog.ParseYAML([]byte(sampleYAML))
	if err != nil {
		t.Fatal(err)
	}
	fromYAML, err := catalog.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(document(t, fromJSON), document(t, fromYAML)); diff != "" {
		t.Error(diff)
	}
}

func TestYAMLReportsTheSameIssuesAsJSON(t *testing.T) {
	in, err := catalog.ParseYAML([]byte(`
namespaces: [docs]
typo: 1
includeAuthzInternal: false
permissions:
  docs.a.b: true
  docs.a.b: {}
  docs.a.c: 2026-01-01
  docs.a.d: ~
  true: {kind: read}
conventions: {depth: .inf}
groups: {docs.a: {scopes: [1]}}
`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = catalog.Build(in)
	checkLines(t, []string{
		"unknown-field typo:", "bad-field groups.docs.a.scopes:", "duplicate-key docs.a.b:",
		`bad-leaf docs.a.c: … got "2026-01-01"`, "bad-leaf docs.a.d: … got null", "short-key true:", "bad-depth (conventions): … got .inf",
	}, issueLines(t, err))
}

func TestSyntaxErrorsNameTheirPlace(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	cases := map[string]struct {
		parse func([]byte) (catalog.Input, error)
		text  string
		want  string
	}{
		"JSON cut short":              {catalog.ParseJSON, "{\n\"namespaces\": [\"docs\"", "line 2, column 21: unexpected end"},
		"JSON with a stray comma":     {catalog.ParseJSON, "{\n \"a\": 1,\n}", "line 3, column 1: invalid character '}'"},
		"JSON after the end":          {catalog.ParseJSON, "{} {}", "line 1, column 4"},
		"JSON that is no object":      {catalog.ParseJSON, `["docs"]`, `a catalog is an object, not ["docs"]`},
		"JSON that is empty":          {catalog.ParseJSON, ``, "unexpected end"},
		"JSON nested beyond reason":   {catalog.ParseJSON, nested(20_000), "exceeded max depth"},
		"JSON of invalid UTF-8":       {catalog.ParseJSON, "{\"a\xff\":1}", "line 1, column 4: invalid UTF-8"},
		"JSON beyond the size":        {catalog.ParseJSON, strings.Repeat(" ", catalog.MaxInputBytes+1), "longer than"},
		"YAML with a bad indentation": {catalog.ParseYAML, "a: 1\n b: 2", "line 2"},
		"YAML that is empty":          {catalog.ParseYAML, "# nothing\n", "a catalog is an object, not null"},
		"YAML of two documents":       {catalog.ParseYAML, "a: 1\n---\nb: 2", "line 2, column 1: a second document"},
		"YAML nested beyond reason":   {catalog.ParseYAML, nested(20_000), "exceeded max depth"},
		"YAML of invalid UTF-8":       {catalog.ParseYAML, "a: \xff", "line 1, column 4: invalid UTF-8"},
		"YAML merge keys":             {catalog.ParseYAML, "a: &x {b: 1}\nc:\n  <<: *x", "line 3, column 3: merge keys"},
		"YAML keys that are lists":    {catalog.ParseYAML, "? [a]\n: 1", "a member name must be plain text"},
		"YAML with a tag of its own":  {catalog.ParseYAML, "a: !secret x", "line 1, column 4: values of type !secret"},
		"YAML binary":                 {catalog.ParseYAML, "a: !!binary aGk=", "values of type !!binary"},
		"YAML of an unknown anchor":   {catalog.ParseYAML, "a: *nope", "unknown anchor"},
		"YAML that contains itself":   {catalog.ParseYAML, "a: &x {b: *x}", "nested deeper than"},
		"YAML that unfolds":           {catalog.ParseYAML, laughs(12), "aliases unfold into more than"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := c.parse([]byte(c.text))
			var syntax *catalog.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("error = %v, want a SyntaxError", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want %q in it", err, c.want)
			}
		})
	}
}

// laughs is a short file whose aliases double at every level, ten times ten.
func laughs(levels int) string {
	var b strings.Builder
	b.WriteString("l0: &l0 [x]\n")
	for i := 1; i <= levels; i++ {
		fmt.Fprintf(&b, "l%d: &l%d [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*l%d,", i-1), 10))
	}
	return b.String()
}

func TestLoadReadsByExtension(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"c.json": sampleJSON, "c.yaml": sampleYAML, "c.yml": sampleYAML, "c.toml": "", "bad.json": "{"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"c.json", "c.yaml", "c.yml"} {
		in, err := catalog.Load(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := catalog.Build(in); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := catalog.Load(filepath.Join(dir, "c.toml")); err == nil {
		t.Error("a .toml file was read")
	}
	if _, err := catalog.Load(filepath.Join(dir, "none.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	var syntax *catalog.SyntaxError
	if _, err := catalog.Load(filepath.Join(dir, "bad.json")); !errors.As(err, &syntax) || !strings.Contains(err.Error(), "bad.json") {
		t.Errorf("bad file: %v", err)
	}
}

func FuzzParseJSON(f *testing.F) {
	f.Add([]byte(sampleJSON))
	f.Add([]byte(`{"namespaces":["a"],"permissions":{"kind":"block","path":"a","leaves":{"a.b":{"scopes":["a.t"]}}},"scopeTypes":{"a.t":{"parent":"a.u"},"a.u":{"parent":"a.t"}}}`))
	f.Add([]byte(`{"namespaces":["a"],"permissions":{},"groups":{"meet.rooms":{"label":"x"}},"imports":{"meet":{"strict":true,"permissions":{"meet.rooms.*":true,"meet.go":{"kind":"read"}}},"call":{"document":` + strings.ReplaceAll(meetDocument, "\n", "") + `,"permissions":{"call.*":true}}},"constraints":{"sod":[{"id":"c","sets":[["meet.go"],["call.x.*"]]}]}}`))
	f.Fuzz(func(t *testing.T, b []byte) { exercise(t, catalog.ParseJSON, b) })
}

func FuzzParseYAML(f *testing.F) {
	f.Add([]byte(sampleYAML))
	f.Add([]byte("namespaces: &n [a]\npermissions: {a.b: *n, ? a.c : true}\nconventions: {depth: 0x3}\n"))
	f.Fuzz(func(t *testing.T, b []byte) { exercise(t, catalog.ParseYAML, b) })
}

// exercise reads and builds hostile text. Whatever is wrong with it must come
// out as one of the two error classes; what builds must publish a document that
// may be published and is the same catalog again.
func exercise(t *testing.T, parse func([]byte) (catalog.Input, error), b []byte) {
	in, err := parse(b)
	if err != nil {
		var syntax *catalog.SyntaxError
		if !errors.As(err, &syntax) {
			t.Fatalf("parse: %T %v", err, err)
		}
		return
	}
	c, err := catalog.Build(in)
	if err != nil {
		var refused *authz.CatalogError
		if !errors.As(err, &refused) || len(refused.Issues) == 0 {
			t.Fatalf("build: %T %v", err, err)
		}
		return
	}
	published, err := c.Document()
	if err != nil {
		t.Fatalf("document: %v", err)
	}
	if _, err := catalog.CheckDocument(published); err != nil {
		t.Fatalf("a built catalog may not be published: %v", err)
	}
	catalog.Lint(c)
	tree := c.Tree()
	for _, n := range everyNode(tree.Nodes) {
		tree.Toggle([]string{"*", n.Pattern()}, n)
	}
	for _, key := range c.Keys() {
		c.UnknownPermission(key+"x", authz.ExpectedPattern)
	}
	if !slices.ContainsFunc(slices.Concat(c.GroupPaths(), c.Keys()), func(name string) bool { return len(name) > 1000 }) {
		if diff := cmp.Diff(string(published), document(t, rebuilt(t, c))); diff != "" {
			t.Fatalf("what it publishes is another catalog\n%s", diff)
		}
	}
}
