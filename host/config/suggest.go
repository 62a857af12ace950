package config

import (
	"slices"
	"strings"
)

// suggest returns the known path nearest to an unknown one, "" when none is
// near. Names that the operator chose are kept. Siblings win; then a key of
// which only the nesting differs (log_level), then one that was written in the
// wrong section.
func (s *section) suggest(path []string) string {
	parent, last := path[:len(path)-1], path[len(path)-1]
	if at := s.find(parent); at != nil && at.key == nil {
		if best := nearest(last, at.order); best != "" {
			return join(append(slices.Clone(parent), best))
		}
	}
	var flat, known []string
	var misplaced string
	for _, k := range Keys() {
		segments := strings.Split(k.Path, ".")
		for i, segment := range segments {
			if segment == anyName && i < len(path) {
				segments[i] = path[i]
			}
		}
		known = append(known, join(segments))
		flat = append(flat, strings.Join(segments, "_"))
		if misplaced == "" && segments[len(segments)-1] == last && (len(path) == 1 || segments[0] == path[0]) {
			misplaced = join(segments)
		}
	}
	if best := within(2, strings.Join(path, "_"), flat); best != "" {
		return known[slices.Index(flat, best)]
	}
	return misplaced
}

// nearest returns the candidate within a third of the word's length (one edit
// at least), the first of the nearest; "" when none is.
func nearest(word string, candidates []string) string {
	return within(max(1, len(word)/3), word, candidates)
}

func within(edits int, word string, candidates []string) string {
	best, bound := "", edits+1
	for _, c := range candidates {
		if d := distance(word, c, bound); d < bound && d < max(len(word), len(c)) {
			best, bound = c, d
		}
	}
	return best
}

// distance counts insertions, deletions, substitutions and swaps of neighbours,
// up to bound.
func distance(a, b string, bound int) int {
	if len(a)-len(b) >= bound || len(b)-len(a) >= bound || len(a) > 256 {
		return bound
	}
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, above, row := rows[(i+2)%3], rows[i%3], rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return rows[(len(a)+1)%3][len(b)]
}
