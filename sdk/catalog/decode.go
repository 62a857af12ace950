package catalog

import (
	"fmt"
	"iter"
	"strconv"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// decoder turns the tree of a declaration into an Input. Problems that belong to
// a later step of the build travel with the entry they concern.
type decoder struct{ in *Input }

func decodeInput(root *node) Input {
	in := Input{source: newSource()}
	d := decoder{in: &in}
	for m := range d.members(root, "", inputShape) {
		d.field(m)
	}
	if root.member("permissions") == nil {
		d.bad("permissions", "is required")
	}
	return in
}

// field decodes one member of the declaration.
func (d decoder) field(m member) {
	switch m.name {
	case "namespaces":
		d.in.Namespaces = d.texts(m.value, m.name)
	case "permissions":
		d.permissions(m.value)
	case "imports":
		d.imports(m.value)
	case "groups":
		d.groups(m.value)
	case "scopeTypes":
		d.scopeTypes(m.value)
	case "navigation":
		d.in.Navigation = d.navigation(m.value, m.name)
	case "conventions":
		d.conventions(m.value)
	case "includeAuthzInternal":
		d.includeAuthzInternal(m.value)
	case "constraints":
		d.constraints(m.value)
	}
}

func (d decoder) add(code, path, message string) { d.addAt(place{}, code, path, message) }

func (d decoder) addAt(at place, code, path, message string) {
	d.in.faults = append(d.in.faults, authz.Issue{
		Severity: authz.SeverityError, Path: path, Message: message, Code: code, Line: at.line, Column: at.column,
	})
}

func (d decoder) bad(path, message string) { d.add(CodeBadField, path, message) }

// members yields the members of an object that are not null, each name once;
// the repeats are reported, and in a source those that the shape does not have.
func (d decoder) members(object *node, under string, s shape) iter.Seq[member] {
	return func(yield func(member) bool) {
		for m, repeated := range object.named() {
			d.in.source.note(under+m.name, m.at)
			switch {
			case d.in.source != nil && !s.has(m.name):
				d.addAt(m.at, CodeUnknownField, under+m.name, s.unknown(m.name))
				continue
			case repeated:
				d.addAt(m.at, CodeRepeatedField, under+m.name, "is given more than once")
				continue
			}
			if m.value.kind != nullNode && !yield(m) {
				return
			}
		}
	}
}

func (d decoder) permissions(n *node) {
	switch n.kind {
	case objectNode:
		d.permissionSet(n, "permissions")
	case arrayNode:
		for i, item := range n.items {
			path := "permissions" + index(i)
			if item.kind != objectNode {
				d.bad(path, "must be an object of leaves or a block")
				continue
			}
			d.permissionSet(item, path)
		}
	default:
		d.bad("permissions", "must be an object or an array")
	}
}

// permissionSet reads an object whose "kind" is the string "block" as a block;
// in a leaf map a member of that name would be a leaf.
func (d decoder) permissionSet(n *node, path string) {
	if kind := n.member("kind"); kind == nil || kind.kind != stringNode || kind.text != "block" {
		d.in.Permissions = append(d.in.Permissions, PermissionSet{Leaves: decodeLeaves(n, d.in.source)})
		return
	}
	set := PermissionSet{Block: &Block{}}
	for m := range d.members(n, path+".", blockShape) {
		at := path + "." + m.name
		switch m.name {
		case "path":
			set.Block.Path = d.text(m.value, at)
		case "group":
			set.Block.Group = d.group(m.value, at)
		case "leaves":
			if m.value.kind != objectNode {
				d.bad(at, "must be an object")
				continue
			}
			set.Leaves = decodeLeaves(m.value, d.in.source)
		}
	}
	d.in.Permissions = append(d.in.Permissions, set)
}

func (d decoder) groups(n *node) {
	if n.kind != objectNode {
		d.bad("groups", "must be an object")
		return
	}
	for m := range d.members(n, "groups.", anyNames) {
		d.in.Groups = append(d.in.Groups, GroupEntry{Path: m.name, Group: d.group(m.value, "groups."+m.name)})
	}
}

func (d decoder) group(n *node, path string) GroupInput {
	var g GroupInput
	if n.kind != objectNode {
		d.bad(path, "must be an object")
		return g
	}
	for m := range d.members(n, path+".", groupShape) {
		at := path + "." + m.name
		switch m.name {
		case "label":
			g.Label = d.text(m.value, at)
		case "description":
			g.Description = d.text(m.value, at)
		case "scopes":
			g.Scopes = d.texts(m.value, at)
		}
	}
	return g
}

func (d decoder) navigation(n *node, path string) []NavItem {
	if n.kind != arrayNode {
		d.bad(path, "must be an array")
		return nil
	}
	items := make([]NavItem, 0, len(n.items))
	for i, item := range n.items {
		at := path + index(i)
		if item.kind != objectNode {
			d.bad(at, "must be an object")
			continue
		}
		items = append(items, d.navItem(item, at))
	}
	return items
}

func (d decoder) navItem(n *node, path string) NavItem {
	var item NavItem
	d.in.source.note(navigationPlace+textOf(n, "label"), n.at)
	for m := range d.members(n, path+".", navigationShape) {
		at := path + "." + m.name
		switch m.name {
		case "label":
			item.Label = d.text(m.value, at)
		case "href":
			item.Href = d.text(m.value, at)
		case "permission":
			if m.value.kind == arrayNode {
				item.AnyOf = d.texts(m.value, at)
			} else {
				item.Permission = d.text(m.value, at)
			}
		case "children":
			item.Children = d.navigation(m.value, at)
		}
	}
	return item
}

func (d decoder) conventions(n *node) {
	if n.kind != objectNode {
		d.bad("conventions", "must be an object")
		return
	}
	for m := range d.members(n, "conventions.", conventionsShape) {
		if m.name != "depth" { // of a document, which may hold more
			continue
		}
		if m.value.kind == stringNode && m.value.text == "any" {
			d.in.Conventions.AnyDepth = true
			continue
		}
		depth, whole := m.value.integer()
		if !whole || depth < minDepth {
			d.in.depthFault = m.value.json()
			continue
		}
		d.in.Conventions.Depth = depth
	}
}

func (d decoder) includeAuthzInternal(n *node) {
	include := d.flag(n, "includeAuthzInternal")
	d.in.IncludeAuthzInternal = &include
}

func (d decoder) constraints(n *node) {
	if n.kind != objectNode {
		d.bad("constraints", "must be an object")
		return
	}
	for m := range d.members(n, "constraints.", constraintsShape) {
		if m.name != "sod" { // of a document, which may hold more
			continue
		}
		if m.value.kind != arrayNode {
			d.bad("constraints.sod", "must be an array")
			continue
		}
		for i, item := range m.value.items {
			d.in.Constraints.SoD = append(d.in.Constraints.SoD, d.constraint(item, "constraints.sod"+index(i)))
		}
	}
}

func (d decoder) constraint(n *node, path string) SoDConstraint {
	var c SoDConstraint
	if n.kind != objectNode {
		d.bad(path, "must be an object")
	}
	for m := range d.members(n, path+".", sodShape) {
		at := path + "." + m.name
		switch m.name {
		case "id":
			c.ID = d.text(m.value, at)
		case "description":
			c.Description = d.text(m.value, at)
		case "sets":
			if m.value.kind != arrayNode {
				d.bad(at, "must be an array of arrays of patterns")
				continue
			}
			for i, set := range m.value.items {
				c.Sets = append(c.Sets, d.texts(set, at+index(i)))
			}
		}
	}
	return c
}

// textOf is a string member, "" where there is none.
func textOf(n *node, name string) string {
	if m := n.member(name); m != nil {
		return m.string()
	}
	return ""
}

// text reads a string.
func (d decoder) text(n *node, path string) string {
	if n.kind != stringNode {
		d.bad(path, "must be a string")
	}
	return n.string()
}

// texts reads an array of strings.
func (d decoder) texts(n *node, path string) []string {
	list, ok := n.strings()
	if !ok {
		d.bad(path, "must be an array of strings")
	}
	return list
}

func (d decoder) flag(n *node, path string) bool {
	if n.kind != boolNode {
		d.bad(path, "must be a boolean")
	}
	return n.kind == boolNode && n.text == "true"
}

func index(i int) string { return "[" + strconv.Itoa(i) + "]" }

// got describes a value that is not what was wanted.
func got(n *node) string { return fmt.Sprintf("— got %s", spell.Echo(n.json())) }
