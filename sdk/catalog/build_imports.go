package catalog

import (
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// resolveImports is step 6.
func (b *builder) resolveImports() {
	for _, in := range b.in.Imports {
		if im := b.resolveImport(in); im != nil {
			b.imports = append(b.imports, im)
		}
	}
}

// resolveImport returns nil when the import has no sound beginning.
func (b *builder) resolveImport(in Import) *imported {
	ns, path := in.Namespace, "imports."+in.Namespace
	if f := importNamespaceFault(ns, b.isOwned[ns]); f != nil {
		b.issues.add(f.code, ns, f.problem)
		return nil
	}
	b.checkImportScopes(path, in.Scopes)
	im := newImported(ns, in.From)
	im.strict = in.Strict
	var owner *ownerDocument
	if in.Document != nil {
		var found []authz.Issue
		if owner, found = attachedDocument(ns, in.Document, path); owner == nil {
			for _, issue := range found {
				b.issues.keep(issue)
			}
			return nil
		}
		im.enumerated, im.owner = true, owner.groupMeta()
	}
	for _, p := range in.Permissions {
		b.resolveEntry(im, owner, p, in.Scopes)
	}
	im.resolve(owner)
	return im
}

// attachedDocument reads the owner's document; what is wrong with it is reported
// under the path of what it is attached to.
func attachedDocument(ns string, raw []byte, path string) (*ownerDocument, []authz.Issue) {
	owner, found := readDocument(raw)
	for i := range found {
		found[i].Message = "the attached document: " + found[i].Path + ": " + found[i].Message
		found[i].Path = path
	}
	if owner != nil && !slices.Contains(owner.namespaces, ns) {
		return nil, []authz.Issue{{Severity: authz.SeverityError, Path: path, Code: CodeImportDocument,
			Message: "the attached document publishes [" + namespaceList(owner.namespaces) + "]; this import declares " + spell.Quote(ns)}}
	}
	return owner, found
}

// checkImportScopes reports scope types that are not this catalog's.
func (b *builder) checkImportScopes(path string, scopes []string) {
	for _, t := range scopes {
		if b.scopeTypes[t] == nil {
			b.issues.add(CodeImportScope, path, "wires imported permissions to undeclared scope type "+spell.Quote(t)+
				" — an import names scope types THIS catalog declares, never the owning application's")
		}
	}
}

// resolveEntry adds a sound entry to the import. Bad scopes are reported and do
// not end the entry.
func (b *builder) resolveEntry(im *imported, owner *ownerDocument, p Permission, defaults []string) {
	path := "imports." + im.namespace
	if im.declares(p.Key) {
		b.issues.add(CodeDuplicateKey, path+"."+p.Key, "duplicate permission key")
		return
	}
	if f := entryFault(im.namespace, p.Key); f != nil {
		f.report(&b.issues, path, p.Key)
		return
	}
	b.checkLeaf(p.Key, p)
	b.checkImportScopes(p.Key, p.Scopes)
	if owner != nil && !owner.publishes(p.Key) {
		b.issues.add(CodeImportNoMatch, path+"."+p.Key, "matches nothing in the published "+spell.Quote(im.namespace)+" catalog — removed upstream, or a typo?")
		return
	}
	scopes := defaults
	if p.Scopes != nil {
		scopes = p.Scopes
	}
	im.addEntry(&importEntry{Permission: p, scopes: distinct(scopes)})
}

// importFault is why a namespace, key or pattern cannot stand in an import.
type importFault struct{ code, problem string }

// importNamespaceFault checks the namespace of an import.
func importNamespaceFault(ns string, owned bool) *importFault {
	switch {
	case !authz.IsSegment(ns):
		return &importFault{CodeBadImportNamespace, "an imported namespace is a single valid segment"}
	case ns == authz.InternalNamespace:
		return &importFault{CodeReservedImport, "authz_internal is reserved for authz itself and ships with every catalog — it is never imported"}
	case owned:
		return &importFault{CodeImportOwned, "is declared in `namespaces` — an application does not import what it owns; declare its keys in `permissions`"}
	}
	return nil
}

// entryFault checks one key or pattern against the grammar and the namespace.
func entryFault(namespace, pattern string) *importFault {
	if invalid := authz.ValidatePattern(pattern); invalid != nil {
		return &importFault{CodeImportPattern, invalid.Reason}
	}
	switch ns := authz.NamespaceOf(pattern); {
	case pattern == authz.Global:
		return &importFault{CodeImportStar, `an import declares specific keys or subtree patterns, never the bare "*" — importing everything from every namespace is not a contract`}
	case ns != namespace:
		return &importFault{CodeImportOutside, "is not under the imported namespace " + spell.Quote(namespace) + " — an import never declares keys outside the namespace it names"}
	case ns == pattern:
		return &importFault{CodeShortKey, "a permission key needs at least two segments — the first is its namespace, and a namespace is a group"}
	}
	return nil
}

// report files the fault under the import, the key or the entry, as the table has
// it (spec: catalog §4).
func (f *importFault) report(found *issues, path, pattern string) {
	switch f.code {
	case CodeImportStar:
	case CodeShortKey:
		path = spell.Echo(pattern)
	default:
		path += "." + spell.Echo(pattern)
	}
	found.add(f.code, path, f.problem)
}

// declares reports whether the import has that entry already.
func (im *imported) declares(pattern string) bool {
	path, wildcard := strings.CutSuffix(pattern, ".*")
	if wildcard {
		return im.subtree[path] != nil
	}
	return im.exact[pattern] != nil
}

// publishes reports whether the document has a leaf that the pattern matches.
func (d *ownerDocument) publishes(pattern string) bool {
	return slices.ContainsFunc(d.leaves, func(l *Leaf) bool { return authz.Match(pattern, l.Key) })
}

// resolve makes the leaves and regions: all that the entries match in the owner's
// document or, without one, each concrete entry and each wildcard left open.
func (im *imported) resolve(owner *ownerDocument) {
	taken := map[string]bool{}
	add := func(key string, leaf *Leaf) {
		if !taken[key] {
			taken[key] = true
			im.addLeaf(key, leaf)
		}
	}
	for _, e := range im.entries {
		switch {
		case owner != nil:
			for _, leaf := range owner.leaves {
				if authz.Match(e.Key, leaf.Key) {
					add(leaf.Key, leaf)
				}
			}
		case authz.IsWildcard(e.Key):
			im.addRegion(e.Key)
		default:
			add(e.Key, nil)
		}
	}
}

// checkImportedKeys is the rest of step 7 that concerns imports: no imported key
// is owned too, and none is the path of a group.
func (b *builder) checkImportedKeys() {
	paths := b.groupPaths()
	for _, im := range b.imports {
		for _, leaf := range im.leaves {
			if b.byKey[leaf.Key] != nil {
				b.issues.add(CodeOwnedAndImported, leaf.Key, "is declared both as an owned permission and as an import — only the owner declares a permission")
			}
		}
		for path := range im.groupPaths() {
			paths[path] = true
		}
	}
	for _, im := range b.imports {
		im.checkGroups(paths, &b.issues)
	}
}

// checkGroups reports imported keys that are the path of a group.
func (im *imported) checkGroups(paths map[string]bool, found *issues) {
	for _, leaf := range im.leaves {
		if paths[leaf.Key] {
			found.add(CodeImportedKeyIsGroup, leaf.Key, "is both an imported permission and a group path (other imported entries live under it) — group levels are folders, never permissions")
		}
	}
}
