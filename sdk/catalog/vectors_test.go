package catalog_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

func build(t *testing.T, declaration []byte) (*catalog.Catalog, error) {
	t.Helper()
	in, err := catalog.ParseJSON(declaration)
	if err != nil {
		t.Fatalf("ParseJSON: %v", err)
	}
	return catalog.Build(in)
}

func mustBuild(t *testing.T, declaration string) *catalog.Catalog {
	t.Helper()
	c, err := build(t, []byte(declaration))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type buildCase struct {
	Tag    string                  `json:"tag"`
	Input  json.RawMessage         `json:"input"`
	Expect expectation[buildFacts] `json:"expect"`
}

// expectation is what a vector says of a catalog: what is wrong with it, or what it is.
type expectation[Facts any] struct {
	Error *catalogFault `json:"error"`
	OK    *Facts        `json:"ok"`
}

// facts are those that are expected; built is false of a catalog that was refused as
// it should be.
func (e expectation[Facts]) facts(t *testing.T, err error) (want Facts, built bool) {
	t.Helper()
	if e.Error != nil {
		wantIssues(t, err, e.Error.Issues)
		return want, false
	}
	if err != nil {
		t.Fatal(err)
	}
	return *e.OK, true
}

// catalogFault is a CatalogError; its message informs.
type catalogFault struct {
	Name    string        `json:"name"`
	Message string        `json:"message"`
	Issues  []authz.Issue `json:"issues"`
}

// Content is what every vector says of a catalog; cmp looks into an exported type only.
type Content struct {
	Namespace      string         `json:"namespace"`
	Namespaces     []string       `json:"namespaces"`
	Keys           []string       `json:"keys"`
	OwnedKeys      []string       `json:"ownedKeys"`
	ImportedKeys   []string       `json:"importedKeys"`
	ImportedLeaves []catalog.Leaf `json:"importedLeaves"`
	Groups         []string       `json:"groups"`
}

func contentOf(c *catalog.Catalog) Content {
	return Content{
		Namespace:      c.Namespace(),
		Namespaces:     c.Namespaces(),
		Keys:           c.Keys(),
		OwnedKeys:      c.OwnedKeys(),
		ImportedKeys:   c.ImportedKeys(),
		ImportedLeaves: importedLeaves(c),
		Groups:         realGroups(c),
	}
}

type buildFacts struct {
	Content
	OpenRegions    []catalog.Region `json:"openRegions"`
	Document       any              `json:"document"`
	ImportManifest any              `json:"importManifest"`
	Probes         []buildProbe     `json:"probes"`
}

type buildProbe struct {
	Pattern    string             `json:"pattern"`
	Known      bool               `json:"known"`
	Matching   []string           `json:"matching"`
	Opaque     []string           `json:"opaque"`
	Grantable  map[string]*string `json:"grantable"`
	HasKey     *bool              `json:"hasKey"`
	Enumerated *bool              `json:"enumerated"`
	Origin     catalog.KeyOrigin  `json:"origin"`
	AppliesAt  map[string]bool    `json:"appliesAt"`
}

func TestVectorsCatalogBuild(t *testing.T) {
	vectors.Replay(t, "catalog-build.jsonl", nil, func(t *testing.T, c buildCase) {
		built, err := build(t, c.Input)
		want, ok := c.Expect.facts(t, err)
		if !ok {
			return
		}
		got := buildFacts{
			Content:        contentOf(built),
			OpenRegions:    built.Regions(),
			Document:       readDocument(t, built),
			ImportManifest: value(t, manifest(t, built)),
		}
		hideInternal(got.Document, strings.Contains(c.Tag, "internal"))
		hideInternal(want.Document, strings.Contains(c.Tag, "internal"))
		for _, p := range want.Probes {
			got.Probes = append(got.Probes, probe(built, p))
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// value is what a JSON text says; an empty one says nothing.
func value(t *testing.T, text string) (v any) {
	t.Helper()
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// importedLeaves is as the vectors have it: without the origin, which is always
// the same.
func importedLeaves(c *catalog.Catalog) []catalog.Leaf {
	var leaves []catalog.Leaf
	for _, key := range c.ImportedKeys() {
		leaf, _ := c.Leaf(key)
		without := *leaf
		without.Origin = ""
		leaves = append(leaves, without)
	}
	return leaves
}

func realGroups(c *catalog.Catalog) []string {
	var paths []string
	for _, path := range c.GroupPaths() {
		if g, _ := c.Group(path); !g.Hollow {
			paths = append(paths, path)
		}
	}
	return paths
}

func manifest(t *testing.T, c *catalog.Catalog) string {
	t.Helper()
	b, err := c.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// wantIssues compares severity and path as a multiset; issues alike in all
// members of the vector count once there.
func wantIssues(t *testing.T, err error, want []authz.Issue) {
	t.Helper()
	var refused *authz.CatalogError
	if !errors.As(err, &refused) {
		t.Fatalf("error = %v, want a CatalogError", err)
	}
	reduce := func(issues []authz.Issue) []string {
		seen := map[authz.Issue]bool{}
		var reduced []string
		for _, i := range issues {
			i.Code, i.Line, i.Column = "", 0, 0
			if !seen[i] {
				seen[i] = true
				reduced = append(reduced, string(i.Severity)+" "+i.Path)
			}
		}
		slices.Sort(reduced)
		return reduced
	}
	if diff := cmp.Diff(reduce(want), reduce(refused.Issues)); diff != "" {
		t.Errorf("issues (-want +got)\n%s\n%v", diff, err)
	}
	for _, i := range refused.Issues {
		if i.Code == "" {
			t.Errorf("issue without a code: %+v", i)
		}
	}
}

func probe(c *catalog.Catalog, want buildProbe) buildProbe {
	got := buildProbe{
		Pattern:   want.Pattern,
		Known:     c.IsKnownPattern(want.Pattern),
		Matching:  c.KeysMatching(want.Pattern),
		Grantable: map[string]*string{},
		AppliesAt: map[string]bool{},
	}
	for _, r := range c.OpaqueRegions(want.Pattern) {
		got.Opaque = append(got.Opaque, r.Pattern)
	}
	for scope := range want.Grantable {
		got.Grantable[scope] = nil
		if issue := c.ValidateGrantableAt(want.Pattern, scope); issue != nil {
			got.Grantable[scope] = &issue.Message
			if refused := want.Grantable[scope]; refused != nil && !vectors.Wording() {
				got.Grantable[scope] = refused
			}
		}
	}
	for scope := range want.AppliesAt {
		got.AppliesAt[scope] = c.AppliesAt(want.Pattern, scope)
	}
	if want.HasKey != nil {
		has, enumerated := c.HasKey(want.Pattern), c.IsEnumeratedKey(want.Pattern)
		got.HasKey, got.Enumerated, got.Origin = &has, &enumerated, c.KeyOrigin(want.Pattern)
	}
	return got
}

func readDocument(t *testing.T, c *catalog.Catalog) any {
	t.Helper()
	raw, err := c.Document()
	if err != nil {
		t.Fatal(err)
	}
	var document any
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	return document
}

// hideInternal removes the built-in entries from a document or, when they are
// what a case is about, their display copy.
func hideInternal(document any, keep bool) {
	d := document.(map[string]any)
	for list, name := range map[string]string{"leaves": "key", "groups": "path"} {
		d[list] = slices.DeleteFunc(d[list].([]any), func(entry any) bool {
			e := entry.(map[string]any)
			if authz.NamespaceOf(e[name].(string)) != authz.InternalNamespace {
				return false
			}
			delete(e, "label")
			delete(e, "description")
			return !keep
		})
	}
	if !keep {
		d["namespaces"] = slices.DeleteFunc(d["namespaces"].([]any), func(ns any) bool { return ns == authz.InternalNamespace })
	}
}

type suggestionCase struct {
	Catalog json.RawMessage `json:"catalog"`
	Cases   []struct {
		Value string `json:"value"`
		authz.UnknownPermissionError
		Suggestion       *string `json:"suggestion"`
		ForeignNamespace bool    `json:"foreignNamespace"`
		Message          string  `json:"message"`
	} `json:"cases"`
}

func TestVectorsSuggestions(t *testing.T) {
	vectors.Replay(t, "suggestions.jsonl", nil, func(t *testing.T, c suggestionCase) {
		built := mustBuild(t, string(c.Catalog))
		for _, k := range c.Cases {
			want := k.UnknownPermissionError
			want.Permission, want.Message = k.Value, k.Message
			if k.Suggestion != nil {
				want.Suggestion = *k.Suggestion
			}
			got := built.UnknownPermission(k.Value, k.Expected)
			if ns := authz.NamespaceOf(k.Value); !vectors.Wording() || ns == "" || len(ns) > spell.EchoLimit {
				// These hints are others now (spec: catalog §9.1, §9.3): none
				// without a namespace, and a long namespace is cut.
				want.Message = got.Message
			}
			if diff := cmp.Diff(&want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s %q (-want +got)\n%s", k.Expected, k.Value, diff)
			}
			if got.IsForeignNamespace() != k.ForeignNamespace {
				t.Errorf("%q: IsForeignNamespace = %t", k.Value, !k.ForeignNamespace)
			}
		}
	})
}
