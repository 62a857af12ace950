package catalog

import (
	"encoding/json"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
)

// DocumentOptions is what a catalog document does not hold.
type DocumentOptions struct {
	// Imports is the import manifest published beside the document; nil or
	// null means that the catalog imports nothing.
	Imports json.RawMessage

	// Documents are the documents of the owners, by imported namespace. They give
	// imported permissions display copy, kind and destructive; never a key.
	Documents map[string]json.RawMessage
}

// FromDocument rebuilds a catalog from its document (spec: catalog §8), which
// is not trusted. The error is an *authz.CatalogError with every problem of the
// first of three phases that has any: what makes a document unreadable, the rest
// of the document, the manifest. Constraints are carried over without the checks
// of Build, because they may name imported keys. The scope types of a manifest are
// kept as they are, declared here or not: a leaf may name one that ScopeType does
// not know.
func FromDocument(document json.RawMessage, options DocumentOptions) (*Catalog, error) {
	doc, found := readDocument(document)
	if doc == nil {
		return nil, &authz.CatalogError{Issues: found}
	}
	a := doc.assembly()
	if len(options.Imports) > 0 {
		r := manifestReader{doc: doc, documents: options.Documents}
		a.imports = r.read(options.Imports)
		if err := r.issues.err(); err != nil {
			return nil, err
		}
	}
	return a.catalog(), nil
}

// assembly puts leaves and groups back into the order in which they were
// declared, as far as the lists of the groups tell it.
func (d *ownerDocument) assembly() *assembly {
	a := &assembly{
		primary:     d.namespace,
		internal:    slices.Contains(d.namespaces, authz.InternalNamespace),
		scopeTypes:  d.rest.ScopeTypes,
		navigation:  cloneNavigation(d.rest.Navigation),
		conventions: d.rest.Conventions,
		sod:         cloneConstraints(d.rest.Constraints.SoD),
	}
	for _, ns := range d.namespaces {
		if ns != authz.InternalNamespace {
			a.owned = append(a.owned, ns)
		}
	}
	placed := map[string]bool{}
	place := func(leaf *Leaf) {
		if !placed[leaf.Key] {
			placed[leaf.Key] = true
			a.leaves = append(a.leaves, leaf)
		}
	}
	meta, appeared := d.groupMeta(), map[string]bool{}
	appear := func(path string) {
		if !appeared[path] {
			appeared[path] = true
			a.groups = append(a.groups, GroupEntry{Path: path, Group: meta[path]})
		}
	}
	for _, g := range d.groups {
		for _, child := range g.groups {
			appear(child)
		}
		for _, key := range g.permissions {
			place(d.leafOf[key])
		}
	}
	for _, g := range d.groups {
		appear(g.path)
	}
	for _, leaf := range d.leaves {
		place(leaf)
		// A document may hold built-in keys without listing their namespace.
		a.internal = a.internal || authz.NamespaceOf(leaf.Key) == authz.InternalNamespace
	}
	return a
}
