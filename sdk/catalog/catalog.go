package catalog

import (
	"slices"
	"sort"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

const (
	minDepth     = 2
	defaultDepth = 3
)

// Catalog is a built permission vocabulary (spec: catalog §5). It is
// immutable and safe for concurrent use; what its methods return is shared, and
// callers must not modify it.
type Catalog struct {
	primary    string
	owned      []string // authz_internal last, when it is included
	namespaces []string // owned, then imported
	origins    map[string]authz.NamespaceOrigin
	internal   bool

	keys   []string // ascending
	leaves map[string]*Leaf

	imports  []*imported
	importOf map[string]*imported // by namespace
	regions  []Region

	groups     map[string]*Folder
	groupPaths []string // ascending, hollow ones included

	scopeTypes  []ScopeType
	scopeTypeOf map[string]*ScopeType

	navigation []NavItem
	depth      Conventions
	sod        []SoDConstraint
}

// Leaf is one checkable permission, everything inferred and inherited resolved.
// Its JSON is its entry in the catalog document. Scopes is never nil.
type Leaf struct {
	Key                string                `json:"key"`
	GroupPath          string                `json:"groupPath"`
	Name               string                `json:"name"`
	Label              string                `json:"label,omitempty"`
	Description        string                `json:"description,omitempty"`
	Kind               Kind                  `json:"kind"`
	Destructive        bool                  `json:"destructive"`
	Scopes             []string              `json:"scopes"`
	ImpliedOnAncestors bool                  `json:"impliedOnAncestors"`
	RequiresCondition  bool                  `json:"requiresCondition,omitempty"`
	Origin             authz.NamespaceOrigin `json:"origin"`
	ImportedFrom       string                `json:"importedFrom,omitempty"`
}

// Folder is a group of a built catalog, its children in declaration order. A
// hollow one is metadata with no key or region beneath: not a group for any
// query. Its JSON is its entry in the catalog document.
type Folder struct {
	Path         string                `json:"path"`
	Label        string                `json:"label,omitempty"`
	Description  string                `json:"description,omitempty"`
	Groups       []string              `json:"groups"`
	Permissions  []string              `json:"permissions"`
	Origin       authz.NamespaceOrigin `json:"origin"`
	ImportedFrom string                `json:"importedFrom,omitempty"`
	Hollow       bool                  `json:"-"`
}

// Namespace is the primary namespace.
func (c *Catalog) Namespace() string { return c.primary }

// Namespaces lists the owned namespaces, authz_internal when it is included, and
// the imported ones.
func (c *Catalog) Namespaces() []string { return c.namespaces }

// NamespaceOrigin says how the catalog stands to a namespace; "" is foreign.
func (c *Catalog) NamespaceOrigin(ns string) authz.NamespaceOrigin {
	if origin, ok := c.origins[ns]; ok {
		return origin
	}
	return authz.NamespaceForeign
}

// InternalIncluded reports whether the built-in administration keys exist.
func (c *Catalog) InternalIncluded() bool { return c.internal }

// Keys lists every leaf's key, owned and imported, in ascending byte order, which
// keeps the keys of each group together.
func (c *Catalog) Keys() []string { return c.keys }

// OwnedKeys lists the keys that this catalog declares, in ascending order.
func (c *Catalog) OwnedKeys() []string { return c.keysOf(authz.NamespaceOwned) }

// ImportedKeys lists the imported keys, in ascending order. Keys that only an
// open region admits are not among them.
func (c *Catalog) ImportedKeys() []string { return c.keysOf(authz.NamespaceImported) }

func (c *Catalog) keysOf(origin authz.NamespaceOrigin) []string {
	keys := make([]string, 0, len(c.keys))
	for _, key := range c.keys {
		if c.leaves[key].Origin == origin {
			keys = append(keys, key)
		}
	}
	return keys
}

// Leaf returns the permission with that key. There is none for a key that only an
// open region admits.
func (c *Catalog) Leaf(key string) (*Leaf, bool) {
	leaf, ok := c.leaves[key]
	return leaf, ok
}

// HasKey reports whether a check may name the key: a leaf, or a well-formed key
// that an open region admits.
func (c *Catalog) HasKey(key string) bool {
	_, ok := c.Describe(key)
	return ok
}

// IsEnumeratedKey reports whether the key is a leaf, owned or imported. A bare "*"
// confers only these; what an open region admits, a grant must name.
func (c *Catalog) IsEnumeratedKey(key string) bool { return c.leaves[key] != nil }

// KeysMatching lists the leaves' keys that the pattern matches, in ascending
// order. It says nothing about open regions: see OpaqueRegions. The pattern is
// not validated.
func (c *Catalog) KeysMatching(pattern string) []string {
	from, to := c.interval(pattern)
	return c.keys[from:to:to]
}

// interval is the range of Keys that the pattern matches.
func (c *Catalog) interval(pattern string) (from, to int) {
	if pattern == authz.Global {
		return 0, len(c.keys)
	}
	prefix, ok := strings.CutSuffix(pattern, "*")
	if !ok || !strings.HasSuffix(prefix, ".") {
		from, found := slices.BinarySearch(c.keys, pattern)
		if !found {
			return from, from
		}
		return from, from + 1
	}
	from, _ = slices.BinarySearch(c.keys, prefix)
	length := sort.Search(len(c.keys)-from, func(i int) bool {
		return !strings.HasPrefix(c.keys[from+i], prefix)
	})
	return from, from + length
}

// Group returns the metadata and children of a group path, hollow ones included.
func (c *Catalog) Group(path string) (*Folder, bool) {
	g, ok := c.groups[path]
	return g, ok
}

// GroupPaths lists all group paths in ascending byte order, hollow ones
// included.
func (c *Catalog) GroupPaths() []string { return c.groupPaths }

// isGroup reports whether keys or regions lie below the path.
func (c *Catalog) isGroup(path string) bool {
	g := c.groups[path]
	return g != nil && !g.Hollow
}

// IsKnownPattern reports whether a grant, role or visibility question may name
// the pattern: "*", a leaf's key, the wildcard of a group of an owned namespace,
// or in an imported one what a declared entry covers.
func (c *Catalog) IsKnownPattern(pattern string) bool {
	if pattern == authz.Global {
		return true
	}
	if im := c.importOf[authz.NamespaceOf(pattern)]; im != nil {
		return im.knows(c, pattern)
	}
	if path, ok := strings.CutSuffix(pattern, ".*"); ok {
		return c.isGroup(path)
	}
	return c.leaves[pattern] != nil
}

// ScopeTypes lists the scope types in declaration order.
func (c *Catalog) ScopeTypes() []ScopeType { return c.scopeTypes }

// ScopeType returns the declaration of a scope type.
func (c *Catalog) ScopeType(t string) (*ScopeType, bool) {
	declared, ok := c.scopeTypeOf[t]
	return declared, ok
}

// Navigation returns the navigation tree.
func (c *Catalog) Navigation() []NavItem { return c.navigation }

// Conventions returns the naming rules that lint reads. Depth is never 0.
func (c *Catalog) Conventions() Conventions { return c.depth }

// SoD lists the constraints on separation of duties in declaration order.
func (c *Catalog) SoD() []SoDConstraint { return c.sod }
