package catalogdoc_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/internal/apply"
	"github.com/authzhost/authz/internal/catalogdoc"
	"github.com/authzhost/authz/sdk/catalog"
)

var update = flag.Bool("update", false, "write the golden file")

// A catalog with marks of Markdown and of HTML where people write.
func TestAReferenceInMarkdown(t *testing.T) {
	in, err := catalog.ParseYAML([]byte(`
namespaces: [docs]
scopeTypes:
  docs.folder: {description: "A folder | <b>bold</b>", parent: docs.folder, multiParent: true, requestable: {policy: {stages: [{kind: management}]}}}
  docs.doc: {parent: docs.folder}
groups:
  docs.files: {label: "Files *all*", description: "Files.", scopes: [docs.folder, docs.doc]}
permissions:
  docs.files.read: {description: "Open [it](javascript:1)", impliedOnAncestors: true}
  docs.files.delete: {label: Delete, destructive: true, requiresCondition: true}
  docs.admin.read: true
imports:
  meet: {from: meet, scopes: [docs.folder], permissions: {"meet.rooms.*": {label: Rooms}}}
constraints: {sod: [{id: both, description: "Not both", sets: [[docs.files.read], [docs.files.delete, docs.admin.read]]}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	access := &apply.File{Name: "team", Roles: []apply.Role{
		{ID: "reader", Name: "Reader", Description: "Reads", Patterns: []string{"docs.files.read"}},
		{ID: "all", Name: "all", Patterns: []string{"docs.files.*", "docs.*", "docs.gone.read"}},
		{ID: "none", Name: "None"},
	}}
	var b strings.Builder
	if err := catalogdoc.Of(c, access, false).Markdown(&b); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/reference.md"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), b.String()); d != "" {
		t.Errorf("go test ./internal/catalogdoc -update: %s", d)
	}
}
