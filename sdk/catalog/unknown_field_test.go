package catalog_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// misspelt has one unknown member in every object that a declaration can hold.
const misspelt = `namespaces: [docs]
groops: {}
permissions:
  - kind: block
    path: docs.files
    grup: {}
    group: {label: Files, scope: []}
    leaves:
      docs.files.approve:
        requireCondition: true
groups:
  docs: {lable: Documents}
scopeTypes:
  docs.folder:
    perent: docs.folder
    requestable:
      requiresExpiry: true
      prompts: [{id: why, label: Why, requird: true}]
      policy:
        stages: [{kind: management, layer: 1}, {kind: auto, predicate: {type: in_group, groupID: g}}]
        stage: []
navigation:
  - label: Files
    permission: docs.files.*
    children: [{label: Trash, permissions: docs.files.*}]
conventions: {depht: 3}
imports:
  meet:
    form: Meet
    permissions: {meet.rooms.join: {scopez: []}}
constraints:
  sods: []
  sod: [{id: a, set: []}]
`

func TestUnknownMembersAreErrorsAtEveryDepth(t *testing.T) {
	want := []string{
		`2:1 groops: is not a field of the catalog input. Did you mean "groups"?`,
		`6:5 permissions[0].grup: is not a field of a block. Did you mean "group"?`,
		`7:27 permissions[0].group.scope: is not a field of a group. Did you mean "scopes"?`,
		`10:9 docs.files.approve: requireCondition is not a field of a permission. Did you mean "requiresCondition"?`,
		`12:10 groups.docs.lable: is not a field of a group. Did you mean "label"?`,
		`15:5 scopeTypes.docs.folder.perent: is not a field of a scope type. Did you mean "parent"?`,
		`17:7 docs.folder: requestable.requiresExpiry is not a field of requestable. Did you mean "requireExpiry"?`,
		`18:39 docs.folder: requestable.prompts[0].requird is not a field of a prompt. Did you mean "required"?`,
		`20:37 docs.folder: requestable.policy.stages[0].layer is not a field of a stage. Did you mean "layers"?`,
		`20:89 docs.folder: requestable.policy.stages[1].predicate.groupID is not a field of a predicate. Did you mean "groupId"?`,
		`21:9 docs.folder: requestable.policy.stage is not a field of a policy. Did you mean "stages"?`,
		`25:31 navigation[0].children[0].permissions: is not a field of a navigation entry. Did you mean "permission"?`,
		`26:15 conventions.depht: is not a field of conventions. Did you mean "depth"?`,
		`29:5 imports.meet.form: is not a field of an import. Did you mean "from"?`,
		`30:37 meet.rooms.join: scopez is not a field of a permission. Did you mean "scopes"?`,
		`32:3 constraints.sods: is not a field of constraints. Did you mean "sod"?`,
		`33:17 constraints.sod[0].set: is not a field of a separation of duties. Did you mean "sets"?`,
	}
	in, err := catalog.ParseYAML([]byte(misspelt))
	if err != nil {
		t.Fatal(err)
	}
	_, err = catalog.Build(in)
	found := map[string]bool{}
	for _, i := range textIssues(t, err) {
		if i.Code == catalog.CodeUnknownField {
			found[fmt.Sprintf("%d:%d %s: %s", i.Line, i.Column, i.Path, i.Message)] = true
		}
	}
	wanted := map[string]bool{}
	for _, w := range want {
		wanted[w] = true
	}
	if diff := cmp.Diff(wanted, found); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAPublishedDocumentMayHoldUnknownMembers(t *testing.T) {
	published := document(t, mustBuild(t, sampleJSON))
	later := strings.NewReplacer(`{"key":`, `{"later":1,"key":`, `{"type":`, `{"later":1,"type":`, `{"path":`, `{"later":1,"path":`,
		`"conventions":{`, `"conventions":{"later":1,`, `"requestable":{`, `"requestable":{"later":1,`, `{"id":`, `{"later":1,"id":`,
		`{"label":"Files","href"`, `{"later":1,"label":"Files","href"`).Replace(published)
	if strings.Count(later, "later") < 10 {
		t.Fatalf("only %d members were added", strings.Count(later, "later"))
	}
	if _, err := catalog.FromDocument([]byte(later), catalog.DocumentOptions{}); err != nil {
		t.Error(err)
	}
}

// Every issue of a text says where it lies, whether the decoder or a later step of
// the build found it.
func TestIssuesOfATextHaveTheirPlaces(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a key of another namespace":   {"{\n \"namespaces\": [\"docs\"],\n \"permissions\": {\n  \"docs.a.read\": true,\n  \"crm.a.read\": true}}", "5:3 crm.a.read"},
		"a repeated key":               {"{\n \"namespaces\": [\"docs\"],\n \"permissions\": {\n  \"docs.a.read\": true,\n  \"docs.a.read\": {}}}", "5:3 docs.a.read"},
		"a wrong type in a leaf":       {"namespaces: [docs]\npermissions:\n  docs.a.read: {label: A,\n    destructive: 3}", "4:5 docs.a.read"},
		"a leaf that is a text":        {"namespaces: [docs]\npermissions:\n  docs.a.read: yes please", "3:16 docs.a.read"},
		"an undeclared parent":         {"namespaces: [docs]\npermissions: {}\nscopeTypes:\n  docs.doc:\n    parent: docs.folder", "4:3 docs.doc"},
		"an undeclared scope type":     {"namespaces: [docs]\npermissions:\n  docs.a.read: {scopes: [docs.nope]}", "3:3 docs.a.read"},
		"a depth that is none":         {"namespaces: [docs]\npermissions: {}\nconventions: {depth: 1}", "3:15 (conventions)"},
		"a reserved namespace":         {"permissions: {}\nnamespaces: [authz_internal]", "2:1 authz_internal"},
		"no permissions at all":        {"namespaces: [docs]", "1:1 permissions"},
		"a stage of no kind":           {"namespaces: [docs]\npermissions: {}\nscopeTypes:\n  docs.doc:\n    requestable:\n      policy:\n        stages:\n          - kind: nope", "8:13 docs.doc"},
		"an item that is no prompt":    {"namespaces: [docs]\npermissions: {}\nscopeTypes:\n  docs.doc:\n    requestable:\n      prompts:\n        - id: a\n          label: A\n        - 7", "9:11 docs.doc"},
		"a constraint without its id":  {"namespaces: [docs]\npermissions: {}\nconstraints:\n  sod:\n    - sets: [[docs.a], [docs.b]]", "4:3 constraints.sod[0].id"},
		"an import of what is its own": {"namespaces: [docs]\npermissions: {}\nimports:\n  docs: {permissions: {}}", "4:3 docs"},
		"a member that is given twice": {"namespaces: [docs]\npermissions: {}\ngroups: {docs: {label: A}}\ngroups: {}", "4:1 groups"},
	} {
		t.Run(name, func(t *testing.T) {
			in, err := catalog.ParseYAML([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			_, err = catalog.Build(in)
			var got []string
			for _, i := range textIssues(t, err) {
				got = append(got, fmt.Sprintf("%d:%d %s", i.Line, i.Column, i.Path))
			}
			if !strings.Contains(strings.Join(got, "\n")+"\n", c.want+"\n") {
				t.Errorf("issues at %v, want %q", got, c.want)
			}
		})
	}
}

func TestJSONAndYAMLNameTheSamePlaces(t *testing.T) {
	text := "{\n  \"namespaces\": [\"docs\"], \"typo\": 1,\n  \"permissions\": {\n    \"docs.a.read\": {\"lable\" : \"x\"}, \"docs\": true\n  }\n}"
	var issues [2][]authz.Issue
	for i, parse := range []func([]byte) (catalog.Input, error){catalog.ParseJSON, catalog.ParseYAML} {
		in, err := parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		_, err = catalog.Build(in)
		issues[i] = textIssues(t, err)
	}
	if diff := cmp.Diff(issues[0], issues[1]); diff != "" {
		t.Errorf("(-JSON +YAML)\n%s", diff)
	}
}

func TestLintIssuesAreLocated(t *testing.T) {
	in, err := catalog.ParseYAML([]byte("namespaces: [docs]\npermissions:\n  docs.a.b.read: true\nnavigation:\n  - {label: Files, permission: docs.nope}\n"))
	if err != nil {
		t.Fatal(err)
	}
	built, err := catalog.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range in.Locate(catalog.Lint(built)) {
		got = append(got, fmt.Sprintf("%d:%d %s", i.Line, i.Column, i.Path))
	}
	if diff := cmp.Diff([]string{"3:3 docs.a.b.read", "5:5 Files"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func textIssues(t *testing.T, err error) []authz.Issue {
	t.Helper()
	var refused *authz.CatalogError
	if !errors.As(err, &refused) {
		t.Fatalf("error = %v, want a CatalogError", err)
	}
	return refused.Issues
}
