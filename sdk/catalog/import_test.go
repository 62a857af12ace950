package catalog_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// meetDocument is published by the owner of the namespaces meet and call.
const meetDocument = `{"formatVersion":1,"namespace":"call","namespaces":["call","meet"],
 "leaves":[{"key":"call.x.read"},
  {"key":"meet.host","label":"Host","kind":"read","scopes":["call.line"],"impliedOnAncestors":true,"requiresCondition":true},
  {"key":"meet.rooms.delete","destructive":false},{"key":"meet.rooms.read","description":"See rooms"}],
 "groups":[{"path":"meet","label":"Meet","groups":["meet.rooms"],"permissions":["meet.host"]},{"path":"meet.rooms","label":"Rooms","description":"All of them"}],
 "scopeTypes":[{"type":"call.line"}],"unheard":1}`

func TestImportErrors(t *testing.T) {
	meet := func(entries string) string { return `"imports":{"meet":{"permissions":{` + entries + `}}}` }
	with := func(document, entries string) string {
		return `"imports":{"meet":{"document":` + document + `,"permissions":{` + entries + `}}}`
	}
	cases := map[string]struct {
		input string
		want  []string
	}{
		"an import may cover nothing":           {meet(``), nil},
		"imports are an object":                 {`"imports":[]`, []string{"bad-field imports: must be an object"}},
		"an import is an object":                {`"imports":{"meet":true}`, []string{"bad-field imports.meet: must be an object"}},
		"permissions of an import are required": {`"imports":{"meet":{"from":"x","permissions":null}}`, []string{"bad-field imports.meet.permissions: is required"}},
		"fields of an import have their types": {
			`"imports":{"meet":{"from":1,"scopes":"x","strict":"yes","permissions":[]}}`,
			[]string{"bad-field imports.meet.from:", "bad-field imports.meet.scopes:", "bad-field imports.meet.strict:", "bad-field imports.meet.permissions: must be an object"}},
		"one import of a namespace": {`"imports":{"meet":{"permissions":{}},"meet":{"permissions":{}}}`, []string{"repeated-field imports.meet:"}},
		"the namespace is a segment, not reserved, not owned, and ends the import": {
			`"imports":{"me.et":{"permissions":{"*":true}},"":{"permissions":{}},"authz_internal":{"permissions":{"*":true}},"docs":{"scopes":["x.y"],"permissions":{}}}`,
			[]string{"bad-import-namespace me.et: an imported namespace is a single valid segment", "bad-import-namespace :", "reserved-import authz_internal: … it is never imported",
				"import-owned docs: … does not import what it owns"}},
		"scope types are this catalog's own": {
			`"imports":{"meet":{"scopes":["docs.gone"],"permissions":{"meet.a":{"scopes":["meet.room"]},"meet.b":true}}}`,
			[]string{`import-scope imports.meet: wires imported permissions to undeclared scope type "docs.gone"`, `import-scope meet.a: … "meet.room"`}},
		"an entry follows the grammar, is within its namespace and not everything": {
			meet(`"meet.*.x":true,"meet..y":true,"*":true,"zoom.a":true,"zoom":true,"meet":true`),
			[]string{"import-pattern imports.meet.meet.*.x: wildcards may only appear", "import-pattern imports.meet.meet..y:", `import-star imports.meet: … never the bare "*"`,
				`import-outside imports.meet.zoom.a: is not under the imported namespace "meet"`, "import-outside imports.meet.zoom:", "short-key meet: … needs at least two segments"}},
		"an entry is a leaf":     {meet(`"meet.a":false,"meet.b":{"kind":"write"}`), []string{"bad-leaf meet.a: … must be true or an object", "bad-leaf meet.b: kind must be"}},
		"an entry is given once": {meet(`"meet.a.*":true,"meet.a.*":{}`), []string{"duplicate-key imports.meet.meet.a.*:"}},
		"every entry matches something in the document": {
			with(meetDocument, `"meet.rooms.*":true,"meet.host":true,"meet.gone":true,"meet.host.*":true,"call.x.read":true`),
			[]string{`import-no-match imports.meet.meet.gone: matches nothing in the published "meet" catalog`, "import-no-match imports.meet.meet.host.*:", "import-outside imports.meet.call.x.read:"}},
		"the document lists the namespace, or the import ends": {
			with(`{"formatVersion":1,"namespace":"zoom","namespaces":["zoom","chat"]}`, `"*":true`),
			[]string{`import-document imports.meet: the attached document publishes [zoom, chat]; this import declares "meet"`}},
		"the document is sound, or the import ends": {
			with(`{"formatVersion":1,"namespace":"meet","namespaces":["meet"],"leaves":[{"key":"meet.a"},{"key":"meet.a"},{}]}`, `"*":true`),
			[]string{"duplicate-key imports.meet: the attached document: meet.a: is declared twice", "missing-key imports.meet: … every leaf needs a string key"}},
		"another format":           {with(`{"formatVersion":2}`, ``), []string{"unknown-format imports.meet: … unknown catalog format 2"}},
		"a document is an object":  {with(`"meet.json"`, ``), []string{"bad-document imports.meet: … must be an object"}},
		"a key imported and owned": {`"permissions":{"meet.a":true},` + meet(`"meet.a":true`), []string{"undeclared-namespace meet.a:", "owned-and-imported meet.a: … declared both as an owned permission and as an import"}},
		"a key that is a group": {
			`"groups":{"meet.c":{"label":"C"}},` + meet(`"meet.rooms":true,"meet.rooms.*":true,"meet.a":true,"meet.a.b.*":true,"meet.c":true,"meet.d":true,"meet.d.e":true`),
			[]string{"imported-key-is-group meet.rooms: is both an imported permission and a group path", "imported-key-is-group meet.a:", "imported-key-is-group meet.c:", "imported-key-is-group meet.d:"}},
		"a constraint reaches no open region": {
			`"permissions":{"docs.a.b":true},"imports":{"meet":{"strict":true,"permissions":{"meet.rooms.*":true,"meet.host":true}}},
			 "constraints":{"sod":[{"id":"c","sets":[["meet.*"],["meet.host","docs.a.b"],["meet.rooms.x"],["*"]]}]}`,
			[]string{`sod-region (constraints): constraints.sod["c"]: "meet.*" reaches into an open import region`, `sod-region (constraints): … "meet.rooms.x"`, `sod-region (constraints): … "*"`}},
		"imports come between scope types and scope references": {
			`"scopeTypes":{"docs.t":{"parent":"docs.gone"}},"imports":{"meet":{"permissions":{"*":true,"meet.a":true,"meet.a.b":true}}},
			 "permissions":{"docs.a.b":{"scopes":["docs.no"]}},"groups":{"docs":{"scopes":["docs.none"]}},"conventions":{"depth":1}`,
			[]string{"unknown-parent docs.t:", "import-star imports.meet:", "unknown-scope-type docs.a.b:", "imported-key-is-group meet.a:", "unknown-scope-type docs:", "bad-depth (conventions):"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			input := `{"namespaces":["docs"],"includeAuthzInternal":false,` + c.input
			if !strings.Contains(c.input, `"permissions":{"docs.`) && !strings.HasPrefix(c.input, `"permissions"`) {
				input += `,"permissions":{}`
			}
			_, err := build(t, []byte(input+"}"))
			checkLines(t, c.want, issueLines(t, err))
		})
	}
}

func TestAnAttachedDocumentGivesCopyAndNeverWiring(t *testing.T) {
	c := mustBuild(t, `{"namespaces":["docs"],"permissions":{},"includeAuthzInternal":false,"scopeTypes":{"docs.f":{},"docs.g":{}},
	 "groups":{"meet.rooms":{"label":"Our rooms","scopes":["docs.g"]}},
	 "imports":{"meet":{"from":"registry:meet","scopes":["docs.f"],"strict":true,"document":`+meetDocument+`,
	  "permissions":{"meet.rooms.*":{"label":"Room","requiresCondition":true},"meet.rooms.read":{"scopes":[]},"meet.*":{"impliedOnAncestors":true}}}}}`)
	leaf := func(key string) catalog.Leaf {
		l, ok := c.Leaf(key)
		if !ok {
			t.Fatalf("no leaf %s", key)
		}
		return *l
	}
	want := []catalog.Leaf{
		{Key: "meet.host", GroupPath: "meet", Name: "host", Label: "Host", Kind: catalog.KindRead, Scopes: []string{"docs.f"}, ImpliedOnAncestors: true},
		{Key: "meet.rooms.delete", GroupPath: "meet.rooms", Name: "delete", Label: "Room", Kind: catalog.KindAction, Scopes: []string{"docs.f"}, RequiresCondition: true},
		{Key: "meet.rooms.read", GroupPath: "meet.rooms", Name: "read", Description: "See rooms", Kind: catalog.KindRead, Scopes: []string{}},
	}
	for _, w := range want {
		w.Origin, w.ImportedFrom = authz.NamespaceImported, "registry:meet"
		if diff := cmp.Diff(w, leaf(w.Key)); diff != "" {
			t.Error(diff)
		}
	}
	rooms, _ := c.Group("meet.rooms")
	wantRooms := &catalog.Folder{Path: "meet.rooms", Label: "Our rooms", Description: "All of them", Groups: []string{},
		Permissions: []string{"meet.rooms.delete", "meet.rooms.read"}, Origin: authz.NamespaceImported, ImportedFrom: "registry:meet"}
	if diff := cmp.Diff(wantRooms, rooms); diff != "" {
		t.Error(diff)
	}
	wantManifest := `{"formatVersion":1,"namespace":"docs","imports":[{"namespace":"meet","from":"registry:meet","enumerated":true,` +
		`"entries":[{"pattern":"meet.rooms.*","scopes":["docs.f"],"requiresCondition":true},{"pattern":"meet.rooms.read","scopes":[]},{"pattern":"meet.*","scopes":["docs.f"]}],` +
		`"keys":["meet.rooms.delete","meet.rooms.read","meet.host"],"regions":[],"strict":true}]}`
	if diff := cmp.Diff(wantManifest, manifest(t, c)); diff != "" {
		t.Error(diff)
	}
	known := map[string]bool{"meet.rooms.*": true, "meet.*": true, "meet.host": true, "meet.gone": false, "meet.rooms": false, "meet.gone.*": false, "meet.host.*": false, "call.*": false, "call.x.read": false}
	for pattern, want := range known {
		if c.IsKnownPattern(pattern) != want {
			t.Errorf("IsKnownPattern(%q) = %t", pattern, !want)
		}
	}
	if c.HasKey("meet.rooms.new") || len(c.Regions()) != 0 || c.NamespaceOrigin("meet") != authz.NamespaceImported || c.NamespaceOrigin("call") != authz.NamespaceForeign {
		t.Error("an enumerated import admits what it does not list")
	}
}

func TestManifestIsTheSpecsExampleByteForByte(t *testing.T) {
	c := mustBuild(t, `{"namespaces":["docs"],"permissions":{},"scopeTypes":{"docs.folder":{}},"imports":{"meet":{"from":"registry:meet@^3",
	 "permissions":{"meet.host":{"scopes":["docs.folder"]},"meet.rooms.*":true}}}}`)
	want := `{"formatVersion":1,"namespace":"docs","imports":[{"namespace":"meet","from":"registry:meet@^3","enumerated":false,` +
		`"entries":[{"pattern":"meet.host","scopes":["docs.folder"]},{"pattern":"meet.rooms.*","scopes":[]}],` +
		`"keys":["meet.host"],"regions":["meet.rooms.*"],"strict":false}]}`
	if diff := cmp.Diff(want, manifest(t, c)); diff != "" {
		t.Error(diff)
	}
	if b, err := mustBuild(t, sampleJSON).Manifest(); b != nil || err != nil {
		t.Errorf("a catalog without imports has the manifest %s, %v", b, err)
	}
}

func TestOpenRegionsAdmitKeysTheyCannotList(t *testing.T) {
	c := mustBuild(t, `{"namespaces":["docs"],"permissions":{"docs.a.read":true},"includeAuthzInternal":false,"scopeTypes":{"docs.f":{},"docs.g":{}},"imports":{
	 "meet":{"from":"here","permissions":{"meet.rooms.*":{"label":"Rooms","scopes":["docs.f"]},"meet.rooms.vip.*":{"scopes":["docs.g"]},"meet.rooms.vip.open":true}},
	 "bill":{"strict":true,"permissions":{"bill.*":true,"bill.items.pay":true}}}}`)
	type answer struct {
		has, enumerated, known bool
		origin                 catalog.KeyOrigin
		region                 string
	}
	cases := map[string]answer{
		"meet.rooms.x":        {true, false, true, catalog.KeyRegion, "meet.rooms.*"},
		"meet.rooms.vip":      {true, false, true, catalog.KeyRegion, "meet.rooms.*"},
		"meet.rooms.vip.x.y":  {true, false, true, catalog.KeyRegion, "meet.rooms.vip.*"},
		"meet.rooms.vip.open": {true, true, true, catalog.KeyImported, "meet.rooms.vip.*"},
		"meet.rooms.vip2.x":   {true, false, true, catalog.KeyRegion, "meet.rooms.*"},
		"meet.rooms":          {},
		"meet.roomsx.y":       {},
		"meet.rooms.9":        {},
		"meet.rooms.":         {},
		"meet.rooms.x..y":     {},
		"meet.rooms.x\n":      {},
		"meet.rooms.*":        {known: true},
		"meet.rooms.x.*":      {known: true},
		"meet.rooms.*.x":      {},
		"meet.*":              {},
		"bill.items.pay":      {true, true, true, catalog.KeyImported, ""},
		"bill.items.x":        {known: true},
		"bill.*":              {known: true},
		"bill":                {},
		"zoom.rooms.x":        {},
		"docs.a.read":         {true, true, true, catalog.KeyOwned, ""},
		"docs.a.x":            {},
		"*":                   {known: true},
		"":                    {},
	}
	for name, want := range cases {
		got := answer{has: c.HasKey(name), enumerated: c.IsEnumeratedKey(name), known: c.IsKnownPattern(name), origin: c.KeyOrigin(name)}
		if r, ok := c.RegionOf(name); ok {
			got.region = r.Pattern
		}
		if got != want {
			t.Errorf("%q: %+v, want %+v", name, got, want)
		}
	}
	described, ok := c.Describe("meet.rooms.x")
	wantRegion := &catalog.Region{Pattern: "meet.rooms.*", Namespace: "meet", From: "here", Label: "Rooms", Scopes: []string{"docs.f"}}
	if diff := cmp.Diff(catalog.KeyDescription{Origin: catalog.KeyRegion, Region: wantRegion}, described); diff != "" || !ok {
		t.Error(ok, diff)
	}
	applies := map[[2]string]bool{
		{"meet.rooms.x", "docs.f:1"}: true, {"meet.rooms.x", "docs.g:1"}: false, {"meet.rooms.vip.x", "docs.g:1"}: true, {"meet.rooms.vip.x", "docs.f:1"}: false,
		{"meet.rooms.vip.open", "docs.g:1"}: false, {"meet.rooms.x", "docs.f"}: false, {"bill.items.x", "docs.f:1"}: false, {"nowhere", "*"}: true,
	}
	for k, want := range applies {
		if c.AppliesAt(k[0], k[1]) != want {
			t.Errorf("AppliesAt(%q, %q) = %t", k[0], k[1], !want)
		}
	}
	grantable := map[[2]string]string{
		{"meet.rooms.x", "docs.f:1"}:       "",
		{"meet.rooms.vip.*", "docs.f:1"}:   `grantable at "*" only`, // the leaf is matched, so regions do not count
		{"meet.rooms.other", "docs.g:1"}:   `imported from "meet", and an imported permission is grantable only at scope types this catalog wires it to (wired to: docs.f, or globally at "*")`,
		{"bill.items.other", "docs.g:1"}:   "no scope types wired — set `scopes` on `imports.bill`",
		{"meet.other.thing", "docs.f:1"}:   "pattern matches no catalog key",
		{"meet.rooms.x", "docs.unknown:1"}: "unknown scope type",
	}
	for k, want := range grantable {
		issue := c.ValidateGrantableAt(k[0], k[1])
		if (issue == nil) != (want == "") || issue != nil && !strings.Contains(issue.Message, want) {
			t.Errorf("%s at %s: %v", k[0], k[1], issue)
		}
	}
}

func TestAHostileNameCostsNoMoreThanTheCatalogsOwnDepth(t *testing.T) {
	c := mustBuild(t, `{"namespaces":["docs"],"permissions":{},"imports":{"meet":{"permissions":{"meet.a.*":true}}}}`)
	deep := "meet" + strings.Repeat(".a", 1<<20)
	if r, ok := c.RegionOf(deep); !ok || r.Pattern != "meet.a.*" {
		t.Errorf("RegionOf = %v, %t", r, ok)
	}
	if !c.IsKnownPattern(deep+".*") || c.HasKey(deep+".") {
		t.Error("a deep name is read differently")
	}
	if n := testing.AllocsPerRun(10, func() { c.HasKey(deep) }); n != 0 {
		t.Errorf("HasKey allocates %v times", n)
	}
}

func TestUnknownNamesOfAnImportSayWhatItCovers(t *testing.T) {
	c := mustBuild(t, `{"namespaces":["docs"],"permissions":{},"imports":{"meet":{"permissions":{"meet.rooms.*":true,"meet.calls.start":true}},"bill":{"permissions":{}}}}`)
	cases := []struct {
		value    string
		expected authz.Expected
		message  string
	}{
		{"meet.calls.stop", authz.ExpectedKey, `"meet.calls.stop" is not covered by this catalog's import of that namespace. Did you mean "meet.calls.start"? Note: "meet" is imported by this catalog, but this key is outside what it covers (imported: meet.rooms.*, meet.calls.start) — add the key or widen the pattern in ` + "`imports.meet.permissions`."},
		{"meet.rooms", authz.ExpectedPattern, `"meet.rooms" is a group, not a pattern`},
		{"meet.calls", authz.ExpectedKey, `"meet.calls" is not covered`}, // the import does not cover all of the group
		{"bill.x", authz.ExpectedPattern, `(imported: nothing)`},
		{"zoom.x", authz.ExpectedKey, "this catalog imports meet, bill — add \"zoom\" to `imports` to reference it."},
	}
	for _, k := range cases {
		if got := c.UnknownPermission(k.value, k.expected); !strings.Contains(got.Message, k.message) {
			t.Errorf("%s: %s", k.value, got.Message)
		}
	}
}

func TestImportedPatternsAreTheEntries(t *testing.T) {
	built := mustBuild(t, `{"namespaces":["docs"],"permissions":{"docs.files.read":true},"imports":{"meet":{"document":`+meetDocument+`,"permissions":{"meet.rooms.*":true,"meet.host":true}},
		"zoom":{"strict":true,"permissions":{"zoom.b.*":true,"zoom.a":true,"zoom.b.c":true}},"bill":{"permissions":{}}}}`)
	document, err := built.Document()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := built.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	read, err := catalog.FromDocument(document, catalog.DocumentOptions{Imports: manifest})
	if err != nil {
		t.Fatal(err)
	}
	for ns, want := range map[string][]string{"meet": {"meet.rooms.*", "meet.host"}, "zoom": {"zoom.b.*", "zoom.a", "zoom.b.c"},
		"bill": {}, "docs": {}, "authz_internal": {}, "crm": {}, "": {}, "*": {}} {
		for name, c := range map[string]*catalog.Catalog{"built": built, "read": read} {
			if diff := cmp.Diff(want, c.ImportedPatterns(ns)); diff != "" {
				t.Errorf("%s, %q (-want +got)\n%s", name, ns, diff)
			}
		}
	}
}

func TestAnImportInYAMLHoldsItsDocument(t *testing.T) {
	in, err := catalog.ParseYAML([]byte("namespaces: [docs]\npermissions: {}\nimports:\n  meet:\n    permissions: {meet.host: true}\n    document:\n" +
		"      formatVersion: 1\n      namespace: meet\n      namespaces: [meet]\n      leaves: [{key: meet.host, label: \"<Host> \\\"1\\\"\", destructive: true}]\n      odd: [.inf, ~, 1.5]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(in.Imports[0].Document) {
		t.Fatalf("not JSON: %s", in.Imports[0].Document)
	}
	c, err := catalog.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	if leaf, _ := c.Leaf("meet.host"); leaf == nil || leaf.Label != `<Host> "1"` || !leaf.Destructive {
		t.Errorf("leaf = %+v", leaf)
	}
}
