package catalog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

func TestDocumentsAreRefused(t *testing.T) {
	// doc lays members over a small sound document.
	doc := func(members string) string {
		if strings.Contains(members, `"namespaces"`) {
			return `{"formatVersion":1,"namespace":"docs",` + members + `}`
		}
		return `{"formatVersion":1,"namespace":"docs","namespaces":["docs"],` + members + `}`
	}
	cases := map[string]struct {
		document string
		want     []string
	}{
		"absent arrays read as empty":         {`{"formatVersion":1,"namespace":"docs","namespaces":["docs"]}`, nil},
		"unknown fields are ignored":          {doc(`"x":1,"leaves":[{"key":"docs.a.b","x":1}],"groups":[{"path":"docs.a","scopes":["docs.gone"]}],"scopeTypes":[{"type":"docs.t","x":1}]`), nil},
		"a type naming itself loads":          {doc(`"scopeTypes":[{"type":"docs.t","parent":"docs.t"}]`), nil},
		"authz_internal keys need no listing": {doc(`"leaves":[{"key":"authz_internal.access.read"}]`), nil},
		"what is no JSON":                     {`{`, []string{"bad-document (catalog): not a JSON catalog"}},
		"what is no object":                   {`[]`, []string{"bad-document (catalog): … must be an object"}},
		"another format and nothing else":     {`{"formatVersion":2,"namespace":"docs","leaves":[{},{}]}`, []string{"unknown-format docs: unknown catalog format 2"}},
		"no format":                           {`{"namespace":"docs"}`, []string{"unknown-format docs: unknown catalog format null"}},
		"a format in words":                   {`{"formatVersion":"1","namespace":"docs"}`, []string{`unknown-format docs: unknown catalog format "1"`}},
		"leaves, in order, one failure each": {
			doc(`"leaves":[{"key":"docs.a"},{},{"key":1},7,{"key":"docs.a"},{"key":"docs..b"},{"key":"crm.a.b"},{"key":"docs.*"},{"key":"crm..a"}]`),
			[]string{"missing-key docs: every leaf needs a string key", "duplicate-key docs.a: is declared twice", "bad-key docs..b: invalid segment",
				`undeclared-namespace crm.a.b: … "crm" is not one of this document's namespaces`, "bad-key docs.*: wildcards", "bad-key crm..a:"}},
		"leaves, then groups, then cycles, and nothing beyond": {
			doc(`"leaves":[{"key":"docs.a.b"},{"key":"docs.a"},{"key":"x.y"}],"groups":[{"path":"docs.a"},{"path":"docs..x"}],
			 "scopeTypes":[{"type":"docs.t","parent":"docs.u"},{"type":"docs.u","parent":"docs.t"}],"namespaces":["docs","9"]`),
			[]string{"undeclared-namespace x.y:", "key-is-group docs.a: is both a permission and a group path", `parent-cycle docs.t: … cyclic through "docs.t"`, "parent-cycle docs.u:"}},
		"no namespaces":                     {`{"formatVersion":1,"namespace":"docs"}`, []string{"no-namespace docs: the document lists no namespaces"}},
		"empty namespaces":                  {doc(`"namespaces":[]`), []string{"no-namespace docs:"}},
		"malformed namespaces":              {doc(`"namespaces":["docs","a.b",7]`), []string{`bad-namespace docs: … got "a.b"`, "bad-namespace docs: … got 7"}},
		"a malformed namespace":             {`{"formatVersion":1,"namespace":"a.b","namespaces":["docs"]}`, []string{"bad-namespace a.b: namespace must be", "bad-namespace a.b: … not one of its namespaces"}},
		"no namespace of its own":           {`{"formatVersion":1,"namespaces":["docs"]}`, []string{"bad-namespace : namespace must be", "bad-namespace :"}},
		"authz_internal as the namespace":   {`{"formatVersion":1,"namespace":"authz_internal","namespaces":["authz_internal"]}`, []string{"bad-namespace authz_internal:"}},
		"a namespace that it does not list": {doc(`"namespaces":["crm"]`), []string{"bad-namespace docs: … not one of its namespaces"}},
		"arrays of another type": {
			doc(`"namespaces":"docs","leaves":{},"groups":1,"scopeTypes":"x","navigation":true`),
			[]string{"bad-field docs: namespaces must be an array", "bad-field docs: leaves", "bad-field docs: groups", "bad-field docs: scopeTypes", "bad-field docs: navigation", "no-namespace docs:"}},
		"a member given twice": {doc(`"leaves":[],"leaves":[{"key":"docs.a.b"}]`), []string{`repeated-field docs: "leaves" is given more than once`}},
		"fields of a leaf": {
			doc(`"leaves":[{"key":"docs.a.b","kind":"write","scopes":"docs.t","label":1,"destructive":"no"},{"key":"docs.a.c","scopes":["docs.gone"],"origin":"imported"},{"key":"docs"}]`),
			[]string{"bad-leaf docs.a.b: scopes must be", "bad-leaf docs.a.b: label", "bad-leaf docs.a.b: destructive", `bad-leaf docs.a.b: kind must be "read" or "action"`,
				"bad-origin docs.a.c: … imported", `unknown-scope-type docs.a.c: … "docs.gone"`, "short-key docs:"}},
		"a leaf below a leaf": {doc(`"leaves":[{"key":"docs.a"},{"key":"docs.a.b.c"}]`), []string{"key-is-group docs.a: … other permissions lie below it"}},
		"fields of a group": {
			doc(`"leaves":[{"key":"docs.a.b"}],"groups":[{"path":"docs"},{"path":"docs"},{},{"path":"docs..x"},{"path":"docs.a","groups":"x","permissions":[1],"label":2,"origin":"imported"}]`),
			[]string{"repeated-field docs: group is listed more than once", "missing-key docs: every group needs a string path", "bad-group-path docs..x: invalid group path",
				"bad-origin docs.a:", "bad-group docs.a: groups must be an array of strings", "bad-group docs.a: permissions must be", "bad-group docs.a: label must be"}},
		"groups that name what is not there": {
			doc(`"leaves":[{"key":"docs.a.b"},{"key":"docs.a.c.d"}],"groups":[{"path":"docs","groups":["docs.a","docs.gone","docs.a.c"],"permissions":["docs.a.b"]},{"path":"docs.a","permissions":["docs.a.b","docs.a.x"],"groups":["docs.a.c"]}]`),
			[]string{`bad-group docs: groups names "docs.gone"`, `bad-group docs: groups names "docs.a.c"`, `bad-group docs: permissions names "docs.a.b"`, `bad-group docs.a: permissions names "docs.a.x"`}},
		"scope types": {
			doc(`"scopeTypes":[{},{"type":"docs"},{"type":"docs.t","parent":"docs.gone"},{"type":"docs.t"},{"type":"docs.u","multiParent":1,"requestable":{"policy":{"stages":[{"kind":"vote"}]}}},{"type":"docs.v","requestable":{"prompts":{}}}]`),
			[]string{"missing-key docs: every scope type needs", "bad-scope-type docs:", "repeated-field docs.t:", "bad-requestable docs.u: … no stage kind", "bad-field docs.u: scopeTypes.docs.u.multiParent must be a boolean",
				"bad-requestable docs.v: requestable.prompts must be an array", `unknown-parent docs.t: … "docs.gone"`}},
		"the rest": {
			doc(`"navigation":[{"label":1}],"conventions":{"depth":1},"constraints":{"sod":[{"sets":"x"}]}`),
			[]string{"bad-depth docs: conventions.depth must be an integer", "bad-field docs: navigation[0].label must be a string", "bad-field docs: constraints.sod[0].sets must be", "bad-field docs: constraints.sod[0].id must be"}},
		"long values are cut": {
			doc(`"leaves":[{"key":"` + strings.Repeat("é", 500) + `"},{"key":"` + strings.Repeat("a", 500) + `.b"}]`),
			[]string{"bad-key " + strings.Repeat("é", 120) + "…(+380 more): … more)", "undeclared-namespace " + strings.Repeat("a", 120) + `…(+382 more): the first segment "` + strings.Repeat("a", 120) + `…(+380 more)"`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := catalog.FromDocument(json.RawMessage(c.document), catalog.DocumentOptions{})
			checkLines(t, c.want, issueLines(t, err))
		})
	}
}

func TestManifestsAreRefused(t *testing.T) {
	const doc = `{"formatVersion":1,"namespace":"docs","namespaces":["docs"],"scopeTypes":[{"type":"docs.f"}],"leaves":[{"key":"docs.a.read"}]}`
	manifestOf := func(imports string) string {
		return `{"formatVersion":1,"namespace":"docs","imports":[` + imports + `]}`
	}
	meet := func(members string) string { return manifestOf(`{"namespace":"meet",` + members + `}`) }
	cases := map[string]struct {
		manifest string
		want     []string
	}{
		"null is none":                      {`null`, nil},
		"absent arrays are empty":           {manifestOf(`{"namespace":"meet"}`), nil},
		"scope types of any kind":           {meet(`"entries":[{"pattern":"meet.a","scopes":["docs.unheard"]}],"keys":["meet.a","meet.a"]`), nil},
		"what is no JSON":                   {`{`, []string{"bad-document imports: the manifest:"}},
		"another format":                    {`{"formatVersion":2}`, []string{"unknown-format imports: unknown manifest format 2"}},
		"no format":                         {`{}`, []string{"unknown-format imports: unknown manifest format null"}},
		"another namespace":                 {`{"formatVersion":1,"namespace":"crm"}`, []string{`manifest-namespace imports: the manifest is of namespace "crm", the document of "docs"`}},
		"imports of another type":           {`{"formatVersion":1,"namespace":"docs","imports":{}}`, []string{"bad-field imports: imports must be an array"}},
		"a namespace twice":                 {manifestOf(`{"namespace":"meet"},{"namespace":"meet"}`), []string{"repeated-field imports.meet:"}},
		"namespaces out of bounds":          {manifestOf(`{"namespace":"docs"},{"namespace":"authz_internal"},{"namespace":"a.b"},{},7`), []string{"import-owned docs:", "reserved-import authz_internal:", "bad-import-namespace a.b:", "bad-import-namespace :", "repeated-field imports.:"}},
		"fields of another type":            {meet(`"from":1,"enumerated":"x","strict":2,"entries":{},"keys":"meet.a","regions":[1]`), []string{"bad-field imports.meet: from", "bad-field imports.meet: enumerated", "bad-field imports.meet: strict", "bad-field imports.meet: entries", "bad-field imports.meet: keys", "bad-field imports.meet: regions"}},
		"an enumerated import with regions": {meet(`"enumerated":true,"entries":[{"pattern":"meet.*"}],"regions":["meet.*"]`), []string{"bad-field imports.meet: regions must be empty"}},
		"entries": {
			meet(`"entries":[{},{"pattern":"*"},{"pattern":"zoom.x"},{"pattern":"meet.*.x"},{"pattern":"meet"},{"pattern":"meet.a","scopes":1,"requiresCondition":1},{"pattern":"meet.a"}]`),
			[]string{"missing-key imports.meet:", "import-star imports.meet:", "import-outside imports.meet.zoom.x:", "import-pattern imports.meet.meet.*.x:", "short-key meet:",
				"bad-field imports.meet.meet.a: scopes", "bad-field imports.meet.meet.a: requiresCondition", "duplicate-key imports.meet.meet.a:"}},
		"keys and regions": {
			meet(`"entries":[{"pattern":"meet.a.*"}],"keys":["meet.a.x","meet.b","meet.a.*","zoom.a","meet"],"regions":["meet.a.b.*","meet.*","meet.a.x","*","zoom.*","meet.a..*"]`),
			[]string{"import-uncovered imports.meet.meet.b: is covered by no entry", "import-pattern imports.meet.meet.a.*: wildcards are not allowed", "import-outside imports.meet.zoom.a:", "short-key meet:",
				"import-uncovered imports.meet.meet.*:", "import-pattern imports.meet.meet.a.x: a region is a wildcard", "import-star imports.meet:", "import-outside imports.meet.zoom.*:", "import-pattern imports.meet.meet.a..*:"}},
		"a key that is a group": {meet(`"entries":[{"pattern":"meet.*"}],"keys":["meet.a","meet.a.b"]`), []string{"imported-key-is-group meet.a:"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := catalog.FromDocument(json.RawMessage(doc), catalog.DocumentOptions{Imports: json.RawMessage(c.manifest)})
			checkLines(t, c.want, issueLines(t, err))
		})
	}
	t.Run("an owner's document that is not sound", func(t *testing.T) {
		for document, want := range map[string]string{
			`{"formatVersion":1,"namespace":"zoom","namespaces":["zoom"]}`: "import-document documents.meet: the attached document publishes [zoom]",
			`{"formatVersion":3}`: "unknown-format documents.meet: the attached document: … unknown catalog format 3",
		} {
			_, err := catalog.FromDocument(json.RawMessage(doc), catalog.DocumentOptions{
				Imports:   json.RawMessage(manifestOf(`{"namespace":"meet"}`)),
				Documents: map[string]json.RawMessage{"meet": json.RawMessage(document), "nobody": json.RawMessage(`{`)},
			})
			checkLines(t, []string{want}, issueLines(t, err))
		}
	})
}

func TestADocumentIsCompletedFromItsLeaves(t *testing.T) {
	c, err := catalog.FromDocument(json.RawMessage(`{"formatVersion":1,"namespace":"docs","namespaces":["crm","docs"],
	 "leaves":[{"key":"docs.b.delete_all","groupPath":"wrong","name":"wrong"},{"key":"docs.a.read"},{"key":"docs.b.x"},{"key":"docs.c.d.go"}],
	 "groups":[{"path":"docs.b","permissions":["docs.b.x"]},{"path":"docs.empty","label":"Empty"},{"path":"docs","groups":["docs.c","docs.empty"]}],"conventions":{}}`), catalog.DocumentOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"formatVersion":1,"namespace":"docs","namespaces":["crm","docs"],"leaves":[` +
		`{"key":"docs.a.read","groupPath":"docs.a","name":"read","kind":"read","destructive":false,"scopes":[],"impliedOnAncestors":false,"origin":"owned"},` +
		`{"key":"docs.b.delete_all","groupPath":"docs.b","name":"delete_all","kind":"action","destructive":true,"scopes":[],"impliedOnAncestors":false,"origin":"owned"},` +
		`{"key":"docs.b.x","groupPath":"docs.b","name":"x","kind":"action","destructive":false,"scopes":[],"impliedOnAncestors":false,"origin":"owned"},` +
		`{"key":"docs.c.d.go","groupPath":"docs.c.d","name":"go","kind":"action","destructive":false,"scopes":[],"impliedOnAncestors":false,"origin":"owned"}],` +
		`"groups":[{"path":"docs","groups":["docs.c","docs.b","docs.a"],"permissions":[],"origin":"owned"},` +
		`{"path":"docs.a","groups":[],"permissions":["docs.a.read"],"origin":"owned"},` +
		`{"path":"docs.b","groups":[],"permissions":["docs.b.x","docs.b.delete_all"],"origin":"owned"},` +
		`{"path":"docs.c","groups":["docs.c.d"],"permissions":[],"origin":"owned"},{"path":"docs.c.d","groups":[],"permissions":["docs.c.d.go"],"origin":"owned"},` +
		`{"path":"docs.empty","label":"Empty","groups":[],"permissions":[],"origin":"owned"}],` +
		`"scopeTypes":[],"navigation":[],"conventions":{"depth":3}}`
	if diff := cmp.Diff(want, document(t, c)); diff != "" {
		t.Error(diff)
	}
	if c.Namespace() != "docs" || c.InternalIncluded() || c.IsKnownPattern("docs.empty.*") {
		t.Error("the catalog is not what the document says")
	}
}

func TestOwnersDocumentsGiveAManifestItsCopy(t *testing.T) {
	const doc = `{"formatVersion":1,"namespace":"docs","namespaces":["docs"],"scopeTypes":[{"type":"docs.f"}]}`
	imports := `{"formatVersion":1,"namespace":"docs","imports":[{"namespace":"meet","from":"here","enumerated":true,
	 "entries":[{"pattern":"meet.*","scopes":["docs.unheard","docs.f"]},{"pattern":"meet.rooms.*","scopes":[],"requiresCondition":true}],"keys":["meet.rooms.read","meet.host","meet.gone"]}]}`
	c, err := catalog.FromDocument(json.RawMessage(doc), catalog.DocumentOptions{
		Imports: json.RawMessage(imports), Documents: map[string]json.RawMessage{"meet": json.RawMessage(meetDocument)}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]catalog.Leaf{
		"meet.host":       {GroupPath: "meet", Name: "host", Label: "Host", Kind: catalog.KindRead, Scopes: []string{"docs.unheard", "docs.f"}},
		"meet.rooms.read": {GroupPath: "meet.rooms", Name: "read", Description: "See rooms", Kind: catalog.KindRead, Scopes: []string{}, RequiresCondition: true},
		"meet.gone":       {GroupPath: "meet", Name: "gone", Kind: catalog.KindAction, Scopes: []string{"docs.unheard", "docs.f"}},
	}
	for key, w := range want {
		w.Key, w.Origin, w.ImportedFrom = key, authz.NamespaceImported, "here"
		got, ok := c.Leaf(key)
		if diff := cmp.Diff(&w, got); diff != "" || !ok {
			t.Errorf("%s: %s", key, diff)
		}
	}
	if !strings.Contains(manifest(t, c), `"scopes":["docs.unheard","docs.f"]`) {
		t.Errorf("the entry is written otherwise than it was: %s", manifest(t, c))
	}
	if len(c.Keys()) != 3 || c.IsKnownPattern("meet.rooms.delete") || !c.IsKnownPattern("meet.rooms.*") {
		t.Errorf("a document brought keys into being: %q", c.Keys())
	}
	if g, _ := c.Group("meet.rooms"); g.Label != "Rooms" || g.ImportedFrom != "here" {
		t.Errorf("group = %+v", g)
	}
}

func TestADocumentCannotUnfoldIntoAHugeCatalog(t *testing.T) {
	deep := strings.Repeat(".a", 1<<20)
	_, err := catalog.FromDocument(json.RawMessage(`{"formatVersion":1,"namespace":"docs","namespaces":["docs"],"leaves":[{"key":"docs`+deep+`"}]}`), catalog.DocumentOptions{})
	checkLines(t, []string{"bad-key docs.a.a. … is longer than 1024 bytes"}, issueLines(t, err))
	_, err = catalog.FromDocument(json.RawMessage(`{"formatVersion":1,"namespace":"docs","namespaces":["docs"]}`), catalog.DocumentOptions{
		Imports: json.RawMessage(`{"formatVersion":1,"namespace":"docs","imports":[{"namespace":"meet","entries":[{"pattern":"meet.*"},{"pattern":"meet.b` + deep + `.*"}],"keys":["meet` + deep + `"],"regions":["meet` + deep + `.*"]}]}`)})
	checkLines(t, []string{"import-pattern imports.meet.meet.b.a. … is longer than 1024 bytes", "import-pattern imports.meet.meet.a.a. … is longer than 1024 bytes", "import-pattern imports.meet.meet.a.a. … is longer than 1024 bytes"}, issueLines(t, err))

	var leaves []string
	for i := range 2200 {
		leaves = append(leaves, fmt.Sprintf(`{"key":"docs.n%d%s"}`, i, deep[:1000]))
	}
	_, err = catalog.FromDocument(json.RawMessage(`{"formatVersion":1,"namespace":"docs","namespaces":["docs"],"leaves":[`+strings.Join(leaves, ",")+`]}`), catalog.DocumentOptions{})
	checkLines(t, []string{"bad-document docs: its keys lie in more than 1048576 groups"}, issueLines(t, err))
}

func FuzzFromDocument(f *testing.F) {
	f.Add([]byte(sampleDocument), []byte(nil), []byte(nil))
	f.Add([]byte(`{"formatVersion":1,"namespace":"docs","namespaces":["docs"],"leaves":[{"key":"docs.a.b","scopes":["docs.t"]}],"groups":[{"path":"docs"}],"scopeTypes":[{"type":"docs.t","parent":"docs.t"}]}`),
		[]byte(`{"formatVersion":1,"namespace":"docs","imports":[{"namespace":"meet","entries":[{"pattern":"meet.*","scopes":["docs.t"]}],"keys":["meet.host"],"regions":["meet.rooms.*"]}]}`), []byte(meetDocument))
	f.Fuzz(func(t *testing.T, doc, imports, owner []byte) {
		c, err := catalog.FromDocument(doc, catalog.DocumentOptions{Imports: imports, Documents: map[string]json.RawMessage{"meet": owner}})
		if err != nil {
			var refused *authz.CatalogError
			if !errors.As(err, &refused) || len(refused.Issues) == 0 {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		again := rebuilt(t, c)
		if diff := cmp.Diff(document(t, c), document(t, again)); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(manifest(t, c), manifest(t, again)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// rebuilt makes the catalog again from what it publishes.
func rebuilt(t testing.TB, c *catalog.Catalog) *catalog.Catalog {
	t.Helper()
	doc, err := c.Document()
	if err != nil {
		t.Fatal(err)
	}
	imports, err := c.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	again, err := catalog.FromDocument(doc, catalog.DocumentOptions{Imports: imports})
	if err != nil {
		t.Fatalf("its own document: %v\n%s\n%s", err, doc, imports)
	}
	return again
}
