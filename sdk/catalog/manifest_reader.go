package catalog

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog/internal/text"
)

// manifestReader reads the import manifest of a document, which is as little
// trusted as the document.
type manifestReader struct {
	doc       *ownerDocument
	documents map[string]json.RawMessage
	issues    issues
}

// pathImports is the path of issues that belong to no single import.
const pathImports = "imports"

func (r *manifestReader) read(raw json.RawMessage) []*imported {
	if bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return nil
	}
	root, problem := documentTree(raw)
	if problem != "" {
		r.issues.add(CodeBadDocument, pathImports, "the manifest: "+problem)
		return nil
	}
	if version, known := formatOf(root); !known {
		r.issues.add(CodeUnknownFormat, pathImports, "unknown manifest format "+version)
		return nil
	}
	if ns, _ := root.StringMember("namespace"); ns != r.doc.namespace {
		r.issues.add(CodeManifestNamespace, pathImports, "the manifest is of namespace "+spell.Quote(ns)+", the document of "+spell.Quote(r.doc.namespace))
	}
	f := text.Fields{}
	var list []*imported
	seen := map[string]bool{}
	for m := range f.Members(root, "", anyNames) {
		if m.Name != "imports" {
			continue
		}
		for _, n := range f.List(m.Name, m.Value) {
			ns, _ := n.StringMember("namespace")
			if seen[ns] {
				r.issues.add(CodeRepeatedField, pathImports+"."+spell.Echo(ns), "is given more than once")
				continue
			}
			seen[ns] = true
			if im := r.readImport(ns, n); im != nil {
				list = append(list, im)
			}
		}
	}
	for _, fault := range f.Faults {
		r.issues.add(CodeBadField, pathImports, fault.String())
	}
	r.checkGroups(list)
	return list
}

// readImport returns nil when the namespace cannot be imported.
func (r *manifestReader) readImport(ns string, n *text.Value) *imported {
	if f := importNamespaceFault(ns, slices.Contains(r.doc.namespaces, ns)); f != nil {
		r.issues.add(f.code, spell.Echo(ns), f.problem)
		return nil
	}
	im := newImported(ns, "")
	path := pathImports + "." + spell.Echo(ns)
	var owner *ownerDocument
	if raw, ok := r.documents[ns]; ok {
		var found []authz.Issue
		if owner, found = attachedDocument(ns, raw, "documents."+spell.Echo(ns)); owner == nil {
			for _, issue := range found {
				r.issues.keep(issue)
			}
			return nil
		}
		im.owner = owner.groupMeta()
	}
	f := text.Fields{}
	var entries []*text.Value
	var keys, regions []string
	for m := range f.Members(n, "", anyNames) {
		switch m.Name {
		case "from":
			im.from = f.Text(m.Name, m.Value)
		case "enumerated":
			im.enumerated = f.Flag(m.Name, m.Value)
		case "strict":
			im.strict = f.Flag(m.Name, m.Value)
		case "entries":
			for _, entry := range f.List(m.Name, m.Value) {
				entries = append(entries, entry)
			}
		case "keys":
			keys = f.Texts(m.Name, m.Value)
		case "regions":
			regions = f.Texts(m.Name, m.Value)
		}
	}
	if im.enumerated && len(regions) > 0 {
		f.Bad("regions", "must be empty: an enumerated import leaves nothing open")
	}
	for _, fault := range f.Faults {
		r.issues.add(CodeBadField, path, fault.String())
	}
	for _, entry := range entries {
		r.readEntry(im, path, entry)
	}
	for _, key := range distinct(keys) {
		if r.covered(im, path, key, authz.ValidateKey(key)) {
			im.addLeaf(key, owner.leaf(key))
		}
	}
	for _, region := range distinct(regions) {
		if r.covered(im, path, region, validateRegion(region)) {
			im.addRegion(region)
		}
	}
	return im
}

// leaf returns the document's leaf of that key, if there is a document and it has
// one.
func (d *ownerDocument) leaf(key string) *Leaf {
	if d == nil {
		return nil
	}
	return d.leafOf[key]
}

func (r *manifestReader) readEntry(im *imported, path string, n *text.Value) {
	pattern, ok := n.StringMember("pattern")
	if !ok {
		r.issues.add(CodeMissingKey, path, "every entry needs a string pattern")
		return
	}
	if im.declares(pattern) {
		r.issues.add(CodeDuplicateKey, path+"."+spell.Echo(pattern), "duplicate permission key")
		return
	}
	f := entryFault(im.namespace, pattern)
	if len(pattern) > maxPublishedKey {
		f = &importFault{CodeImportPattern, keyTooLong}
	}
	if f != nil {
		f.report(&r.issues, path, pattern)
		return
	}
	e := &importEntry{Permission: Permission{Key: pattern}}
	read := text.Fields{}
	for m := range read.Members(n, "", anyNames) {
		switch m.Name {
		case "scopes":
			e.scopes = read.Texts(m.Name, m.Value)
		case "requiresCondition":
			e.RequiresCondition = read.Flag(m.Name, m.Value)
		}
	}
	for _, fault := range read.Faults {
		r.issues.add(CodeBadField, path+"."+spell.Echo(pattern), fault.String())
	}
	e.scopes = distinct(e.scopes)
	im.addEntry(e)
}

// covered reports whether the import may hold the key or region.
func (r *manifestReader) covered(im *imported, path, name string, invalid *authz.GrammarError) bool {
	f := entryFault(im.namespace, name)
	switch {
	case len(name) > maxPublishedKey:
		f = &importFault{CodeImportPattern, keyTooLong}
	case invalid != nil:
		f = &importFault{CodeImportPattern, invalid.Reason}
	case f == nil && im.covering(name) == nil:
		f = &importFault{CodeImportUncovered, "is covered by no entry of this import"}
	}
	if f != nil {
		f.report(&r.issues, path, name)
	}
	return f == nil
}

func validateRegion(pattern string) *authz.GrammarError {
	if !authz.IsWildcard(pattern) {
		return &authz.GrammarError{Value: pattern, Reason: "a region is a wildcard such as meet.rooms.*"}
	}
	return authz.ValidatePattern(pattern)
}

// checkGroups reports imported keys that are the path of a group.
func (r *manifestReader) checkGroups(list []*imported) {
	paths := map[string]bool{}
	for _, g := range r.doc.groups {
		paths[g.path] = true
	}
	for _, im := range list {
		for path := range im.groupPaths() {
			paths[path] = true
		}
	}
	for _, im := range list {
		im.checkGroups(paths, &r.issues)
	}
}
