package catalog

import "github.com/authzhost/authz/sdk/catalog/internal/text"

// decoder turns the tree of a declaration into an Input. Problems that belong to
// a later step of the build travel with the entry they concern.
type decoder struct {
	*text.Fields
	in *Input
}

func decodeInput(root *text.Value) Input {
	in := Input{places: text.Places{}}
	d := decoder{Fields: &text.Fields{Places: in.places}, in: &in}
	for m := range d.Members(root, "", inputShape) {
		d.field(m)
	}
	if root.Member("permissions") == nil {
		d.Bad("permissions", "is required")
	}
	in.faults = d.Faults
	return in
}

// field decodes one member of the declaration.
func (d decoder) field(m text.Member) {
	switch m.Name {
	case "namespaces":
		d.in.Namespaces = d.Texts(m.Name, m.Value)
	case "permissions":
		d.permissions(m.Value)
	case "imports":
		for im := range d.Object(m.Name, m.Value, anyNames) {
			d.in.Imports = append(d.in.Imports, d.importOf(im.Name, im.Value))
		}
	case "groups":
		for g := range d.Object(m.Name, m.Value, anyNames) {
			d.in.Groups = append(d.in.Groups, GroupEntry{Path: g.Name, Group: d.group(g.Value, "groups."+g.Name)})
		}
	case "scopeTypes":
		for t := range d.Object(m.Name, m.Value, anyNames) {
			d.in.ScopeTypes = append(d.in.ScopeTypes, d.scopeType(t.Name, t.Value))
		}
	case "navigation":
		d.in.Navigation = d.navigation(m.Value, m.Name)
	case "conventions":
		d.conventions(m.Value)
	case "includeAuthzInternal":
		include := d.Flag(m.Name, m.Value)
		d.in.IncludeAuthzInternal = &include
	case "constraints":
		d.constraints(m.Value)
	}
}

func (d decoder) permissions(v *text.Value) {
	switch v.Kind {
	case text.Object:
		d.permissionSet(v, "permissions")
	case text.Array:
		for i, item := range v.Items {
			path := "permissions" + text.Index(i)
			if item.Kind != text.Object {
				d.Bad(path, "must be an object of leaves or a block")
				continue
			}
			d.permissionSet(item, path)
		}
	default:
		d.Bad("permissions", "must be an object or an array")
	}
}

// permissionSet reads an object whose "kind" is the string "block" as a block;
// in a leaf map a member of that name would be a leaf.
func (d decoder) permissionSet(v *text.Value, path string) {
	if kind, _ := v.StringMember("kind"); kind != "block" {
		d.in.Permissions = append(d.in.Permissions, PermissionSet{Leaves: d.leaves(v)})
		return
	}
	set := PermissionSet{Block: &Block{}}
	for m := range d.Members(v, path+".", blockShape) {
		at := path + "." + m.Name
		switch m.Name {
		case "path":
			set.Block.Path = d.Text(at, m.Value)
		case "group":
			set.Block.Group = d.group(m.Value, at)
		case "leaves":
			set.Leaves = d.leafMap(at, m.Value)
		}
	}
	d.in.Permissions = append(d.in.Permissions, set)
}

func (d decoder) importOf(namespace string, v *text.Value) Import {
	im := Import{Namespace: namespace}
	path := "imports." + namespace
	if v.Kind != text.Object {
		d.Bad(path, "must be an object")
		return im
	}
	for m := range d.Members(v, path+".", importShape) {
		at := path + "." + m.Name
		switch m.Name {
		case "from":
			im.From = d.Text(at, m.Value)
		case "document":
			im.Document = m.Value.Raw()
		case "scopes":
			im.Scopes = d.Texts(at, m.Value)
		case "permissions":
			im.Permissions = d.leafMap(at, m.Value)
		case "strict":
			im.Strict = d.Flag(at, m.Value)
		}
	}
	if v.Member("permissions") == nil {
		d.Bad(path+".permissions", "is required")
	}
	return im
}

func (d decoder) group(v *text.Value, path string) GroupInput {
	var g GroupInput
	for m := range d.Object(path, v, groupShape) {
		at := path + "." + m.Name
		switch m.Name {
		case "label":
			g.Label = d.Text(at, m.Value)
		case "description":
			g.Description = d.Text(at, m.Value)
		case "scopes":
			g.Scopes = d.Texts(at, m.Value)
		}
	}
	return g
}

func (d decoder) navigation(v *text.Value, path string) []NavItem {
	items := make([]NavItem, 0, len(v.Items))
	for i, item := range d.List(path, v) {
		at := path + text.Index(i)
		if item.Kind != text.Object {
			d.Bad(at, "must be an object")
			continue
		}
		items = append(items, d.navItem(item, at))
	}
	return items
}

func (d decoder) navItem(v *text.Value, path string) NavItem {
	var item NavItem
	label, _ := v.StringMember("label")
	d.Places.Note(navigationPlace+label, v.At)
	for m := range d.Members(v, path+".", navigationShape) {
		at := path + "." + m.Name
		switch m.Name {
		case "label":
			item.Label = d.Text(at, m.Value)
		case "href":
			item.Href = d.Text(at, m.Value)
		case "permission":
			if m.Value.Kind == text.Array {
				item.AnyOf = d.Texts(at, m.Value)
			} else {
				item.Permission = d.Text(at, m.Value)
			}
		case "children":
			item.Children = d.navigation(m.Value, at)
		}
	}
	return item
}

func (d decoder) conventions(v *text.Value) {
	for m := range d.Object("conventions", v, conventionsShape) {
		if m.Name != "depth" { // of a document, which may hold more
			continue
		}
		if m.Value.AsString() == "any" {
			d.in.Conventions.AnyDepth = true
			continue
		}
		depth, whole := m.Value.AsInteger()
		if !whole || depth < minDepth {
			d.in.depthFault = m.Value.Echo()
			continue
		}
		d.in.Conventions.Depth = depth
	}
}

func (d decoder) constraints(v *text.Value) {
	for m := range d.Object("constraints", v, constraintsShape) {
		if m.Name != "sod" { // of a document, which may hold more
			continue
		}
		for i, item := range d.List("constraints.sod", m.Value) {
			d.in.Constraints.SoD = append(d.in.Constraints.SoD, d.constraint(item, "constraints.sod"+text.Index(i)))
		}
	}
}

func (d decoder) constraint(v *text.Value, path string) SoDConstraint {
	var c SoDConstraint
	for m := range d.Object(path, v, sodShape) {
		at := path + "." + m.Name
		switch m.Name {
		case "id":
			c.ID = d.Text(at, m.Value)
		case "description":
			c.Description = d.Text(at, m.Value)
		case "sets":
			if m.Value.Kind != text.Array {
				d.Bad(at, "must be an array of arrays of patterns")
				continue
			}
			for i, set := range m.Value.Items {
				c.Sets = append(c.Sets, d.Texts(at+text.Index(i), set))
			}
		}
	}
	return c
}
