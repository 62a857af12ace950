package imported

import (
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
)

// Owner is a member of the mesh whose namespaces an application imports.
type Owner struct {
	Partition  string
	Namespaces []string // those that the registry has for it
}

// Keys are the keys that an application imports of one owner: those of the owner's
// namespaces that an entry of its imports covers. They are immutable.
type Keys struct {
	partition string
	prefix    string // of the ids of its rows

	// patterns cover them, in the order of their stems. No two match the same key.
	patterns []string
}

// New finds what a catalog imports of an owner. Namespaces that the catalog does not
// import count for nothing, its own among them.
func New(owner Owner, importing *catalog.Catalog) *Keys {
	var entries []string
	for _, ns := range owner.Namespaces {
		entries = append(entries, importing.ImportedPatterns(ns)...)
	}
	slices.SortFunc(entries, func(a, b string) int { return strings.Compare(stem(a), stem(b)) })
	k := &Keys{partition: owner.Partition, prefix: idPrefix + owner.Partition + ":"}
	for _, e := range entries {
		// All that sorts between a wildcard and what it covers is covered too, so the
		// pattern before is the only one to ask.
		if last := len(k.patterns) - 1; last < 0 || !authz.Contains(k.patterns[last], e) {
			k.patterns = append(k.patterns, e)
		}
	}
	return k
}

// stem is what all that the pattern matches begins with: nothing for "*".
func stem(pattern string) string { return strings.TrimSuffix(pattern, "*") }

// appendReached appends patterns that match exactly the imported keys which the pattern
// matches. No two of them match the same key. The bare "*" reaches every imported key,
// open regions included.
func (k *Keys) appendReached(to []string, pattern string) []string {
	at, _ := slices.BinarySearchFunc(k.patterns, stem(pattern), func(p, asked string) int { return strings.Compare(stem(p), asked) })
	if at > 0 && authz.Contains(k.patterns[at-1], pattern) {
		return append(to, pattern)
	}
	for _, p := range k.patterns[at:] {
		if !authz.Contains(pattern, p) {
			break
		}
		to = append(to, p)
	}
	return to
}
