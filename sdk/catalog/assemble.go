package catalog

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// assembly is what a catalog is made of, checked and resolved: by the builder
// from a declaration, or from a published document and its manifest.
type assembly struct {
	primary     string
	owned       []string // distinct, without authz_internal
	internal    bool
	leaves      []*Leaf      // owned, in declaration order
	groups      []GroupEntry // metadata in order of first appearance, each path once
	imports     []*imported
	scopeTypes  []ScopeType
	navigation  []NavItem
	conventions Conventions
	sod         []SoDConstraint
}

// catalog puts the parts together. The catalog keeps them: they must be the
// assembly's own.
func (a *assembly) catalog() *Catalog {
	c := &Catalog{
		primary:    a.primary,
		owned:      a.owned,
		internal:   a.internal,
		imports:    a.imports,
		importOf:   make(map[string]*imported, len(a.imports)),
		origins:    map[string]authz.NamespaceOrigin{},
		scopeTypes: append([]ScopeType{}, a.scopeTypes...),
		navigation: a.navigation,
		depth:      a.conventions,
		sod:        a.sod,
	}
	if c.depth.Depth == 0 || c.depth.AnyDepth {
		c.depth.Depth = defaultDepth
	}
	if a.internal {
		c.owned = append(c.owned, authz.InternalNamespace)
	}
	for _, ns := range c.owned {
		c.origins[ns] = authz.NamespaceOwned
	}
	c.namespaces = slices.Clone(c.owned)
	for _, im := range a.imports {
		c.importOf[im.namespace] = im
		c.origins[im.namespace] = authz.NamespaceImported
		c.namespaces = append(c.namespaces, im.namespace)
		for _, r := range im.open {
			c.regions = append(c.regions, *r)
		}
	}
	a.addLeaves(c)
	a.addGroups(c)
	c.scopeTypeOf = make(map[string]*ScopeType, len(c.scopeTypes))
	for i := range c.scopeTypes {
		c.scopeTypeOf[c.scopeTypes[i].Type] = &c.scopeTypes[i]
	}
	return c
}

func (a *assembly) addLeaves(c *Catalog) {
	c.leaves = make(map[string]*Leaf, len(a.leaves))
	for leaf := range a.everyLeaf() {
		c.leaves[leaf.Key] = leaf
		c.keys = append(c.keys, leaf.Key)
	}
	slices.Sort(c.keys)
}

// everyLeaf yields the owned leaves and then the imported ones.
func (a *assembly) everyLeaf() iter.Seq[*Leaf] {
	return func(yield func(*Leaf) bool) {
		for _, leaf := range a.leaves {
			if !yield(leaf) {
				return
			}
		}
		for _, im := range a.imports {
			for _, leaf := range im.leaves {
				if !yield(leaf) {
					return
				}
			}
		}
	}
}

// addGroups makes the groups: real ones in order of first appearance, each told
// to its parent, and hollow metadata, which no parent knows.
func (a *assembly) addGroups(c *Catalog) {
	order := make([]string, 0, len(a.groups))
	c.groups = make(map[string]*Folder, len(a.groups))
	have := func(path string) *Folder {
		g := c.groups[path]
		if g == nil {
			g = &Folder{Path: path, Groups: []string{}, Permissions: []string{}, Origin: authz.NamespaceOwned, Hollow: true}
			c.groups[path] = g
			order = append(order, path)
		}
		return g
	}
	for _, entry := range a.groups {
		g := have(entry.Path)
		g.Label, g.Description = entry.Group.Label, entry.Group.Description
	}
	for _, leaf := range a.leaves {
		for path := range prefixes(leaf.Key) {
			have(path).Hollow = false
		}
	}
	for _, im := range a.imports {
		for path := range im.groupPaths() {
			g := have(path)
			g.Hollow, g.Origin, g.ImportedFrom = false, authz.NamespaceImported, im.from
			owner := im.owner[path]
			g.Label = cmp.Or(g.Label, owner.Label)
			g.Description = cmp.Or(g.Description, owner.Description)
		}
	}
	for _, path := range order {
		if parent := c.groups[parentPath(path)]; parent != nil && !c.groups[path].Hollow {
			parent.Groups = append(parent.Groups, path)
		}
	}
	for leaf := range a.everyLeaf() {
		g := c.groups[leaf.GroupPath]
		g.Permissions = append(g.Permissions, leaf.Key)
	}
	slices.Sort(order)
	c.groupPaths = order
}

// groupPaths yields the groups that an import brings: what its leaves and
// regions lie in, and what its regions cover. A path may come more than once.
func (im *imported) groupPaths() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, leaf := range im.leaves {
			for path := range prefixes(leaf.Key) {
				if !yield(path) {
					return
				}
			}
		}
		for _, r := range im.open {
			for path := range prefixes(r.Pattern) { // the wildcard's last dot ends the region's own path
				if !yield(path) {
					return
				}
			}
		}
	}
}

// newLeaf infers what a permission leaves open. Its scopes are resolved already;
// the leaf keeps them.
func newLeaf(p Permission, scopes []string) *Leaf {
	path := parentPath(p.Key)
	leaf := &Leaf{
		Key:                p.Key,
		GroupPath:          path,
		Name:               p.Key[len(path)+1:],
		Label:              p.Label,
		Description:        p.Description,
		Kind:               p.Kind,
		Scopes:             scopes,
		ImpliedOnAncestors: p.ImpliedOnAncestors,
		RequiresCondition:  p.RequiresCondition,
		Origin:             authz.NamespaceOwned,
	}
	if leaf.Kind == "" {
		leaf.Kind = inferKind(leaf.Name)
	}
	leaf.Destructive = inferDestructive(leaf.Name)
	if p.Destructive != nil {
		leaf.Destructive = *p.Destructive
	}
	return leaf
}

// inferKind and inferDestructive read the last segment of a key, case-sensitive
// and by whole words.
func inferKind(name string) Kind {
	if startsWithWord(name, "read") {
		return KindRead
	}
	return KindAction
}

func inferDestructive(name string) bool {
	return startsWithWord(name, "delete") || startsWithWord(name, "destroy") || startsWithWord(name, "purge")
}

func startsWithWord(name, word string) bool {
	rest, ok := strings.CutPrefix(name, word)
	return ok && (rest == "" || rest[0] == '_')
}
