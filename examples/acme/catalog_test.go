package acme

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/authzhost/authz/sdk/authz"
)

var update = flag.Bool("update", false, "write catalog.yaml anew from the Go tables")

func TestCatalogFileIsWhatTheTablesSay(t *testing.T) {
	rendered := renderCatalog()
	if *update {
		if err := os.WriteFile("catalog.yaml", rendered, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(rendered), string(Catalog())); diff != "" {
		t.Errorf("catalog.yaml is stale, run: go test ./examples/acme -run CatalogFileIs -update\n%s", diff)
	}
}

// The file is read back by an independent reader, so that a slip in rendering
// cannot hide behind the table it came from.
func TestCatalogFileDeclaresTheLeavesOfTheTables(t *testing.T) {
	type leafInput struct {
		Scopes             *[]string `yaml:"scopes"`
		ImpliedOnAncestors bool      `yaml:"impliedOnAncestors"`
		RequiresCondition  bool      `yaml:"requiresCondition"`
	}
	var file struct {
		Namespaces  []string
		Permissions []map[string]yaml.Node
	}
	if err := yaml.Unmarshal(Catalog(), &file); err != nil {
		t.Fatal(err)
	}
	got := map[string]permission{}
	add := func(block string, inherited []string, key string, node yaml.Node) {
		var l leafInput
		if err := node.Decode(&l); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		p := permission{key: key, block: block, scopes: inherited}
		if l.Scopes != nil {
			p.scopes = *l.Scopes
		}
		if l.ImpliedOnAncestors {
			p.marks |= implied
		}
		if l.RequiresCondition {
			p.marks |= conditional
		}
		got[key] = p
	}
	for _, entry := range file.Permissions {
		if _, isBlock := entry["kind"]; !isBlock {
			for key, node := range entry {
				add(key[:strings.LastIndexByte(key, '.')], nil, key, node)
			}
			continue
		}
		var path string
		var group struct{ Scopes []string }
		var leaves map[string]yaml.Node
		for member, into := range map[string]any{"path": &path, "group": &group, "leaves": &leaves} {
			node := entry[member]
			if err := node.Decode(into); err != nil {
				t.Fatal(err)
			}
		}
		for key, node := range leaves {
			add(path, group.Scopes, key, node)
		}
	}
	for _, want := range permissions() {
		p, ok := got[want.key]
		if !ok {
			t.Errorf("%s is missing from the file", want.key)
			continue
		}
		if !slices.Equal(p.scopes, want.scopes) || p.marks != want.marks&^destructive || p.block != want.block {
			t.Errorf("%s: file says %+v, table %+v", want.key, p, want)
		}
		delete(got, want.key)
	}
	for key := range got {
		t.Errorf("%s stands in the file alone", key)
	}
}

func TestPermissionsAreAboutAHundredAndTwentyKeysOfThreeSegments(t *testing.T) {
	all := permissions()
	if len(all) < 110 || len(all) > 130 {
		t.Errorf("%d permissions, want about 120", len(all))
	}
	seen := map[string]bool{}
	byMark := map[marks]int{}
	for _, p := range all {
		if !authz.IsKey(p.key) || strings.Count(p.key, ".") != 2 || seen[p.key] {
			t.Errorf("%s: malformed, not of three segments, or declared twice", p.key)
		}
		seen[p.key] = true
		for _, m := range []marks{implied, conditional, destructive} {
			if p.marks&m != 0 {
				byMark[m]++
			}
		}
	}
	for mark, least := range map[marks]int{implied: 4, conditional: 2, destructive: 4} {
		if byMark[mark] < least {
			t.Errorf("mark %d on %d permissions, want at least %d", mark, byMark[mark], least)
		}
	}
}
