package catalog

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

const (
	maxNear   = 3 // how many names are offered
	maxBudget = 4 // the most edits that a name may be away
)

type candidate struct {
	name     string
	distance int
}

// near finds the names closest to the value (spec: catalog §9.2), at most
// three, best first; never nil. More names join the catalog's keys.
func (c *Catalog) near(value string, expected authz.Expected, more ...string) []string {
	keys := c.keys
	if len(more) > 0 {
		keys = slices.Concat(keys, more)
		slices.Sort(keys)
		keys = slices.Compact(keys)
	}
	var patterns []string
	if expected == authz.ExpectedPattern {
		for _, path := range c.groupPaths {
			if pattern := authz.SubtreePattern(path); c.isGroup(path) && c.IsKnownPattern(pattern) {
				patterns = append(patterns, pattern)
			}
		}
	}
	return nearest(value, keys, patterns)
}

// nearest is near among names, of which one with the value's last segment is kept however
// far it is, and among others.
func nearest(value string, names, others []string) []string {
	length := utf8.RuneCountInString(value)
	budget := min(maxBudget, max(2, length/4))
	internal := authz.NamespaceOf(value) == authz.InternalNamespace
	var kept, sameLeaf []candidate
	consider := func(name string) bool {
		if name == value || !internal && authz.NamespaceOf(name) == authz.InternalNamespace {
			return true // out of the pool
		}
		if abs(len(name)-length) > budget {
			return false
		}
		distance := spell.EditDistance(value, name, budget)
		if distance > budget {
			return false
		}
		kept = append(kept, candidate{name, distance})
		return true
	}
	ending := lastSegment(value)
	for _, name := range names {
		if !consider(name) && ending != "" && strings.HasSuffix(name, ending) {
			sameLeaf = append(sameLeaf, candidate{name, budget + 1})
		}
	}
	for _, name := range others {
		consider(name)
	}
	if len(sameLeaf) <= maxNear {
		kept = append(kept, sameLeaf...)
	}
	slices.SortFunc(kept, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), strings.Compare(a.name, b.name))
	})
	kept = kept[:min(len(kept), maxNear)]
	found := make([]string, len(kept))
	for i, k := range kept {
		found[i] = k.name
	}
	return found
}

// lastSegment returns ".<last segment>" of a value, "" when the value has a
// wildcard or no last segment.
func lastSegment(value string) string {
	if strings.Contains(value, authz.Global) {
		return ""
	}
	last := value[strings.LastIndexByte(value, '.')+1:]
	if last == "" {
		return ""
	}
	return "." + last
}

func abs(n int) int { return max(n, -n) }
