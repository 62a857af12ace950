package catalog_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

type lintCase struct {
	Input  json.RawMessage `json:"input"`
	Issues []authz.Issue   `json:"issues"`
}

func TestVectorsCatalogLint(t *testing.T) {
	vectors.Replay(t, "catalog-lint.jsonl", nil, func(t *testing.T, c lintCase) {
		built := mustBuild(t, string(c.Input))
		reduce := func(issues []authz.Issue) []string {
			reduced := make([]string, len(issues))
			for i, issue := range issues {
				reduced[i] = string(issue.Severity) + " " + issue.Path
			}
			slices.Sort(reduced)
			return reduced
		}
		if diff := cmp.Diff(reduce(c.Issues), reduce(catalog.Lint(built))); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func lintLines(c *catalog.Catalog) []string {
	var lines []string
	for _, i := range catalog.Lint(c) {
		lines = append(lines, string(i.Severity)+" "+i.Path+": "+i.Message)
	}
	return lines
}

func TestLint(t *testing.T) {
	const meet = `"imports":{"meet":{"permissions":{"meet.Odd.*":true,"meet.go":true}},"call":{"strict":true,"permissions":{"call.*":true}},
	 "bill":{"document":{"formatVersion":1,"namespace":"bill","namespaces":["bill"],"leaves":[{"key":"bill.pay"}]},"permissions":{"bill.*":true}}}`
	cases := map[string]struct {
		input string
		want  []string
	}{
		"nothing to say of an empty catalog":   {``, nil},
		"a catalog that keeps the conventions": {`"permissions":{"docs.a.read":true,"docs.a.read_log_2":true,"docs.a.edit_file_2":true,"docs.a.delete":true}`, nil},
		"keys first, then groups with their leaves in declaration order, then navigation, then scope types": {
			`"scopeTypes":{"docs.t":{"requestable":{}}},"navigation":[{"label":"Outer","permission":"docs.gone","children":[{"label":"Inner","permission":"docs.a..b"}]},{"label":"Last","permission":["docs.b.Zed","docs.b.*","docs.x.y"]}],
			 "permissions":{"docs.b.Zed":true,"docs.b.act":true,"docs.top":{"kind":"read"},"docs.b.c.reader":{"kind":"read"}},"groups":{"docs.hollow":{"label":"H"}}`,
			[]string{"error docs.b.c.reader: is 4 levels deep; this catalog's convention is 3", "error docs.top: is 2 levels deep; this catalog's convention is 3",
				"warning docs.top: read permissions are", "error docs.b: below the naming floor", "warning docs.b.Zed: actions are named", "warning docs.b.act: actions are named",
				"warning docs.b.c.reader: read permissions are", "error docs.hollow: empty group",
				`error Outer: nav permission "docs.gone" references nothing in the catalog`, `error Inner: nav permission "docs.a..b" is not a valid key or pattern`,
				`error Last: nav permission "docs.b.*" is not a valid key`, `error Last: nav permission "docs.x.y" references nothing in the catalog`,
				"error docs.t: requestable without a resolvable policy"}},
		"depth is exact":                         {`"conventions":{"depth":2},"permissions":{"docs.read":true,"docs.a.read":true}`, []string{"error docs.a.read: is 3 levels deep; this catalog's convention is 2"}},
		"any depth":                              {`"conventions":{"depth":"any"},"permissions":{"docs.read":true,"docs.a.b.read":true}`, nil},
		"built-in keys are exempt from depth":    {`"includeAuthzInternal":true,"conventions":{"depth":4}`, nil},
		"imported leaves and groups are skipped": {meet, nil},
		"what an import declares can be referenced": {
			meet + `,"navigation":[{"label":"1","permission":"meet.go"},{"label":"2","permission":"meet.Odd.*"},{"label":"3","permission":["meet.Odd.x","call.x.y"]},{"label":"4","permission":"bill.*"},
			 {"label":"5","permission":"bill.gone"},{"label":"6","permission":"bill.gone.*"},{"label":"7","permission":"meet.*"},{"label":"8","permission":"zoom.x"}]`,
			[]string{`error 5: nav permission "bill.gone" references nothing in the catalog`, "error 6: … references nothing", "error 7: … references nothing", "error 8: … references nothing"}},
		"everything of nothing":  {`"navigation":[{"label":"All","permission":"*"}]`, []string{`warning All: nav permission "*" currently matches no keys`}},
		"everything of a region": {meet + `,"navigation":[{"label":"All","permission":"*"}]`, nil},
		"an empty navigation permission": {
			`"navigation":[{"label":"1"},{"label":"2","permission":""},{"label":"3","permission":[]},{"label":"4","permission":[""]},{"label":"5","permission":null}]`,
			[]string{"error 1: nav permission is empty", "error 2: nav permission is empty", "error 3: nav permission is empty", "error 4: nav permission is empty", "error 5: nav permission is empty"}},
		"a hollow group is no reference": {
			`"groups":{"docs.hollow":{}},"navigation":[{"label":"N","permission":"docs.hollow.*"}]`,
			[]string{"error docs.hollow: empty group", "error N: … references nothing"}},
		"a ceiling names what there is": {
			`"permissions":{"docs.a.read":true},"scopeTypes":{"docs.t":{"requestable":{"patterns":["docs.a.*","docs.gone.*","docs.a"],"policy":{"stages":[{"kind":"management"}]}}}}`,
			[]string{`error docs.t: requestable.patterns: "docs.gone.*" references nothing in the catalog`, `error docs.t: … "docs.a" references nothing`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			input := `{"namespaces":["docs"]`
			if c.input != "" {
				input += "," + c.input
			}
			if !strings.Contains(c.input, `"includeAuthzInternal"`) {
				input += `,"includeAuthzInternal":false`
			}
			if !strings.Contains(c.input, `"permissions":{"docs`) {
				input += `,"permissions":{}`
			}
			checkLines(t, c.want, lintLines(mustBuild(t, input+"}")))
		})
	}
}

func TestNamesAreCheckedByTheSpecsExpressions(t *testing.T) {
	read := regexp.MustCompile(`^read(_[a-z0-9_]+)?$`)
	action := regexp.MustCompile(`^[a-z]+(_[a-z0-9]+)+$`)
	standalone := strings.Fields("approve archive create delete export import issue manage publish revoke update view_as")
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.StringMatching(`(read|rea|a|[a-zA-Z])[a-zA-Z0-9_]{0,5}`), rapid.StringMatching(`[a-z]{1,2}(_[a-z0-9]{0,2}){0,3}`), rapid.SampledFrom(standalone)).Draw(t, "name")
		for kind, want := range map[catalog.Kind]bool{catalog.KindRead: read.MatchString(name), catalog.KindAction: action.MatchString(name) || slices.Contains(standalone, name)} {
			c, err := catalog.Build(catalog.Input{Namespaces: []string{"docs"}, Permissions: []catalog.PermissionSet{{
				Leaves: []catalog.Permission{{Key: "docs.a." + name, Kind: kind}, {Key: "docs.a.read_zzzzzzzzzzz"}},
			}}})
			if err != nil {
				t.Fatal(err)
			}
			if got := len(catalog.Lint(c)) == 0; got != want {
				t.Fatalf("%s %s is fine: %t", kind, name, got)
			}
		}
	})
}
