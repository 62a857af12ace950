package cedar

import (
	"iter"
	"slices"

	"github.com/cedar-policy/cedar-go"
)

// slice iterates the policies whose scope names a principal or what it is in.
// That is sound: no other policy can apply to it.
type slice struct {
	index     map[cedar.EntityUID][]identified
	entities  cedar.EntityMap
	principal cedar.EntityUID
}

func (s slice) All() iter.Seq2[cedar.PolicyID, *cedar.Policy] {
	return func(yield func(cedar.PolicyID, *cedar.Policy) bool) {
		var few [16]cedar.EntityUID
		seen := append(few[:0], s.principal)
		for i := 0; i < len(seen); i++ {
			for _, p := range s.index[seen[i]] {
				if !yield(p.id, p.policy) {
					return
				}
			}
			for parent := range s.entities[seen[i]].Parents.All() {
				if !slices.Contains(seen, parent) {
					seen = append(seen, parent)
				}
			}
		}
	}
}
