package catalog

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

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

// near finds the names closest to the value (catalog contract §9.2), at most
// three, best first; never nil.
func (c *Catalog) near(value string, expected authz.Expected) []string {
	length := utf8.RuneCountInString(value)
	budget := min(maxBudget, max(2, length/4))
	internal := authz.NamespaceOf(value) == authz.InternalNamespace
	var text []rune
	var kept, sameLeaf []candidate
	consider := func(name string) bool {
		if name == value || !internal && authz.NamespaceOf(name) == authz.InternalNamespace {
			return true // out of the pool
		}
		if abs(len(name)-length) > budget {
			return false
		}
		if text == nil {
			text = []rune(value)
		}
		distance := editDistance(text, name, budget)
		if distance > budget {
			return false
		}
		kept = append(kept, candidate{name, distance})
		return true
	}
	ending := lastSegment(value)
	for _, key := range c.keys {
		if !consider(key) && ending != "" && strings.HasSuffix(key, ending) {
			sameLeaf = append(sameLeaf, candidate{key, budget + 1})
		}
	}
	if expected == authz.ExpectedPattern {
		for _, path := range c.groupPaths {
			if pattern := authz.SubtreePattern(path); c.isGroup(path) && c.IsKnownPattern(pattern) {
				consider(pattern)
			}
		}
	}
	if len(sameLeaf) <= maxNear {
		kept = append(kept, sameLeaf...)
	}
	slices.SortFunc(kept, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), strings.Compare(a.name, b.name))
	})
	kept = kept[:min(len(kept), maxNear)]
	names := make([]string, len(kept))
	for i, k := range kept {
		names[i] = k.name
	}
	return names
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

// editDistance is the Levenshtein distance of a value and a name of the catalog,
// which is ASCII; past the limit any larger number. Only cells within the limit
// of the diagonal are computed.
func editDistance(value []rune, name string, limit int) int {
	beyond := limit + 1
	row := make([]int, len(name)+1)
	for j := range row {
		row[j] = min(j, beyond)
	}
	for i, r := range value {
		from, to := max(1, i+1-limit), min(len(name), i+1+limit)
		diagonal := row[from-1]
		row[from-1] = beyond
		if from == 1 {
			row[0] = min(i+1, beyond)
		}
		best := row[from-1]
		for j := from; j <= to; j++ {
			cost := diagonal
			if rune(name[j-1]) != r {
				cost = 1 + min(diagonal, row[j-1], row[j])
			}
			diagonal, row[j] = row[j], min(cost, beyond)
			best = min(best, row[j])
		}
		if best > limit {
			return beyond
		}
	}
	return row[len(name)]
}

func abs(n int) int { return max(n, -n) }
