package catalog

import (
	"cmp"

	"github.com/authzhost/authz/sdk/authz"
)

// imported is one namespace that a catalog imports, checked and resolved.
type imported struct {
	namespace  string
	from       string
	enumerated bool
	strict     bool

	entries []*importEntry
	exact   map[string]*importEntry // concrete entries by key
	subtree map[string]*importEntry // wildcards by the path they cover

	leaves  []*Leaf            // in order of the first entry that matches
	open    []*Region          // in order of declaration
	regions map[string]*Region // by the path they cover
	deepest int                // the length of the longest path in subtree and regions

	owner map[string]GroupInput // what the owner's document says of its groups
}

// importEntry is one pattern of an import and what this catalog says of what it
// matches.
type importEntry struct {
	Permission          // Key is the pattern
	scopes     []string // resolved, never nil
}

func newImported(namespace, from string) *imported {
	return &imported{
		namespace: namespace, from: from,
		exact: map[string]*importEntry{}, subtree: map[string]*importEntry{}, regions: map[string]*Region{},
	}
}

func (im *imported) addEntry(e *importEntry) {
	im.entries = append(im.entries, e)
	if !authz.IsWildcard(e.Key) {
		im.exact[e.Key] = e
		return
	}
	path := e.Key[:len(e.Key)-len(".*")]
	im.subtree[path] = e
	im.deepest = max(im.deepest, len(path))
}

// covering returns the most specific entry that covers all of a key or pattern.
func (im *imported) covering(pattern string) *importEntry {
	if e := im.exact[pattern]; e != nil {
		return e
	}
	return longestUnder(im.subtree, im.deepest, pattern)
}

// addLeaf makes a leaf of a key that some entry covers. The owner's document, if
// there is one, gives display copy, kind and destructive; never how the key is
// wired here.
func (im *imported) addLeaf(key string, owner *Leaf) {
	e := im.covering(key)
	p := e.Permission
	p.Key = key
	if owner != nil {
		p = p.over(owner)
	}
	leaf := newLeaf(p, e.scopes)
	leaf.Origin, leaf.ImportedFrom = authz.NamespaceImported, im.from
	im.leaves = append(im.leaves, leaf)
}

// over fills what the entry leaves open from the owner's leaf.
func (p Permission) over(owner *Leaf) Permission {
	p.Label = cmp.Or(p.Label, owner.Label)
	p.Description = cmp.Or(p.Description, owner.Description)
	p.Kind = cmp.Or(p.Kind, owner.Kind)
	p.Destructive = cmp.Or(p.Destructive, &owner.Destructive)
	return p
}

// addRegion leaves a wildcard open that some entry covers.
func (im *imported) addRegion(pattern string) {
	e := im.covering(pattern)
	r := &Region{
		Pattern: pattern, Namespace: im.namespace, From: im.from,
		Label: e.Label, Description: e.Description, Scopes: e.scopes, Strict: im.strict,
	}
	im.open = append(im.open, r)
	im.regions[r.path()] = r
	im.deepest = max(im.deepest, len(r.path()))
}

// keys lists the imported keys in order of the first entry that matches.
func (im *imported) keys() []string {
	keys := make([]string, len(im.leaves))
	for i, leaf := range im.leaves {
		keys[i] = leaf.Key
	}
	return keys
}

// patterns lists the entries as declared; never nil.
func (im *imported) patterns() []string {
	patterns := make([]string, len(im.entries))
	for i, e := range im.entries {
		patterns[i] = e.Key
	}
	return patterns
}

// knows reports whether a grant or visibility question may name the pattern. An
// enumerated import is exact, an open one accepts whatever it covers.
func (im *imported) knows(c *Catalog, pattern string) bool {
	if c.leaves[pattern] != nil {
		return true
	}
	if !authz.IsPattern(pattern) || im.covering(pattern) == nil {
		return false
	}
	return !im.enumerated || len(c.KeysMatching(pattern)) > 0
}
