package catalog

import (
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// Region is a wildcard of an import without the owner's document: vocabulary
// that this catalog references but cannot list. Scopes is never nil.
type Region struct {
	Pattern     string   `json:"pattern"`
	Namespace   string   `json:"namespace"`
	From        string   `json:"from,omitempty"`
	Label       string   `json:"label,omitempty"`
	Description string   `json:"description,omitempty"`
	Scopes      []string `json:"scopes"`

	// Strict regions admit no key: only what the catalog can name is a key.
	Strict bool `json:"strict"`
}

// path is the group that the region covers.
func (r *Region) path() string { return strings.TrimSuffix(r.Pattern, ".*") }

// KeyOrigin says how a catalog comes to know a key.
type KeyOrigin string

// The origins of a key. KeyUnknown is the zero value: no check may name the key.
const (
	KeyUnknown  KeyOrigin = ""
	KeyOwned    KeyOrigin = "owned"
	KeyImported KeyOrigin = "imported"
	KeyRegion   KeyOrigin = "region"
)

// KeyDescription is what a catalog knows of a key: the leaf or, for a key that
// it cannot list, the region that admits it. The other of the two is nil.
type KeyDescription struct {
	Origin KeyOrigin
	Leaf   *Leaf
	Region *Region
}

// ImportedPatterns lists the entries by which the catalog imports a namespace, as
// declared and in that order: what they cover is all that it imports of it. It is
// empty for a namespace that is not imported.
func (c *Catalog) ImportedPatterns(namespace string) []string {
	if im := c.importOf[namespace]; im != nil {
		return im.patterns()
	}
	return []string{}
}

// Regions lists the open regions, strict ones included, in declaration order.
func (c *Catalog) Regions() []Region { return c.regions }

// RegionOf returns the open region that admits the key: of those that are not
// strict and match it, the one with the longest pattern. It looks at the regions
// only; an imported leaf may lie in one too.
func (c *Catalog) RegionOf(key string) (*Region, bool) {
	im := c.importOf[authz.NamespaceOf(key)]
	if im == nil || im.strict || len(im.regions) == 0 {
		return nil, false
	}
	region := longestUnder(im.regions, im.deepest, key)
	if region == nil || !authz.IsKey(key) {
		return nil, false
	}
	return region, true
}

// OpaqueRegions lists the open regions that the pattern reaches into, strict ones
// included, in declaration order. KeysMatching says nothing about them.
func (c *Catalog) OpaqueRegions(pattern string) []Region {
	var reached []Region
	for _, r := range c.regions {
		if authz.Intersects(pattern, r.Pattern) {
			reached = append(reached, r)
		}
	}
	return reached
}

// KeyOrigin says how the catalog knows the key, KeyUnknown when HasKey is false.
func (c *Catalog) KeyOrigin(key string) KeyOrigin {
	d, _ := c.Describe(key)
	return d.Origin
}

// Describe returns what the catalog knows of a key. ok is what HasKey reports.
func (c *Catalog) Describe(key string) (d KeyDescription, ok bool) {
	if leaf := c.leaves[key]; leaf != nil {
		return KeyDescription{Origin: KeyOrigin(leaf.Origin), Leaf: leaf}, true
	}
	if region, ok := c.RegionOf(key); ok {
		return KeyDescription{Origin: KeyRegion, Region: region}, true
	}
	return KeyDescription{}, false
}

// longestUnder finds what is filed under the longest group path that the key or
// wildcard lies in. No path is longer than deepest, so that a hostile name costs
// no more than the catalog's own depth.
func longestUnder[T any](byPath map[string]*T, deepest int, name string) *T {
	var found *T
	for path := range prefixes(name) {
		if len(path) > deepest {
			break
		}
		if at := byPath[path]; at != nil {
			found = at
		}
	}
	return found
}
