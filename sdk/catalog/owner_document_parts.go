package catalog

import (
	"strconv"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog/internal/text"
)

// part reads a part of a document that a declaration has too; what is wrong with
// it is reported under one path.
func (r *documentReader) part(path string, read func(decoder)) {
	d := decoder{Fields: &text.Fields{}, in: &Input{}}
	read(d)
	for _, f := range d.Faults {
		r.addAt(fieldCode(f), path, f.Brief())
	}
}

func (r *documentReader) readScopeTypes() {
	declared := map[string]bool{}
	for _, n := range r.items("scopeTypes") {
		name, ok := n.StringMember("type")
		switch {
		case !ok:
			r.add(CodeMissingKey, "every scope type needs a string type")
			continue
		case !authz.IsKey(name) || authz.NamespaceOf(name) == name:
			r.addAt(CodeBadScopeType, name, "invalid scope type: scope types are dotted like permissions, as in docs.folder")
			continue
		case declared[name]:
			r.addAt(CodeRepeatedField, name, "scope type is listed more than once")
			continue
		}
		declared[name] = true
		r.part(name, func(d decoder) {
			t := d.scopeType(name, n)
			for _, f := range d.in.faultsOf(&t) {
				r.addAt(CodeBadRequestable, name, f.String())
			}
			r.doc.rest.ScopeTypes = append(r.doc.rest.ScopeTypes, t)
		})
	}
	for _, t := range r.doc.rest.ScopeTypes {
		if t.Parent != "" && !declared[t.Parent] {
			r.addAt(CodeUnknownParent, t.Type, "parent scope type "+spell.Quote(t.Parent)+" is not declared")
		}
	}
}

// readLeaves reports false when it gave up on a document that is too large.
func (r *documentReader) readLeaves() bool {
	types := map[string]bool{}
	for _, t := range r.doc.rest.ScopeTypes {
		types[t.Type] = true
	}
	folders := map[string]bool{}
	r.doc.leafOf = map[string]*Leaf{}
	for _, n := range r.items("leaves") {
		key, _ := n.StringMember("key")
		p := decodeLeaf(key, n, nil)
		for _, f := range append(p.faults, checkKind(p.Kind)...) {
			r.addAt(CodeBadLeaf, key, f.String())
		}
		if authz.NamespaceOf(key) == key {
			r.addAt(CodeShortKey, key, "a permission key needs at least two segments")
			continue
		}
		r.checkOrigin(key, n)
		leaf := newLeaf(p, distinct(p.Scopes))
		for _, t := range leaf.Scopes {
			if !types[t] {
				r.addAt(CodeUnknownScopeType, key, "references undeclared scope type "+spell.Quote(t))
			}
		}
		r.doc.leaves = append(r.doc.leaves, leaf)
		r.doc.leafOf[key] = leaf
		for path := range prefixes(key) {
			folders[path] = true
			if len(folders) > maxGroups {
				r.add(CodeBadDocument, "its keys lie in more than "+strconv.Itoa(maxGroups)+" groups")
				return false
			}
		}
	}
	for _, leaf := range r.doc.leaves {
		if folders[leaf.Key] {
			r.addAt(CodeKeyIsGroup, leaf.Key, "is both a permission and a group path — other permissions lie below it")
		}
	}
	for path := range folders {
		r.groups[path] = true
	}
	return true
}

// checkOrigin lets a document hold owned entries only.
func (r *documentReader) checkOrigin(path string, n *text.Value) {
	origin := n.Member("origin")
	if origin != nil && origin.AsString() != string(authz.NamespaceOwned) {
		r.addAt(CodeBadOrigin, path, `a document holds what its publisher owns: origin must be "owned" — got `+origin.Echo())
	}
}

func (r *documentReader) readGroups() {
	seen := map[string]bool{}
	for _, n := range r.items("groups") {
		path, ok := n.StringMember("path")
		switch {
		case !ok:
			r.add(CodeMissingKey, "every group needs a string path")
			continue
		case seen[path]:
			r.addAt(CodeRepeatedField, path, "group is listed more than once")
			continue
		}
		seen[path] = true
		if invalid := authz.ValidateKey(path); invalid != nil {
			r.addAt(CodeBadGroupPath, path, "invalid group path: "+invalid.Reason)
			continue
		}
		r.checkOrigin(path, n)
		g := documentGroup{path: path}
		f := text.Fields{}
		for m := range f.Members(n, "", anyNames) {
			switch m.Name {
			case "label":
				g.meta.Label = f.Text(m.Name, m.Value)
			case "description":
				g.meta.Description = f.Text(m.Name, m.Value)
			case "groups":
				g.groups = f.Texts(m.Name, m.Value)
			case "permissions":
				g.permissions = f.Texts(m.Name, m.Value)
			}
		}
		for _, child := range g.groups {
			if !r.groups[child] || parentPath(child) != path {
				f.Bad("groups", "names "+spell.Quote(child)+", which is no group of this document directly below it")
			}
		}
		for _, key := range g.permissions {
			if !r.keys[key] || parentPath(key) != path {
				f.Bad("permissions", "names "+spell.Quote(key)+", which is no permission of this document directly below it")
			}
		}
		for _, fault := range f.Faults {
			r.addAt(CodeBadGroup, path, fault.String())
		}
		r.doc.groups = append(r.doc.groups, g)
	}
}

// readRest reads the parts whose faults belong to the document as a whole.
func (r *documentReader) readRest() {
	r.part(r.doc.namespace, func(d decoder) {
		if n := r.member("navigation"); n.Kind == text.Array {
			r.doc.rest.Navigation = d.navigation(n, "navigation")
		}
		if n := r.member("conventions"); n.Kind != text.Null {
			d.conventions(n)
			r.doc.rest.Conventions = d.in.Conventions
			if d.in.depthFault != "" {
				r.add(CodeBadDepth, depthRule+d.in.depthFault)
			}
		}
		if n := r.member("constraints"); n.Kind != text.Null {
			d.constraints(n)
			r.doc.rest.Constraints = d.in.Constraints
		}
	})
	for i, c := range r.doc.rest.Constraints.SoD {
		if c.ID == "" {
			r.add(CodeBadField, "constraints.sod"+text.Index(i)+".id must be a non-empty string")
		}
	}
}
