package config

import (
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/spell"
)

// suggest returns the known path nearest to an unknown one, "" when none is
// near. Names that the operator chose are kept. Siblings win; then a key of
// which only the nesting differs (log_level), then one that was written in the
// wrong section.
func (s *section) suggest(path []string) string {
	parent, last := path[:len(path)-1], path[len(path)-1]
	if at := s.find(parent); at != nil && at.key == nil {
		if best := spell.Nearest(last, at.order); best != "" {
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
	if best := spell.NearestWithin(2, strings.Join(path, "_"), flat); best != "" {
		return known[slices.Index(flat, best)]
	}
	return misplaced
}
