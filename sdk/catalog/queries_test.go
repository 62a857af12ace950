package catalog_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// vocabulary draws a buildable set of keys over few segments, so that prefixes
// such as "a.b" and "a.bc" meet.
func vocabulary(t *rapid.T) []string {
	segment := rapid.SampledFrom([]string{"a", "b", "bc", "b_", "B", "read", "c9"})
	leaf := rapid.SampledFrom([]string{"read", "edit_x", "delete"})
	seen := map[string]bool{}
	var keys []string
	for range rapid.IntRange(0, 20).Draw(t, "keys") {
		parts := rapid.SliceOfN(segment, 0, 3).Draw(t, "groups")
		key := strings.Join(append(append([]string{"docs"}, parts...), "l_"+leaf.Draw(t, "leaf")), ".")
		if !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}

func buildKeys(t *rapid.T, keys []string) *catalog.Catalog {
	set := catalog.PermissionSet{}
	for _, key := range keys {
		set.Leaves = append(set.Leaves, catalog.Permission{Key: key})
	}
	c, err := catalog.Build(catalog.Input{Namespaces: []string{"docs"}, Permissions: []catalog.PermissionSet{set}})
	if err != nil {
		t.Fatalf("Build: %v", err)
	}
	return c
}

func TestKeysMatchingEqualsMatchingEachKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := buildKeys(t, vocabulary(t))
		patterns := append([]string{"*", "", ".*", "*.*", "docs", "docs.a.b", "docs.*x", "authz_internal.*", "docs.a.*.*"}, c.Keys()...)
		for _, path := range c.GroupPaths() {
			patterns = append(patterns, path, path+".*", path+"c.*")
		}
		for _, p := range patterns {
			var want []string
			for _, key := range c.Keys() {
				if authz.Match(p, key) {
					want = append(want, key)
				}
			}
			if diff := cmp.Diff(want, c.KeysMatching(p), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%q\n%s", p, diff)
			}
		}
	})
}

func TestKeysAreSortedAndEveryPrefixIsAGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := buildKeys(t, vocabulary(t))
		if !slices.IsSorted(c.Keys()) || !slices.IsSorted(c.GroupPaths()) {
			t.Fatal("not sorted")
		}
		for _, key := range c.Keys() {
			leaf, ok := c.Leaf(key)
			if !ok || leaf.GroupPath+"."+leaf.Name != key {
				t.Fatalf("Leaf(%q) = %+v", key, leaf)
			}
			for path := leaf.GroupPath; path != ""; path, _, _ = cutLast(path) {
				if !c.IsKnownPattern(path+".*") || c.IsKnownPattern(path) {
					t.Fatalf("%q is not a group", path)
				}
			}
		}
	})
}

func cutLast(path string) (before, after string, found bool) {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return "", path, false
	}
	return path[:i], path[i+1:], true
}

// TestNearNamesAreTheClosest checks the offered names against the definition
// (spec: catalog §9.2) by way of a full edit distance.
func TestNearNamesAreTheClosest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := buildKeys(t, vocabulary(t))
		value := rapid.OneOf(
			rapid.StringMatching(`docs(\.[a-c]{1,3}){0,3}\.(l_)?(read|edit|delet|edit_x)`),
			rapid.StringMatching(`(docs|dosc|é|authz_internal)\.[abc.*_é]{0,12}`),
		).Draw(t, "value")
		pool := slices.Clone(c.Keys())
		for _, path := range c.GroupPaths() {
			pool = append(pool, path+".*")
		}
		want := plainNear(value, pool)
		got := c.UnknownPermission(value, authz.ExpectedPattern)
		if got.Suggestion != "" {
			if got.Suggestion != value+".*" || len(got.DidYouMean) > 0 {
				t.Fatalf("suggestion %q beside %q", got.Suggestion, got.DidYouMean)
			}
			return
		}
		if diff := cmp.Diff(want, got.DidYouMean, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%q (-want +got)\n%s", value, diff)
		}
	})
}

func plainNear(value string, pool []string) []string {
	length := len([]rune(value))
	budget := min(4, max(2, length/4))
	type near struct {
		distance int
		name     string
	}
	var kept, ending []near
	last := value[strings.LastIndex(value, ".")+1:]
	for _, name := range pool {
		inside := strings.HasPrefix(name, "authz_internal.")
		if name == value || inside && !strings.HasPrefix(value, "authz_internal.") {
			continue
		}
		if d := levenshtein(value, name); d <= budget {
			kept = append(kept, near{d, name})
		} else if last != "" && !strings.Contains(value, "*") && strings.HasSuffix(name, "."+last) {
			ending = append(ending, near{budget + 1, name})
		}
	}
	if len(ending) <= 3 {
		kept = append(kept, ending...)
	}
	slices.SortFunc(kept, func(a, b near) int {
		if a.distance != b.distance {
			return a.distance - b.distance
		}
		return strings.Compare(a.name, b.name)
	})
	var names []string
	for _, k := range kept[:min(3, len(kept))] {
		names = append(names, k.name)
	}
	return names
}

func levenshtein(a, b string) int {
	x, y := []rune(a), []rune(b)
	table := make([][]int, len(x)+1)
	for i := range table {
		table[i] = make([]int, len(y)+1)
		for j := range table[i] {
			switch {
			case i == 0 || j == 0:
				table[i][j] = i + j
			case x[i-1] == y[j-1]:
				table[i][j] = table[i-1][j-1]
			default:
				table[i][j] = 1 + min(table[i-1][j-1], table[i-1][j], table[i][j-1])
			}
		}
	}
	return table[len(x)][len(y)]
}

func TestKindAndDestructiveAreInferredByWholeWords(t *testing.T) {
	cases := map[string]struct {
		kind        catalog.Kind
		destructive bool
	}{
		"read": {catalog.KindRead, false}, "read_log": {catalog.KindRead, false}, "read_": {catalog.KindRead, false},
		"reader": {catalog.KindAction, false}, "Read": {catalog.KindAction, false}, "readLog": {catalog.KindAction, false},
		"delete": {catalog.KindAction, true}, "delete_all": {catalog.KindAction, true}, "destroy": {catalog.KindAction, true}, "purge_x": {catalog.KindAction, true},
		"deleted": {catalog.KindAction, false}, "Delete": {catalog.KindAction, false}, "un_delete": {catalog.KindAction, false},
	}
	for name, want := range cases {
		c := mustBuild(t, fmt.Sprintf(`{"namespaces":["docs"],"permissions":{"docs.a.%s":true}}`, name))
		leaf, _ := c.Leaf("docs.a." + name)
		if leaf.Kind != want.kind || leaf.Destructive != want.destructive {
			t.Errorf("%s: kind %s, destructive %t", name, leaf.Kind, leaf.Destructive)
		}
	}
}

func TestBuiltInBlocks(t *testing.T) {
	c := mustBuild(t, `{"namespaces":["docs"],"permissions":{},"groups":{"authz_internal.audit":{"label":"Trail","scopes":["docs.folder"]}},"scopeTypes":{"docs.folder":{}}}`)
	if !c.InternalIncluded() || len(c.Keys()) != 12 {
		t.Fatalf("built-in keys: %q", c.Keys())
	}
	if diff := cmp.Diff([]string{"docs", "authz_internal"}, c.Namespaces()); diff != "" {
		t.Error(diff)
	}
	for _, key := range c.Keys() {
		leaf, _ := c.Leaf(key)
		if leaf.Destructive || leaf.Description == "" || (leaf.Kind == catalog.KindRead) != (leaf.Name == "read") {
			t.Errorf("%s: %+v", key, leaf)
		}
	}
	if g, _ := c.Group("authz_internal.audit"); g.Label != "Trail" {
		t.Errorf("a groups entry did not decorate a built-in path: %+v", g)
	}
	if !c.AppliesAt("authz_internal.audit.read", "docs.folder:1") || c.AppliesAt("authz_internal.access.read", "docs.folder:1") {
		t.Error("scopes declared for a built-in path are not inherited below it alone")
	}
	without := mustBuild(t, `{"namespaces":["docs"],"permissions":{},"includeAuthzInternal":false}`)
	if without.InternalIncluded() || len(without.Keys()) != 0 || without.NamespaceOrigin("authz_internal") != authz.NamespaceForeign {
		t.Error("the built-in blocks were not left out")
	}
	blocks := catalog.InternalBlocks()
	blocks[0].Leaves[0].Key = "x"
	if catalog.InternalBlocks()[0].Leaves[0].Key != "authz_internal.access.read" {
		t.Error("callers share the built-in blocks")
	}
}

func TestGroupMetadataMergesFieldByField(t *testing.T) {
	c := mustBuild(t, `{"namespaces":["docs"],"includeAuthzInternal":false,"scopeTypes":{"docs.f":{},"docs.g":{}},
	 "permissions":[{"kind":"block","path":"docs.a","group":{"label":"Block","scopes":[]},"leaves":{"docs.a.x":true}},
	  {"kind":"block","path":"docs.a","group":{"description":"Later","label":null},"leaves":{"docs.a.deep.y":true,"docs.a.deep.z":{"scopes":["docs.g","docs.g"]}}}],
	 "groups":{"docs.a":{"label":"Entry","description":"Entry"},"docs":{"scopes":["docs.f"]}}}`)
	g, _ := c.Group("docs.a")
	if g.Label != "Block" || g.Description != "Later" {
		t.Errorf("group = %+v", g)
	}
	for key, want := range map[string][]string{"docs.a.x": {}, "docs.a.deep.y": {}, "docs.a.deep.z": {"docs.g"}} {
		leaf, _ := c.Leaf(key)
		if diff := cmp.Diff(want, leaf.Scopes); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
}

func TestGrantableRefusalsNameWhatIsAtFault(t *testing.T) {
	c := mustBuild(t, sampleJSON)
	cases := []struct{ pattern, scope, path, message string }{
		{"nonsense", "*", "", ""},
		{"docs.files.*", "docs.doc:1", "", ""},
		{"docs.files.read", "docs.doc", "docs.doc", "unknown scope type null — "},
		{"docs.files.read", ":x", ":x", "unknown scope type null — "},
		{"docs.files.read", "docs.gone:1", "docs.gone:1", `unknown scope type "docs.gone" — `},
		{"docs.files.delete", "docs.doc:1", "docs.files.delete", `not grantable at scope type "docs.doc" — no matched leaf declares it (matched leaves are grantable at: docs.folder, or globally at "*")`},
		{"docs.reports.*", "docs.doc:1", "docs.reports.*", "(matched leaves declare no scope types"},
		{"docs.files.reed", "docs.doc:1", "docs.files.reed", `pattern matches no catalog key — did you mean "docs.files.read"`},
	}
	for _, k := range cases {
		issue := c.ValidateGrantableAt(k.pattern, k.scope)
		if issue == nil {
			issue = &authz.Issue{}
		}
		if issue.Path != k.path || !strings.Contains(issue.Message, k.message) || (issue.Message == "") != (k.message == "") {
			t.Errorf("%s at %s: %+v", k.pattern, k.scope, *issue)
		}
	}
}

func TestKnownPatternRefusals(t *testing.T) {
	c := mustBuild(t, sampleJSON)
	cases := map[string]string{
		"*":               "",
		"docs.files.*":    "",
		"docs.files.read": "",
		"docs.files":      `pattern "docs.files" references nothing in the catalog — it is a group, and groups are folders, never keys; the subtree pattern is "docs.files.*"`,
		"docs.filez.*":    `pattern "docs.filez.*" references nothing in the catalog — did you mean "docs.files.*"?`,
		"docs.zzzzzzzzzz": `pattern "docs.zzzzzzzzzz" references nothing in the catalog`,
		"x.y":             "pattern \"x.y\" references nothing in the catalog (the first segment \"x\" is not a namespace of this catalog — declared namespaces: docs. If this permission belongs to another application, declare it in the catalog's `imports`)",
	}
	for pattern, want := range cases {
		got := ""
		if issue := c.ValidateKnownPattern(pattern); issue != nil {
			got = issue.Message
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", pattern, diff)
		}
	}
}

func TestUnknownPermissionStaysSmall(t *testing.T) {
	c := mustBuild(t, sampleJSON)
	huge := strings.Repeat("é", 1<<20) + "." + strings.Repeat("x", 1<<20)
	err := c.UnknownPermission(huge, authz.ExpectedKey)
	if len(err.Message) > 2000 || err.Permission != huge || !strings.Contains(err.Message, "more)") {
		t.Errorf("message is %d bytes long", len(err.Message))
	}
	empty := c.UnknownPermission("", authz.ExpectedKey)
	if empty.NamespaceOrigin != authz.NamespaceForeign || strings.Contains(empty.Message, "Note:") {
		t.Errorf("a value without a namespace: %+v", empty)
	}
	if b, err := json.Marshal(empty); err != nil || !strings.Contains(string(b), `"didYouMean":[],"namespaceOrigin":"foreign","importedPatterns":[]`) {
		t.Errorf("JSON = %s, %v", b, err)
	}
}

func TestOrdinaryWordsOfOtherLanguagesAreOrdinaryNames(t *testing.T) {
	c := mustBuild(t, `{"namespaces":["constructor"],"permissions":{"constructor.toString.hasOwnProperty":true},"scopeTypes":{"constructor.valueOf":{}}}`)
	if !c.HasKey("constructor.toString.hasOwnProperty") || c.HasKey("constructor.toString") || c.HasKey("Constructor.toString.hasOwnProperty") {
		t.Error("names are folded or special")
	}
	if _, ok := c.ScopeType("constructor.valueOf"); !ok {
		t.Error("the scope type is missing")
	}
}

func TestDeclarationsAreAnsweredInTheirOrder(t *testing.T) {
	c := mustBuild(t, sampleJSON)
	var types []string
	for _, declared := range c.ScopeTypes() {
		types = append(types, declared.Type)
		if found, ok := c.ScopeType(declared.Type); !ok || found.Parent != "docs.folder" {
			t.Errorf("ScopeType(%q) = %+v, %t", declared.Type, found, ok)
		}
	}
	if diff := cmp.Diff([]string{"docs.folder", "docs.doc"}, types); diff != "" {
		t.Error(diff)
	}
	if _, ok := c.ScopeType("docs"); ok {
		t.Error("a namespace is a scope type")
	}
	wantNavigation := []catalog.NavItem{{Label: "Files", Href: "/files", Permission: "docs.files.*", Children: []catalog.NavItem{
		{Label: "Trash", AnyOf: []string{"docs.files.read", "docs.files.delete"}},
	}}}
	if diff := cmp.Diff(wantNavigation, c.Navigation(), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	wantSoD := []catalog.SoDConstraint{{ID: "approve-vs-delete", Sets: [][]string{{"docs.files.approve_draft"}, {"docs.files.delete"}}}}
	if diff := cmp.Diff(wantSoD, c.SoD()); diff != "" {
		t.Error(diff)
	}
}
