package catalog_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// declaration draws one that builds: blocks and leaf maps, metadata, hollow
// groups, scope types, imports of all kinds.
func declaration(t *rapid.T) catalog.Input {
	in := catalog.Input{Namespaces: []string{"docs", "crm"}, IncludeAuthzInternal: new(rapid.Bool().Draw(t, "internal"))}
	scopes := rapid.SampledFrom([][]string{nil, {}, {"docs.f"}, {"docs.g", "docs.f"}})
	label := rapid.SampledFrom([]string{"", "A", "<B & C>"})
	leaf := func(key string) catalog.Permission {
		return catalog.Permission{
			Key: key, Label: label.Draw(t, "label"), Description: label.Draw(t, "description"), Scopes: scopes.Draw(t, "scopes"),
			Kind:               rapid.SampledFrom([]catalog.Kind{"", catalog.KindRead, catalog.KindAction}).Draw(t, "kind"),
			ImpliedOnAncestors: rapid.Bool().Draw(t, "implied"), RequiresCondition: rapid.Bool().Draw(t, "condition"),
		}
	}
	for i, key := range vocabulary(t) {
		if i%5 == 0 {
			in.Permissions = append(in.Permissions, catalog.PermissionSet{})
		}
		set := &in.Permissions[len(in.Permissions)-1]
		set.Leaves = append(set.Leaves, leaf(key))
	}
	for _, path := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"docs", "docs.a", "docs.b.read", "docs.hollow", "crm", "meet", "meet.rooms"}), 0, 4, rapid.ID[string]).Draw(t, "groups") {
		in.Groups = append(in.Groups, catalog.GroupEntry{Path: path, Group: catalog.GroupInput{Label: label.Draw(t, "group label"), Scopes: scopes.Draw(t, "group scopes")}})
	}
	in.ScopeTypes = []catalog.ScopeType{{Type: "docs.f", Parent: "docs.f"}, {Type: "docs.g", Parent: "docs.f", MultiParent: true, Description: "G",
		Requestable: &catalog.Requestable{MaxDurationMs: 5, Patterns: []string{"docs.*"}, Stages: []authz.Stage{{Kind: authz.StageManagement}}}}}
	in.Navigation = []catalog.NavItem{{Label: "N", Permission: "docs.*", Children: []catalog.NavItem{{Label: "M", AnyOf: []string{"docs.a.read"}}}}}
	in.Conventions.AnyDepth = rapid.Bool().Draw(t, "any depth")

	entries := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"meet.*", "meet.rooms.*", "meet.host", "meet.rooms.read", "meet.rooms.delete"}), 0, 4, rapid.ID[string])
	meet := catalog.Import{Namespace: "meet", From: label.Draw(t, "from"), Scopes: scopes.Draw(t, "import scopes"), Strict: rapid.Bool().Draw(t, "strict")}
	for _, entry := range entries.Draw(t, "entries") {
		meet.Permissions = append(meet.Permissions, leaf(entry))
	}
	if rapid.Bool().Draw(t, "document") {
		meet.Document = json.RawMessage(meetDocument)
	}
	if rapid.Bool().Draw(t, "imports") {
		in.Imports = []catalog.Import{meet, {Namespace: "bill", Permissions: []catalog.Permission{{Key: "bill.pay.*"}}}}
	}
	return in
}

func TestWhatACatalogPublishesIsTheCatalog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, err := catalog.Build(declaration(t))
		if err != nil {
			t.Fatalf("Build: %v", err)
		}
		doc, _ := c.Document()
		imports, _ := c.Manifest()
		again, err := catalog.FromDocument(doc, catalog.DocumentOptions{Imports: imports, Documents: map[string]json.RawMessage{"meet": json.RawMessage(meetDocument)}})
		if err != nil {
			t.Fatalf("FromDocument: %v\n%s\n%s", err, doc, imports)
		}
		doc2, _ := again.Document()
		imports2, _ := again.Manifest()
		if diff := cmp.Diff(string(doc), string(doc2)); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(string(imports), string(imports2)); diff != "" {
			t.Fatal(diff)
		}
		sameAnswers(t, c, again)
	})
}

// sameAnswers asks both about every name near the vocabulary.
func sameAnswers(t *rapid.T, a, b *catalog.Catalog) {
	names := []string{"*", "", "meet.rooms.x", "meet.x", "bill.pay.now", "bill.pay.*", "bill.*", "meet.*", "authz_internal.access.view_as", "zoom.x"}
	names = append(names, a.Keys()...)
	for _, path := range a.GroupPaths() {
		names = append(names, path, path+".*", path+".new")
	}
	type answer struct {
		Has, Enumerated, Known bool
		Origin                 catalog.KeyOrigin
		Matching, Opaque       []string
		Grantable              []bool
		Leaf                   string
	}
	ask := func(c *catalog.Catalog, name string) answer {
		got := answer{Has: c.HasKey(name), Enumerated: c.IsEnumeratedKey(name), Known: c.IsKnownPattern(name), Origin: c.KeyOrigin(name), Matching: c.KeysMatching(name)}
		for _, r := range c.OpaqueRegions(name) {
			got.Opaque = append(got.Opaque, fmt.Sprint(r.Pattern, r.Scopes, r.Strict, r.From))
		}
		for _, scope := range []string{"*", "docs.f:1", "docs.g:1", "docs.none:1"} {
			got.Grantable = append(got.Grantable, c.ValidateGrantableAt(name, scope) == nil, c.AppliesAt(name, scope))
		}
		if leaf, ok := c.Leaf(name); ok {
			got.Leaf = fmt.Sprint(leaf.Scopes, leaf.RequiresCondition, leaf.Name, leaf.GroupPath)
		}
		return got
	}
	for _, name := range names {
		if diff := cmp.Diff(ask(a, name), ask(b, name), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%q: %s", name, diff)
		}
	}
	if diff := cmp.Diff(a.Namespaces(), b.Namespaces()); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff(a.GroupPaths(), b.GroupPaths()); diff != "" {
		t.Fatal(diff)
	}
}

// TestKeysAndPatternsEqualTheirDefinition asks regions and imports by way of
// matching every declared entry.
func TestKeysAndPatternsEqualTheirDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := declaration(t)
		c, err := catalog.Build(in)
		if err != nil {
			t.Fatalf("Build: %v", err)
		}
		entries, strict := map[string][]string{}, map[string]bool{}
		for _, im := range in.Imports {
			strict[im.Namespace] = im.Strict
			for _, p := range im.Permissions {
				entries[im.Namespace] = append(entries[im.Namespace], p.Key)
			}
		}
		name := rapid.StringMatching(`(meet|bill|docs)(\.(rooms|pay|host|read|a)){0,3}(\.\*)?`).Draw(t, "name")
		ns := authz.NamespaceOf(name)
		enumerated := ns == "meet" && len(in.Imports) > 0 && in.Imports[0].Document != nil
		covered, admitted, longest := false, false, ""
		for _, e := range entries[ns] {
			covered = covered || authz.Contains(e, name)
			if authz.IsWildcard(e) && authz.Match(e, name) && !authz.IsWildcard(name) && !enumerated && !strict[ns] {
				admitted = true
				if len(e) > len(longest) {
					longest = e
				}
			}
		}
		if want := c.IsEnumeratedKey(name) || admitted; c.HasKey(name) != want {
			t.Fatalf("HasKey(%q) = %t", name, !want)
		}
		if r, ok := c.RegionOf(name); ok != admitted || ok && r.Pattern != longest {
			t.Fatalf("RegionOf(%q) = %v, want %q", name, r, longest)
		}
		if _, isImported := entries[ns]; isImported {
			want := covered && (!enumerated || len(c.KeysMatching(name)) > 0)
			if c.IsKnownPattern(name) != want {
				t.Fatalf("IsKnownPattern(%q) = %t", name, !want)
			}
		}
	})
}
