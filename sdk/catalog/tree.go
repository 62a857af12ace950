package catalog

import (
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// NodeKind says what a node of a permission tree stands for.
type NodeKind string

// The kinds of node.
const (
	NodeGroup  NodeKind = "group"
	NodeLeaf   NodeKind = "leaf"
	NodeRegion NodeKind = "region"
)

// Tree is a catalog as a permission picker shows it (spec: catalog §11). A
// selection in it is a list of patterns, as a role stores them; entries that name
// nothing in the tree are kept as they are. Nothing here modifies a selection
// that it is given.
type Tree struct {
	Nodes []*TreeNode // the namespaces, in ascending order
}

// TreeNode is one row of a picker. Leaf is set for a leaf and Region for a
// region; Label is never empty.
type TreeNode struct {
	Path        string
	Name        string // the last segment of the path
	Label       string
	Description string
	Kind        NodeKind
	Leaf        *Leaf
	Region      *Region
	Children    []*TreeNode // groups, then regions, then leaves, each in catalog order
}

// Tree lays the catalog out. A group that an open region covers is shown as the
// region alone; hollow groups are not shown.
func (c *Catalog) Tree() *Tree {
	b := treeBuilder{c: c, regions: map[string][]*TreeNode{}, covered: map[string]bool{}}
	for i := range c.regions {
		b.addRegion(&c.regions[i])
	}
	t := &Tree{}
	for _, path := range c.groupPaths {
		if !strings.Contains(path, ".") && c.isGroup(path) {
			t.Nodes = append(t.Nodes, b.group(path))
		}
	}
	return t
}

type treeBuilder struct {
	c       *Catalog
	regions map[string][]*TreeNode // by the group they hang under
	covered map[string]bool        // paths that a region stands for
}

// addRegion files a region under the group above its path; one that covers a
// whole namespace hangs under the namespace itself.
func (b *treeBuilder) addRegion(r *Region) {
	path, under := r.path(), parentPath(r.path())
	if under == "" {
		under = path
	} else {
		b.covered[path] = true
	}
	n := newNode(NodeRegion, path, r.Label, r.Description)
	n.Region = r
	b.regions[under] = append(b.regions[under], n)
}

func (b *treeBuilder) group(path string) *TreeNode {
	g := b.c.groups[path]
	n := newNode(NodeGroup, path, g.Label, g.Description)
	for _, child := range g.Groups {
		if !b.covered[child] {
			n.Children = append(n.Children, b.group(child))
		}
	}
	n.Children = append(n.Children, b.regions[path]...)
	for _, key := range g.Permissions {
		leaf := b.c.leaves[key]
		child := newNode(NodeLeaf, key, leaf.Label, leaf.Description)
		child.Leaf = leaf
		n.Children = append(n.Children, child)
	}
	return n
}

func newNode(kind NodeKind, path, label, description string) *TreeNode {
	n := &TreeNode{Path: path, Name: path[strings.LastIndexByte(path, '.')+1:], Label: label, Description: description, Kind: kind}
	if label == "" {
		n.Label = n.Name
	}
	return n
}

// Node finds a node by what it stands for. A region over a whole namespace has
// the path of the group that it hangs under.
func (t *Tree) Node(kind NodeKind, path string) (*TreeNode, bool) {
	trail := t.trail(kind, path)
	if trail == nil {
		return nil, false
	}
	return trail[len(trail)-1], true
}

// trail lists the nodes from the top level down to the one asked for; nil when
// there is none.
func (t *Tree) trail(kind NodeKind, path string) []*TreeNode {
	var trail []*TreeNode
	for level := t.Nodes; ; {
		i := slices.IndexFunc(level, func(n *TreeNode) bool { return n.Kind == kind && n.Path == path })
		if i >= 0 {
			return append(trail, level[i])
		}
		i = slices.IndexFunc(level, func(n *TreeNode) bool {
			return n.Kind == NodeGroup && (n.Path == path || authz.IsUnderGroup(n.Path, path))
		})
		if i < 0 {
			return nil
		}
		trail = append(trail, level[i])
		level = level[i].Children
	}
}

// Pattern is what a selection stores for the node: the key of a leaf, else the
// wildcard.
func (n *TreeNode) Pattern() string {
	if n.Kind == NodeLeaf {
		return n.Path
	}
	return authz.SubtreePattern(n.Path)
}
