package catalog

// decodeLeaves reads a leaf map. Repeated keys are kept: the build reports them.
func decodeLeaves(n *node, from *source) []Permission {
	leaves := make([]Permission, 0, len(n.members))
	for _, m := range n.members {
		from.noteLeaf(m)
		leaves = append(leaves, decodeLeaf(m.name, m.value, from))
	}
	return leaves
}

func decodeLeaf(key string, n *node, from *source) Permission {
	p := Permission{Key: key}
	if n.kind == boolNode && n.text == "true" {
		return p
	}
	f := fields{source: from, under: leafPlace + key, here: n.at}
	if n.kind != objectNode {
		f.bad("a permission", "must be true or an object "+got(n))
		p.faults = f.faults
		return p
	}
	for m := range f.members(n, "", leafShape) {
		switch m.name {
		case "label":
			p.Label = f.text(m.name, m.value)
		case "description":
			p.Description = f.text(m.name, m.value)
		case "kind":
			p.Kind = Kind(f.text(m.name, m.value))
		case "destructive":
			destructive := f.flag(m.name, m.value)
			p.Destructive = &destructive
		case "scopes":
			p.Scopes = f.texts(m.name, m.value)
		case "impliedOnAncestors":
			p.ImpliedOnAncestors = f.flag(m.name, m.value)
		case "requiresCondition":
			p.RequiresCondition = f.flag(m.name, m.value)
		}
	}
	p.faults = f.faults
	return p
}
