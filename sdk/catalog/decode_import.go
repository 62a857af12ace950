package catalog

func (d decoder) imports(n *node) {
	if n.kind != objectNode {
		d.bad("imports", "must be an object")
		return
	}
	for m := range d.members(n, "imports.", anyNames) {
		d.in.Imports = append(d.in.Imports, d.importOf(m.name, m.value))
	}
}

func (d decoder) importOf(namespace string, n *node) Import {
	im := Import{Namespace: namespace}
	path := "imports." + namespace
	if n.kind != objectNode {
		d.bad(path, "must be an object")
		return im
	}
	for m := range d.members(n, path+".", importShape) {
		at := path + "." + m.name
		switch m.name {
		case "from":
			im.From = d.text(m.value, at)
		case "document":
			im.Document = m.value.raw()
		case "scopes":
			im.Scopes = d.texts(m.value, at)
		case "permissions":
			if m.value.kind != objectNode {
				d.bad(at, "must be an object")
				continue
			}
			im.Permissions = decodeLeaves(m.value, d.in.source)
		case "strict":
			im.Strict = d.flag(m.value, at)
		}
	}
	if n.member("permissions") == nil {
		d.bad(path+".permissions", "is required")
	}
	return im
}
