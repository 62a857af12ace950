package catalog_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

type treeCase struct {
	Catalog   json.RawMessage `json:"catalog"`
	Tree      []treeNode      `json:"tree"`
	Sequences []struct {
		Start []string `json:"start"`
		treeState
		Steps []struct {
			Toggle    string   `json:"toggle"`
			Selection []string `json:"selection"`
			treeState
		} `json:"steps"`
	} `json:"sequences"`
}

type treeNode struct {
	Kind        catalog.NodeKind `json:"kind"`
	Path        string           `json:"path"`
	Name        string           `json:"name"`
	Label       string           `json:"label"`
	Pattern     string           `json:"pattern"`
	Description string           `json:"description"`
	Region      string           `json:"region"`
	Imported    bool             `json:"imported"`
	Children    []treeNode       `json:"children"`
}

type treeState struct {
	Checked       []string `json:"checked"`
	Indeterminate []string `json:"indeterminate"`
}

func TestVectorsTree(t *testing.T) {
	vectors.Replay(t, "tree.jsonl", nil, func(t *testing.T, c treeCase) {
		tree := mustBuild(t, string(c.Catalog)).Tree()
		if diff := cmp.Diff(c.Tree, shown(tree.Nodes), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("tree (-want +got)\n%s", diff)
		}
		for _, sequence := range c.Sequences {
			selection := sequence.Start
			if diff := cmp.Diff(sequence.treeState, state(tree, selection), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%q (-want +got)\n%s", selection, diff)
			}
			for _, step := range sequence.Steps {
				kind, path, _ := strings.Cut(step.Toggle, ":")
				node, ok := tree.Node(catalog.NodeKind(kind), path)
				if !ok {
					t.Fatalf("no node %s", step.Toggle)
				}
				before := slices.Clone(selection)
				toggled := tree.Toggle(selection, node)
				if !slices.Equal(before, selection) {
					t.Fatalf("the selection was modified: %q", selection)
				}
				if diff := cmp.Diff(step.Selection, toggled, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("%s of %q (-want +got)\n%s", step.Toggle, selection, diff)
				}
				selection = toggled
				if diff := cmp.Diff(step.treeState, state(tree, selection), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%q (-want +got)\n%s", selection, diff)
				}
			}
		}
	})
}

// shown is the tree as the vectors write it, without the display copy of the
// built-in entries.
func shown(nodes []*catalog.TreeNode) []treeNode {
	var list []treeNode
	for _, n := range nodes {
		s := treeNode{Kind: n.Kind, Path: n.Path, Name: n.Name, Label: n.Label, Pattern: n.Pattern(), Description: n.Description, Children: shown(n.Children)}
		if n.Region != nil {
			s.Region = n.Region.Pattern
		}
		s.Imported = n.Leaf != nil && n.Leaf.Origin == authz.NamespaceImported
		if authz.NamespaceOf(n.Path) == authz.InternalNamespace {
			s.Description = ""
			if n.Kind == catalog.NodeGroup {
				s.Label = ""
			}
		}
		list = append(list, s)
	}
	return list
}

func state(tree *catalog.Tree, selection []string) treeState {
	var s treeState
	for _, n := range everyNode(tree.Nodes) {
		name := string(n.Kind) + ":" + n.Path
		if n.Checked(selection) {
			s.Checked = append(s.Checked, name)
		}
		if n.Indeterminate(selection) {
			s.Indeterminate = append(s.Indeterminate, name)
		}
	}
	return s
}

func everyNode(nodes []*catalog.TreeNode) []*catalog.TreeNode {
	var all []*catalog.TreeNode
	for _, n := range nodes {
		all = append(append(all, n), everyNode(n.Children)...)
	}
	return all
}

// TestTogglingChangesTheNodeAndNothingBesideIt holds wherever no region shares
// the path of a group or lies within another: there a pattern means exactly one
// node's content.
func TestTogglingChangesTheNodeAndNothingBesideIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := declaration(t)
		in.Imports = []catalog.Import{{Namespace: "bill", Permissions: []catalog.Permission{{Key: "bill.pay.*"}, {Key: "bill.host"}}}}
		c, err := catalog.Build(in)
		if err != nil {
			t.Fatal(err)
		}
		tree := c.Tree()
		nodes := everyNode(tree.Nodes)
		if len(nodes) == 0 {
			return
		}
		node := rapid.SampledFrom(nodes).Draw(t, "node")
		selection := []string{"old.thing", "old.*"}
		if rapid.Bool().Draw(t, "everything") {
			selection = append(selection, "*")
		}
		for _, n := range rapid.SliceOfN(rapid.SampledFrom(nodes), 0, 5).Draw(t, "selected") {
			selection = append(selection, n.Pattern())
		}
		checked := node.Checked(selection)
		toggled := tree.Toggle(selection, node)
		if node.Checked(toggled) == checked {
			t.Fatalf("%s of %q: %q", node.Path, selection, toggled)
		}
		for _, n := range nodes {
			inside := n.Path == node.Path || authz.IsUnderGroup(node.Path, n.Path)
			if n.Kind != catalog.NodeGroup && !inside && n.Checked(selection) != n.Checked(toggled) {
				t.Fatalf("%s of %q changed %s: %q", node.Path, selection, n.Path, toggled)
			}
			if inside && n.Kind != catalog.NodeGroup && n.Checked(toggled) == checked {
				t.Fatalf("%s of %q left %s: %q", node.Path, selection, n.Path, toggled)
			}
		}
		if !checked || !slices.Contains(selection, "*") {
			if !slices.Contains(toggled, "old.thing") || !slices.Contains(toggled, "old.*") {
				t.Fatalf("entries that name nothing were dropped: %q", toggled)
			}
		}
	})
}

func TestNodesAreFoundByKindAndPath(t *testing.T) {
	tree := mustBuild(t, `{"namespaces":["docs"],"permissions":{"docs.a.read":true},"includeAuthzInternal":false,"groups":{"docs.hollow":{}},
	 "imports":{"meet":{"permissions":{"meet.*":{"label":"Meet"},"meet.a.b":true,"meet.rooms.*":true,"meet.rooms.vip.*":true}}}}`).Tree()
	cases := map[string]bool{"group:meet": true, "region:meet": true, "group:meet.a": true, "leaf:meet.a.b": true, "region:meet.rooms": true,
		"group:meet.rooms": false, "region:meet.rooms.vip": false, "leaf:docs.a": false, "group:docs.hollow": false, "leaf:docs.a.read": true, "group:zoom": false}
	for name, want := range cases {
		kind, path, _ := strings.Cut(name, ":")
		node, ok := tree.Node(catalog.NodeKind(kind), path)
		if ok != want || ok && (node.Path != path || string(node.Kind) != kind) {
			t.Errorf("Node(%s) = %+v, %t", name, node, ok)
		}
	}
	region, _ := tree.Node(catalog.NodeRegion, "meet")
	if region.Label != "Meet" || region.Name != "meet" || region.Pattern() != "meet.*" {
		t.Errorf("region = %+v", region)
	}
	if toggled := tree.Toggle([]string{"*"}, &catalog.TreeNode{Kind: catalog.NodeLeaf, Path: "gone.x"}); len(toggled) != 0 {
		t.Errorf("a cover explodes towards nothing: %q", toggled)
	}
}
