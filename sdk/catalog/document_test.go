package catalog_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

func document(t *testing.T, c *catalog.Catalog) string {
	t.Helper()
	b, err := c.Document()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// sampleDocument is the example of a document (spec: catalog §6) for sampleJSON.
const sampleDocument = `{"formatVersion":1,"namespace":"docs","namespaces":["docs"],` +
	`"leaves":[` +
	`{"key":"docs.files.approve_draft","groupPath":"docs.files","name":"approve_draft","kind":"action","destructive":false,"scopes":[],"impliedOnAncestors":false,"requiresCondition":true,"origin":"owned"},` +
	`{"key":"docs.files.delete","groupPath":"docs.files","name":"delete","kind":"action","destructive":true,"scopes":["docs.folder"],"impliedOnAncestors":false,"origin":"owned"},` +
	`{"key":"docs.files.read","groupPath":"docs.files","name":"read","label":"View","kind":"read","destructive":false,"scopes":["docs.folder","docs.doc"],"impliedOnAncestors":true,"origin":"owned"},` +
	`{"key":"docs.reports.read","groupPath":"docs.reports","name":"read","kind":"read","destructive":false,"scopes":[],"impliedOnAncestors":false,"origin":"owned"}],` +
	`"groups":[` +
	`{"path":"docs","label":"Documents","groups":["docs.files","docs.reports"],"permissions":[],"origin":"owned"},` +
	`{"path":"docs.files","label":"Files","groups":[],"permissions":["docs.files.read","docs.files.approve_draft","docs.files.delete"],"origin":"owned"},` +
	`{"path":"docs.reports","groups":[],"permissions":["docs.reports.read"],"origin":"owned"}],` +
	`"scopeTypes":[` +
	`{"type":"docs.folder","parent":"docs.folder","multiParent":false,"requestable":{"prompts":[{"id":"why","label":"Reason"}],"maxDurationMs":28800000,"requireExpiry":true,"patterns":["docs.files.*"],"policy":{"stages":[{"kind":"auto","predicate":{"type":"in_group","groupId":"editors"}},{"kind":"management","layers":1}]}}},` +
	`{"type":"docs.doc","description":"One document","parent":"docs.folder","multiParent":false}],` +
	`"navigation":[{"label":"Files","href":"/files","permission":"docs.files.*","children":[{"label":"Trash","permission":["docs.files.read","docs.files.delete"],"children":[]}]}],` +
	`"conventions":{"depth":3},` +
	`"constraints":{"sod":[{"id":"approve-vs-delete","sets":[["docs.files.approve_draft"],["docs.files.delete"]]}]}}`

func TestDocumentIsTheSpecsExampleByteForByte(t *testing.T) {
	c := mustBuild(t, sampleJSON)
	for range 2 {
		if diff := cmp.Diff(sampleDocument, document(t, c)); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestDocumentOfAnEmptyCatalogHasEmptyArrays(t *testing.T) {
	c := mustBuild(t, `{"namespaces":["docs"],"permissions":[],"includeAuthzInternal":false,"conventions":{"depth":"any"}}`)
	want := `{"formatVersion":1,"namespace":"docs","namespaces":["docs"],"leaves":[],"groups":[],"scopeTypes":[],"navigation":[],"conventions":{"depth":"any"}}`
	if diff := cmp.Diff(want, document(t, c)); diff != "" {
		t.Error(diff)
	}
}

func TestDocumentKeepsCharactersThatHTMLWouldEscape(t *testing.T) {
	c := mustBuild(t, `{"namespaces":["docs"],"permissions":{"docs.a.b":{"label":"<b>&"}},"scopeTypes":{"docs.f":{"description":"a < b & c"}},
	 "navigation":[{"label":"<i>","permission":"docs.a.b"}],"groups":{"docs":{"label":"R&D"}}}`)
	for _, text := range []string{`"<b>&"`, `"a < b & c"`, `"<i>"`, `"R&D"`} {
		if !strings.Contains(document(t, c), text) {
			t.Errorf("document lacks %s", text)
		}
	}
}

func TestHollowGroupsAreKeptApart(t *testing.T) {
	c := mustBuild(t, `{"namespaces":["docs"],"includeAuthzInternal":false,"permissions":[{"docs.a.b":true},{"kind":"block","path":"docs.empty.deep","leaves":{}}],
	 "groups":{"crm.x":{"label":"Elsewhere"}}}`)
	g, ok := c.Group("docs.empty.deep")
	if !ok || !g.Hollow {
		t.Fatalf("Group = %+v, %t", g, ok)
	}
	if _, ok := c.Group("docs.empty"); ok {
		t.Error("a hollow group brought its parent into being")
	}
	if c.IsKnownPattern("docs.empty.deep.*") {
		t.Error("a hollow group's wildcard is known")
	}
	docs, _ := c.Group("docs")
	if diff := cmp.Diff([]string{"docs.a"}, docs.Groups); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"crm.x", "docs", "docs.a", "docs.empty.deep"}, c.GroupPaths()); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(document(t, c), `{"path":"docs.empty.deep","groups":[],"permissions":[],"origin":"owned"}`) {
		t.Error("the document lacks the hollow group")
	}
}

func TestBuildKeepsNothingOfItsInput(t *testing.T) {
	in, err := catalog.ParseJSON([]byte(sampleJSON))
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	in.Namespaces[0] = "x"
	in.ScopeTypes[0].Requestable.Patterns[0] = "x"
	in.ScopeTypes[0].Requestable.Prompts[0].ID = "x"
	in.ScopeTypes[0].Requestable.Stages[0].Predicate.GroupID = "x"
	in.Navigation[0].Children[0].AnyOf[0] = "x"
	in.Constraints.SoD[0].Sets[0][0] = "x"
	in.Permissions[0].Block.Group.Scopes[0] = "x"
	in.Permissions[0].Leaves[2].Scopes[0] = "x"
	if diff := cmp.Diff(sampleDocument, document(t, c)); diff != "" {
		t.Error(diff)
	}
}

func TestRequestableIsPublishedAsDeclared(t *testing.T) {
	c := mustBuild(t, `{"namespaces":["docs"],"permissions":{},"includeAuthzInternal":false,"scopeTypes":{"docs.f":{"requestable":{
	 "prompts":[{"id":"a","label":"A","kind":"select","options":[],"required":false}],"patterns":[],
	 "policy":{"stages":[{"kind":"named_approvers","roleId":"r","layers":4},{"kind":"auto","predicate":{"type":"member_of","subject":"directs:u","orgId":"o"}}]}}}}}`)
	want := `"requestable":{"prompts":[{"id":"a","label":"A","kind":"select","options":[],"required":false}],"patterns":[],` +
		`"policy":{"stages":[{"kind":"named_approvers","roleId":"r"},{"kind":"auto","predicate":{"type":"member_of","subject":"directs:u"}}]}}`
	if got := document(t, c); !strings.Contains(got, want) {
		t.Errorf("document = %s\nwant in it %s", got, want)
	}
}

func TestCheckDocumentReadsWhatIsPublished(t *testing.T) {
	got, err := catalog.CheckDocument(json.RawMessage(document(t, mustBuild(t, sampleJSON))))
	if err != nil {
		t.Fatal(err)
	}
	want := catalog.Document{Namespace: "docs", Namespaces: []string{"docs"},
		Keys: []string{"docs.files.approve_draft", "docs.files.delete", "docs.files.read", "docs.reports.read"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCheckDocumentRefuses(t *testing.T) {
	doc := func(replace, with string) string {
		const good = `{"formatVersion":1,"namespace":"docs","namespaces":["docs","crm"],"leaves":[{"key":"docs.a.b"}],"groups":[],"scopeTypes":[],"navigation":[]}`
		if !strings.Contains(good, replace) {
			t.Fatalf("nothing to replace: %s", replace)
		}
		return strings.Replace(good, replace, with, 1)
	}
	if _, err := catalog.CheckDocument(json.RawMessage(doc(`1`, `1.0`))); err != nil {
		t.Fatalf("the document all cases start from: %v", err)
	}
	cases := map[string]struct{ document, want string }{
		"what is not JSON":               {`{`, "document must be an object"},
		"nothing at all":                 {``, "document must be an object"},
		"what is no object":              {`[]`, "document must be an object"},
		"null":                           {`null`, "document must be an object"},
		"another format":                 {doc(`1`, `2`), "unknown catalog format 2"},
		"a format in words":              {doc(`1`, `"1"`), `unknown catalog format "1"`},
		"no format":                      {`{}`, "unknown catalog format null"},
		"an unknown format before all":   {`{"formatVersion":9}`, "unknown catalog format 9"},
		"a member twice":                 {doc(`"groups":[]`, `"groups":[],"leaves":[]`), "document.leaves is given more than once"},
		"no namespace":                   {doc(`"namespace":"docs",`, ``), "document.namespace must be a string"},
		"a namespace it does not list":   {doc(`"namespace":"docs"`, `"namespace":"zoom"`), `document.namespace "zoom" is not one of`},
		"no namespaces":                  {doc(`"namespaces":["docs","crm"],`, ``), "document.namespaces must be an array"},
		"empty namespaces":               {doc(`["docs","crm"]`, `[]`), "is not one of document.namespaces"},
		"a namespace of two segments":    {doc(`"crm"`, `"c.rm"`), `"c.rm" is not a single valid segment`},
		"a namespace that is a number":   {doc(`"crm"`, `1`), "must be an array of strings"},
		"a namespace twice":              {doc(`"crm"`, `"docs"`), "more than once"},
		"no leaves":                      {doc(`"leaves":[{"key":"docs.a.b"}],`, ``), "document.leaves must be an array"},
		"no groups":                      {doc(`"groups":[],`, ``), "document.groups must be an array"},
		"scope types that are an object": {doc(`"scopeTypes":[]`, `"scopeTypes":{}`), "document.scopeTypes must be an array"},
		"navigation that is null":        {doc(`"navigation":[]`, `"navigation":null`), "document.navigation must be an array"},
		"a leaf without a key":           {doc(`{"key":"docs.a.b"}`, `{}`), "every leaf needs a string key"},
		"a leaf that is a string":        {doc(`{"key":"docs.a.b"}`, `"docs.a.b"`), "every leaf needs a string key"},
		"a key that is a number":         {doc(`"docs.a.b"`, `1`), "every leaf needs a string key"},
		"a key twice":                    {doc(`[{"key":"docs.a.b"}]`, `[{"key":"docs.a.b"},{"key":"docs.a.b"}]`), `"docs.a.b" is declared twice`},
		"a malformed key":                {doc(`docs.a.b`, `docs..b`), `invalid segment ""`},
		"a wildcard key":                 {doc(`docs.a.b`, `docs.*`), "wildcards are not allowed"},
		"a key of one segment":           {doc(`docs.a.b`, `docs`), `"docs" needs at least two segments`},
		"a key outside its namespaces":   {doc(`docs.a.b`, `zoom.a.b`), `catalog document publishes "zoom.a.b", which is outside its own namespaces [docs, crm]`},
		"built-in keys it does not list": {doc(`docs.a.b`, `authz_internal.audit.read`), "which is outside its own namespaces"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := catalog.CheckDocument(json.RawMessage(c.document))
			if authz.CodeOf(err) != authz.CodeValidation {
				t.Fatalf("error = %v, want a validation refusal", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want %q in it", err, c.want)
			}
			if diff := cmp.Diff(catalog.Document{}, got); diff != "" {
				t.Errorf("a refused document was returned: %s", diff)
			}
		})
	}
}

func TestCheckDocumentEchoesLittleOfAHugeKey(t *testing.T) {
	huge := strings.Repeat("a", 1<<20)
	_, err := catalog.CheckDocument(json.RawMessage(`{"formatVersion":1,"namespace":"docs","namespaces":["docs"],"leaves":[{"key":"` + huge + `"}],"groups":[],"scopeTypes":[],"navigation":[]}`))
	if err == nil || len(err.Error()) > 1000 {
		t.Errorf("error is %d bytes long", len(err.Error()))
	}
}
