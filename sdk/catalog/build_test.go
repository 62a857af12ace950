package catalog_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// issuesOf builds a declaration without the built-in blocks, in namespace docs
// unless it says otherwise, and returns "code path: message" of each issue.
func issuesOf(t *testing.T, members string) []string {
	t.Helper()
	var parts []string
	for name, def := range map[string]string{
		`"namespaces"`: `["docs"]`, `"permissions"`: `{}`, `"includeAuthzInternal"`: `false`,
	} {
		if !strings.Contains(members, name) {
			parts = append(parts, name+":"+def)
		}
	}
	if members != "" {
		parts = append(parts, members)
	}
	_, err := build(t, []byte("{"+strings.Join(parts, ",")+"}"))
	return issueLines(t, err)
}

func issueLines(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var refused *authz.CatalogError
	if !errors.As(err, &refused) {
		t.Fatalf("error = %v, want a CatalogError", err)
	}
	lines := make([]string, len(refused.Issues))
	for i, issue := range refused.Issues {
		if issue.Severity != authz.SeverityError {
			t.Errorf("severity of %v = %s", issue, issue.Severity)
		}
		lines[i] = issue.Code + " " + issue.Path + ": " + issue.Message
	}
	return lines
}

// checkLines wants one line for each fragment, beginning with its part before
// " … " and containing the part after.
func checkLines(t *testing.T, want, got []string) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("issues:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for i, w := range want {
		head, fragment, _ := strings.Cut(w, " … ")
		if !strings.HasPrefix(got[i], head) || !strings.Contains(got[i][len(head):], fragment) {
			t.Errorf("issue %d:\n got %s\nwant %s", i, got[i], w)
		}
	}
}

func TestBootErrors(t *testing.T) {
	const folder = `"scopeTypes":{"docs.folder":{}}`
	cases := map[string]struct {
		input string
		want  []string
	}{
		"an empty permissions object is legal": {``, nil},
		"older and unknown fields are refused by name": {
			`"projects":[],"namespace":"x","additionalNamespaces":null,"allowArbitraryDepth":true`,
			[]string{"unknown-field projects: … is not a field of the catalog input", "unknown-field namespace:", "unknown-field additionalNamespaces:", "unknown-field allowArbitraryDepth:"}},
		"imports of the wrong type are not read as none": {`"imports":[]`, []string{"bad-field imports: must be an object"}},
		"imports that are empty are none":                {`"imports":{}`, nil},
		"permissions are required":                       {`"permissions":null`, []string{"bad-field permissions: is required"}},
		"no namespace":                                   {`"namespaces":[]`, []string{"no-namespace (catalog): declare at least one namespace"}},
		"namespaces are segments and not reserved": {
			`"namespaces":["a.b","","authz_internal","docs","docs"]`,
			[]string{"bad-namespace a.b: namespace must be a single valid segment", "bad-namespace : ", "reserved-namespace authz_internal: … is reserved"}},
		"a leaf is true or an object": {
			`"permissions":{"docs.a.f":false,"docs.a.n":null,"docs.a.s":"x","docs.a.i":1,"docs.a.l":[]}`,
			[]string{"bad-leaf docs.a.f: … must be true or an object — got false", "bad-leaf docs.a.n: … must be true or an object — got null",
				`bad-leaf docs.a.s: … must be true or an object — got "x"`, "bad-leaf docs.a.i:", "bad-leaf docs.a.l: … got []"}},
		"a bad leaf names the offending field": {
			`"permissions":{"docs.a.b":{"kind":"write","scopes":"docs.folder","label":3,"destructive":"yes"},"docs.a.c":{"scopes":[1],"kind":null,"label":null}}`,
			[]string{"bad-leaf docs.a.b: scopes must be an array of strings", "bad-leaf docs.a.b: label must be a string", "bad-leaf docs.a.b: destructive must be a boolean",
				`bad-leaf docs.a.b: kind must be "read" or "action" — got "write"`, "bad-leaf docs.a.c: scopes must be an array of strings — got [1]"}},
		"a key repeated inside one object is a duplicate, once": {
			`"permissions":{"docs.a.b":true,"docs.a.b":{"kind":"read"},"docs.a.b":true}`,
			[]string{"duplicate-key docs.a.b: duplicate permission key"}},
		"a stray is dropped and seen by no later step": {
			`"permissions":{"kind":"block","path":"docs.a","leaves":{"docs.ab.c":true,"docs.a":true,"other..x":true}}`,
			[]string{`outside-block docs.ab.c: is not under the block path "docs.a"`, "outside-block docs.a:", "outside-block other..x:"}},
		"a key under a hollow group's path is one too many": {
			`"permissions":{"docs.a.b":true},"groups":{"docs.a.b":{}}`,
			[]string{"key-is-group docs.a.b: is both a permission and a group path"}},
		"a short key can also be a group path": {
			`"permissions":{"docs":true,"docs.files.read":true}`,
			[]string{"short-key docs: … needs at least two segments", "key-is-group docs:"}},
		"only the first failure of a key, and the order of keys": {
			`"permissions":{"crm.a":true,"docs.__proto__":true,"docs.a.*":true,"authz_internal.access.read":true}`,
			[]string{`undeclared-namespace crm.a: the first segment "crm" is not a declared namespace`, `bad-key docs.__proto__: invalid segment "__proto__"`,
				"bad-key docs.a.*: wildcards are not allowed in a concrete key", "reserved-key authz_internal.access.read: … authz_internal is reserved"}},
		"group paths follow the key grammar": {
			`"groups":{"docs..a":{},"docs.*":{}},"permissions":[{"kind":"block","path":""}]`,
			[]string{"bad-group-path docs..a: invalid group path", "bad-group-path docs.*:", "bad-group-path : invalid group path: empty key"}},
		"scope types are dotted and within the namespaces": {
			`"scopeTypes":{"docs":{},"a..b":{},"crm.x":{},"authz_internal.x":{},"docs.f":{"parent":"docs.gone"}}`,
			[]string{"bad-scope-type docs: … scope types are dotted like permissions", "bad-scope-type a..b:", "scope-type-namespace crm.x: … outside the declared namespaces",
				"scope-type-namespace authz_internal.x:", `unknown-parent docs.f: parent scope type "docs.gone" is not declared`}},
		"a type may name itself, cycles of two or more are reported for all that lead into them": {
			`"scopeTypes":{"docs.lead":{"parent":"docs.a"},"docs.a":{"parent":"docs.b"},"docs.b":{"parent":"docs.a"},"docs.self":{"parent":"docs.self"},"docs.under":{"parent":"docs.self"},"docs.lead2":{"parent":"docs.lead"}}`,
			[]string{`parent-cycle docs.lead: scope type parentage is cyclic through "docs.a"`, `parent-cycle docs.a: … "docs.a"`, `parent-cycle docs.b: … "docs.b"`, `parent-cycle docs.lead2: … "docs.a"`}},
		"an inherited scope type is reported on each leaf and on the group": {
			folder + `,"groups":{"docs":{"scopes":["docs.nope"]}},"permissions":{"docs.b.y":true,"docs.a.x":true,"docs.a.z":{"scopes":[]},"docs.a.w":{"scopes":["docs.folder","docs.gone","docs.gone"]}}`,
			[]string{`unknown-scope-type docs.b.y: references undeclared scope type "docs.nope"`, "unknown-scope-type docs.a.x:",
				`unknown-scope-type docs.a.w: … "docs.gone"`, "unknown-scope-type docs: … docs.nope"}},
		"depth below two":      {`"conventions":{"depth":1}`, []string{`bad-depth (conventions): conventions.depth must be an integer of at least 2, or "any" — got 1`}},
		"depth that is a word": {`"conventions":{"depth":"all"}`, []string{`bad-depth (conventions): … got "all"`}},
		"depth in fractions":   {`"conventions":{"depth":2.5}`, []string{"bad-depth (conventions): … got 2.5"}},
		"depth past counting":  {`"conventions":{"depth":1e400}`, []string{"bad-depth (conventions): … got 1e400"}},
		"depth 3.0 is 3":       {`"conventions":{"depth":3.0}`, nil},
		"a member given twice outside of leaf maps": {
			`"groups":{"docs.a":{},"docs.a":{"label":"x","label":"y"}},"scopeTypes":{"docs.f":{},"docs.f":{}},"navigation":[],"navigation":[]`,
			[]string{"repeated-field groups.docs.a: is given more than once", "repeated-field scopeTypes.docs.f:", "repeated-field navigation:"}},
		"wrong types": {
			`"groups":[],"navigation":[{"label":1,"permission":{}},2],"conventions":[],"constraints":{"sod":[{"id":1,"sets":"x"}]},"scopeTypes":{"docs.f":{"parent":1,"multiParent":"no"}}`,
			[]string{"bad-field groups:", "bad-field navigation[0].label: must be a string", "bad-field navigation[0].permission:", "bad-field navigation[1]:", "bad-field conventions:",
				"bad-field constraints.sod[0].id: must be a string", "bad-field constraints.sod[0].sets:", "bad-field scopeTypes.docs.f.parent:", "bad-field scopeTypes.docs.f.multiParent:",
				"bad-field constraints.sod[0].id: must be a non-empty string"}},
		"wrong types one level up": {
			`"namespaces":"docs","permissions":5,"scopeTypes":[],"navigation":{},"constraints":[],"includeAuthzInternal":"no"`,
			[]string{"bad-field namespaces: must be an array of strings", "bad-field permissions: must be an object or an array", "bad-field scopeTypes:", "bad-field navigation:",
				"bad-field constraints:", "bad-field includeAuthzInternal: must be a boolean", "no-namespace (catalog):"}},
		"wrong types one level down": {
			`"permissions":[true,{"kind":"block","path":"docs.a","group":1,"leaves":[]}],"groups":{"docs.a":1},"scopeTypes":{"docs.f":1},"constraints":{"sod":[1,{"id":"x","sets":["docs.*"]}],"other":1}`,
			[]string{"bad-field permissions[0]: must be an object of leaves or a block", "bad-field permissions[1].group:", "bad-field permissions[1].leaves:", "bad-field groups.docs.a:",
				"bad-field scopeTypes.docs.f:", "bad-field constraints.sod[0]: must be an object", "bad-field constraints.sod[1].sets[0]: must be an array of strings",
				"unknown-field constraints.other: is not a field of constraints, which has sod", "bad-field constraints.sod[0].id:"}},
		"constraints that are no list": {`"constraints":{"sod":{}}`, []string{"bad-field constraints.sod: must be an array"}},
		"a bad value is echoed as JSON and cut": {
			`"permissions":{"docs.a.b":{"kind":{"x":[1,"y",null]},"label":"l","label":"m"}},"conventions":{"depth":"` + strings.Repeat("9", 500) + `"}`,
			[]string{`bad-leaf docs.a.b: kind must be a string — got {"x":[1,"y",null]}`, "bad-leaf docs.a.b: label is given more than once", "bad-depth (conventions): … more)"}},
		"constraints are looked at when all else is well, in their order": {
			`"permissions":{"docs.a.x":true,"docs.a.y":true,"docs.b.z":true},"constraints":{"sod":[
			 {"id":"one","sets":[["docs.a.x"]]},{"id":"one","sets":[[],["docs.gone.*","docs.a.x","docs.a.*"],["docs.a.*"]]},{"id":"\"<q>\"","sets":[["docs.a.*"],["docs.b.z","*"]]}]}`,
			[]string{`sod-sets (constraints): constraints.sod["one"]: … at least two mutually exclusive sets`,
				`sod-duplicate (constraints): constraints.sod["one"]: duplicate constraint id`, `sod-empty (constraints): constraints.sod["one"]: set 0 is empty`,
				`sod-unmatched (constraints): constraints.sod["one"]: "docs.gone.*" matches no declared permission`,
				`sod-overlap (constraints): constraints.sod["one"]: "docs.a.x" falls in sets 1 and 2`, `sod-overlap (constraints): constraints.sod["one"]: "docs.a.y" falls in sets 1 and 2`,
				`sod-overlap (constraints): constraints.sod["\"<q>\""]: "docs.a.x" falls in sets 0 and 1`, `sod-overlap (constraints): … "docs.a.y"`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { checkLines(t, c.want, issuesOf(t, c.input)) })
	}
}

func TestIssuesComeInTheOrderOfTheSteps(t *testing.T) {
	got := issuesOf(t, `
	 "constraints":{"sod":[{"id":"x","sets":[]}]},
	 "conventions":{"depth":0},
	 "permissions":[{"kind":"block","path":"docs.p","leaves":{"docs.q":true}},{"crm.x":true,"docs.a.r":{"scopes":["docs.no"]},"docs.a":true}],
	 "scopeTypes":{"docs.f":{"parent":"docs.gone","requestable":{"maxDurationMs":0}},"zz.t":{}},
	 "namespaces":["docs","9"],
	 "typo":1`)
	checkLines(t, []string{
		"unknown-field typo:", "bad-namespace 9:", "outside-block docs.q:", "undeclared-namespace crm.x:", "key-is-group docs.a:",
		"bad-requestable docs.f:", "scope-type-namespace zz.t:", "unknown-parent docs.f:", "unknown-scope-type docs.a.r:", "bad-depth (conventions):",
	}, got)
}

func TestRequestable(t *testing.T) {
	cases := map[string]struct{ requestable, want string }{
		"is an object":                        {`true`, "requestable must be an object"},
		"policy absent reads as no stages":    {`{}`, ""},
		"policy null reads as no stages":      {`{"policy":null}`, ""},
		"policy is an object":                 {`{"policy":[]}`, "requestable.policy must be an object"},
		"stages are an array":                 {`{"policy":{"stages":{}}}`, "requestable.policy.stages must be an array"},
		"a stage is an object":                {`{"policy":{"stages":["auto"]}}`, "requestable.policy.stages[0] must be an object"},
		"stage kinds are three":               {`{"policy":{"stages":[{"kind":"vote"}]}}`, `requestable.policy.stages[0].kind is no stage kind — got "vote"`},
		"auto needs a predicate":              {`{"policy":{"stages":[{"kind":"auto"}]}}`, "stages[0].predicate is required"},
		"predicate types are four":            {`{"policy":{"stages":[{"kind":"auto","predicate":{"type":"x"}}]}}`, "predicate.type is no predicate type"},
		"in_group needs its group":            {`{"policy":{"stages":[{"kind":"auto","predicate":{"type":"in_group","orgId":"o"}}]}}`, "predicate.groupId must be a non-empty string"},
		"in_org needs its org":                {`{"policy":{"stages":[{"kind":"auto","predicate":{"type":"in_org","orgId":7}}]}}`, "predicate.orgId must be a string"},
		"member_of needs its subject":         {`{"policy":{"stages":[{"kind":"auto","predicate":{"type":"member_of"}}]}}`, "predicate.subject must be"},
		"holds_pattern needs its pattern":     {`{"policy":{"stages":[{"kind":"auto","predicate":{"type":"holds_pattern"}}]}}`, "predicate.pattern must be"},
		"named_approvers needs a role":        {`{"policy":{"stages":[{"kind":"named_approvers"}]}}`, "stages[0].roleId must be a non-empty string"},
		"layers default":                      {`{"policy":{"stages":[{"kind":"management"}]}}`, ""},
		"layers count from one":               {`{"policy":{"stages":[{"kind":"management","layers":0}]}}`, "layers must be an integer of at least 1 — got 0"},
		"layers are whole":                    {`{"policy":{"stages":[{"kind":"management","layers":1.5}]}}`, "layers must be an integer of at least 1 — got 1.5"},
		"maxDurationMs is above zero":         {`{"maxDurationMs":0}`, "requestable.maxDurationMs must be"},
		"maxDurationMs is finite":             {`{"maxDurationMs":1e999}`, "requestable.maxDurationMs must be"},
		"maxDurationMs is a number":           {`{"maxDurationMs":"1d"}`, "requestable.maxDurationMs must be"},
		"requireExpiry is a boolean":          {`{"requireExpiry":1}`, "requestable.requireExpiry must be a boolean"},
		"patterns follow the grammar":         {`{"patterns":["docs.*","docs.*.x"]}`, `requestable.patterns[1] "docs.*.x": wildcards`},
		"patterns are strings":                {`{"patterns":"docs.*"}`, "requestable.patterns must be an array of strings"},
		"prompts are objects with both texts": {`{"prompts":[{"id":"a"}]}`, "requestable.prompts[0].label must be a non-empty string"},
		"a prompt id is a string":             {`{"prompts":[{"id":1,"label":"x"}]}`, "requestable.prompts[0].id must be a string"},
		"prompt kinds are two":                {`{"prompts":[{"id":"a","label":"A","kind":"date"}]}`, `requestable.prompts[0].kind must be "text" or "select"`},
		"prompt options are strings":          {`{"prompts":[{"id":"a","label":"A","options":[1]}]}`, "requestable.prompts[0].options must be an array of strings"},
		"prompt ids do not repeat":            {`{"prompts":[{"id":"a","label":"A"},{"id":"a","label":"B"}]}`, `requestable.prompts[1].id is repeated: "a"`},
		"prompt ids are ordinary data":        {`{"prompts":[{"id":"__proto__","label":"A"},{"id":"constructor","label":"B"}]}`, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var want []string
			if c.want != "" {
				want = []string{"bad-requestable docs.f: … " + c.want}
			}
			checkLines(t, want, issuesOf(t, `"scopeTypes":{"docs.f":{"requestable":`+c.requestable+`}}`))
		})
	}
}

func TestGoInputIsCheckedLikeAFile(t *testing.T) {
	zero := int64(0)
	_, err := catalog.Build(catalog.Input{
		Namespaces: []string{"docs"},
		Permissions: []catalog.PermissionSet{{Leaves: []catalog.Permission{
			{Key: "docs.a.b", Kind: "write"}, {Key: "docs.a.b"},
		}}},
		Groups: []catalog.GroupEntry{{Path: "docs.a"}, {Path: "docs.a"}},
		ScopeTypes: []catalog.ScopeType{{Type: "docs.f", Requestable: &catalog.Requestable{
			MaxDurationMs: -1, Stages: []authz.Stage{{Kind: authz.StageManagement, Layers: &zero}},
		}}},
		Conventions: catalog.Conventions{Depth: 1},
		Constraints: catalog.Constraints{SoD: []catalog.SoDConstraint{{}}},
	})
	checkLines(t, []string{
		"repeated-field groups.docs.a:", "bad-field constraints.sod[0].id:", "bad-leaf docs.a.b:", "duplicate-key docs.a.b:",
		"bad-requestable docs.f: requestable.maxDurationMs", "bad-requestable docs.f: requestable.policy.stages[0].layers", "bad-depth (conventions):",
	}, issueLines(t, err))
}

func TestCatalogErrorListsEveryIssue(t *testing.T) {
	_, err := build(t, []byte(`{"namespaces":["9"],"permissions":{}}`))
	want := "invalid catalog:\n  - line 1, column 2: 9: namespace must be a single valid segment"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

// One fault of form hides none of the others.
func TestEveryFaultOfARequestableIsTold(t *testing.T) {
	in, err := catalog.ParseJSON([]byte(`{"namespaces":["docs"],"permissions":{"docs.a.r":true},"scopeTypes":{"docs.f":{"requestable":{
		"prompts":[{"id":"a","label":"l"},{"id":"a","label":"m"},{"id":5,"label":"n"}],"maxDurationMs":0,"patterns":["**"],
		"policy":{"stages":[{"kind":"x"},{"kind":"auto","predicate":{"type":"zz"}},{"kind":"management","layers":0},7]}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = catalog.Build(in)
	want := []string{}
	for _, field := range []string{"prompts[2].id", "maxDurationMs", "policy.stages[3]", "prompts[1].id", "patterns[0]", "policy.stages[0].kind", "policy.stages[1].predicate.type", "policy.stages[2].layers"} {
		want = append(want, "bad-requestable docs.f: requestable."+field+" ")
	}
	checkLines(t, want, issueLines(t, err))
}

func TestAScopeTypeThatFailsTheGrammarIsNotJudgedFurther(t *testing.T) {
	for types, want := range map[string][]string{
		`"folder":{"parent":"docs.x"}`:                    {"bad-scope-type folder:"},
		`"a":{"parent":"b"},"b":{"parent":"a"}`:           {"bad-scope-type a:", "bad-scope-type b:"},
		`"docs.f":{"parent":"folder"},"folder":{}`:        {"bad-scope-type folder:", "unknown-parent docs.f:"},
		`"docs.f":{"parent":"x"},"x":{"parent":"docs.f"}`: {"bad-scope-type x:", "unknown-parent docs.f:"},
	} {
		_, err := build(t, []byte(`{"namespaces":["docs"],"permissions":{"docs.a.r":true},"scopeTypes":{`+types+`}}`))
		checkLines(t, want, issueLines(t, err))
	}
}
