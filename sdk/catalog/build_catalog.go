package catalog

import (
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// catalog assembles what the checks let through; nothing of the input is shared.
func (b *builder) catalog() *Catalog {
	c := &Catalog{
		owned:      b.owned,
		namespaces: slices.Clone(b.owned),
		internal:   b.includeInternal,
		navigation: cloneNavigation(b.in.Navigation),
		depth:      b.in.Conventions,
		sod:        cloneConstraints(b.in.Constraints.SoD),
	}
	if b.includeInternal {
		c.namespaces = append(c.namespaces, authz.InternalNamespace)
	}
	if c.depth.Depth == 0 || c.depth.AnyDepth {
		c.depth.Depth = defaultDepth
	}
	c.origins = make(map[string]authz.NamespaceOrigin, len(c.namespaces))
	for _, ns := range c.namespaces {
		c.origins[ns] = authz.NamespaceOwned
	}
	b.addLeaves(c)
	b.addGroups(c)
	c.scopeTypes = make([]ScopeType, len(b.in.ScopeTypes))
	c.scopeTypeOf = make(map[string]*ScopeType, len(b.in.ScopeTypes))
	for i, t := range b.in.ScopeTypes {
		t.Requestable = t.Requestable.clone()
		c.scopeTypes[i] = t
		c.scopeTypeOf[t.Type] = &c.scopeTypes[i]
	}
	return c
}

func (b *builder) addLeaves(c *Catalog) {
	c.leaves = make(map[string]*Leaf, len(b.leaves))
	c.keys = make([]string, 0, len(b.leaves))
	for _, d := range b.leaves {
		path := parentPath(d.Key)
		leaf := &Leaf{
			Key:                d.Key,
			GroupPath:          path,
			Name:               d.Key[len(path)+1:],
			Label:              d.Label,
			Description:        d.Description,
			Kind:               d.Kind,
			Scopes:             b.scopesOf(d.Permission),
			ImpliedOnAncestors: d.ImpliedOnAncestors,
			RequiresCondition:  d.RequiresCondition,
			Origin:             authz.NamespaceOwned,
		}
		if leaf.Kind == "" {
			leaf.Kind = inferKind(leaf.Name)
		}
		leaf.Destructive = inferDestructive(leaf.Name)
		if d.Destructive != nil {
			leaf.Destructive = *d.Destructive
		}
		c.leaves[d.Key] = leaf
		c.keys = append(c.keys, d.Key)
	}
	slices.Sort(c.keys)
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

// addGroups makes the groups: real ones in order of first appearance, each told
// to its parent, and hollow metadata, which no parent knows.
func (b *builder) addGroups(c *Catalog) {
	real := map[string]bool{}
	order := slices.Clone(b.groupList)
	for _, d := range b.leaves {
		for path := range prefixes(d.Key) {
			if !real[path] {
				real[path] = true
				order = append(order, path)
			}
		}
	}
	c.groups = make(map[string]*Group, len(order))
	for _, path := range order {
		if c.groups[path] != nil {
			continue
		}
		g := &Group{
			Path: path, Groups: []string{}, Permissions: []string{},
			Origin: authz.NamespaceOwned, Hollow: !real[path],
		}
		if meta := b.groups[path]; meta != nil {
			g.Label, g.Description = meta.Label, meta.Description
		}
		c.groups[path] = g
		c.groupPaths = append(c.groupPaths, path)
	}
	for _, path := range c.groupPaths {
		if parent := c.groups[parentPath(path)]; parent != nil && real[path] {
			parent.Groups = append(parent.Groups, path)
		}
	}
	for _, d := range b.leaves {
		g := c.groups[parentPath(d.Key)]
		g.Permissions = append(g.Permissions, d.Key)
	}
	slices.Sort(c.groupPaths)
}
