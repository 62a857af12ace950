package catalog

import "github.com/authzhost/authz/sdk/catalog/internal/text"

// leafMap reads what has to be an object of leaves.
func (d decoder) leafMap(path string, v *text.Value) []Permission {
	if v.Kind != text.Object {
		d.Bad(path, "must be an object")
		return nil
	}
	return d.leaves(v)
}

// leaves reads a leaf map. Repeated keys are kept: the build reports them.
func (d decoder) leaves(v *text.Value) []Permission {
	leaves := make([]Permission, 0, len(v.Members))
	for _, m := range v.Members {
		noteLeaf(d.Places, m)
		leaves = append(leaves, decodeLeaf(m.Name, m.Value, d.Places))
	}
	return leaves
}

func decodeLeaf(key string, v *text.Value, places text.Places) Permission {
	p := Permission{Key: key}
	if v.IsTrue() {
		return p
	}
	f := text.Fields{Places: places, Under: leafPlace + key + ".", Here: v.At}
	if v.Kind != text.Object {
		f.BadValue("a permission", "must be true or an object", v)
		p.faults = f.Faults
		return p
	}
	for m := range f.Members(v, "", leafShape) {
		switch m.Name {
		case "label":
			p.Label = f.Text(m.Name, m.Value)
		case "description":
			p.Description = f.Text(m.Name, m.Value)
		case "kind":
			p.Kind = Kind(f.Text(m.Name, m.Value))
		case "destructive":
			destructive := f.Flag(m.Name, m.Value)
			p.Destructive = &destructive
		case "scopes":
			p.Scopes = f.Texts(m.Name, m.Value)
		case "impliedOnAncestors":
			p.ImpliedOnAncestors = f.Flag(m.Name, m.Value)
		case "requiresCondition":
			p.RequiresCondition = f.Flag(m.Name, m.Value)
		}
	}
	p.faults = f.Faults
	return p
}
