package catalog

import (
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// Checked reports whether the selection takes in all of the node: it matches
// every leaf beneath and reaches into every region beneath. A node with neither
// is never checked.
func (n *TreeNode) Checked(selection []string) bool {
	covered, units := n.units(selection)
	return units > 0 && covered == units
}

// Indeterminate reports whether the selection takes in some of a group and not
// all of it.
func (n *TreeNode) Indeterminate(selection []string) bool {
	covered, units := n.units(selection)
	return n.Kind == NodeGroup && 0 < covered && covered < units
}

// units counts the leaves and regions beneath, and how many of them the selection
// covers.
func (n *TreeNode) units(selection []string) (covered, units int) {
	if n.Kind == NodeGroup {
		for _, child := range n.Children {
			c, u := child.units(selection)
			covered, units = covered+c, units+u
		}
		return covered, units
	}
	for _, entry := range selection {
		if n.Kind == NodeLeaf && authz.Match(entry, n.Path) || n.Kind == NodeRegion && authz.Intersects(entry, n.Region.Pattern) {
			return 1, 1
		}
	}
	return 0, 1
}

// Toggle returns the selection after a click on the node, never nil. A node that
// is not checked becomes one entry in place of all inside it. A checked one is
// taken out: an entry that covers more than the node is replaced by what it
// covers beside the node.
func (t *Tree) Toggle(selection []string, n *TreeNode) []string {
	toggled := make([]string, 0, len(selection)+1)
	if !n.Checked(selection) {
		for _, entry := range selection {
			if !n.contains(entry) {
				toggled = append(toggled, entry)
			}
		}
		return append(toggled, n.Pattern())
	}
	for _, entry := range selection {
		switch {
		case n.contains(entry):
		case n.coveredBy(entry):
			toggled = append(toggled, t.explode(entry, n)...)
		default:
			toggled = append(toggled, entry)
		}
	}
	return distinct(toggled)
}

// contains reports whether the entry lies within the node.
func (n *TreeNode) contains(entry string) bool {
	if n.Kind == NodeLeaf {
		return entry == n.Path
	}
	path := strings.TrimSuffix(entry, ".*")
	return path == n.Path || authz.IsUnderGroup(n.Path, path)
}

// coveredBy reports whether the entry takes in all of the node.
func (n *TreeNode) coveredBy(entry string) bool {
	if n.Kind == NodeLeaf {
		return authz.Match(entry, n.Path)
	}
	return authz.Contains(entry, n.Pattern())
}

// explode names what the cover takes in beside the node: at every level from the
// cover's own down to the node, all that is not on the way.
func (t *Tree) explode(cover string, n *TreeNode) []string {
	var beside []string
	level, within := t.Nodes, cover == authz.Global
	for _, step := range t.trail(n.Kind, n.Path) {
		if within {
			for _, sibling := range level {
				if sibling != step {
					beside = append(beside, sibling.Pattern())
				}
			}
		}
		within = within || step.Kind == NodeGroup && step.Pattern() == cover
		level = step.Children
	}
	return beside
}
