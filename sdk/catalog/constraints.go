package catalog

import (
	"fmt"

	"github.com/authzhost/authz/internal/spell"
)

// checkConstraints is step 9, run against the built catalog.
func (c *Catalog) checkConstraints(found *issues) {
	ids := map[string]bool{}
	for _, constraint := range c.sod {
		add := func(code, format string, args ...any) {
			found.add(code, pathConstraints,
				"constraints.sod["+spell.Quote(constraint.ID)+"]: "+fmt.Sprintf(format, args...))
		}
		if ids[constraint.ID] {
			add(CodeSoDDuplicate, "duplicate constraint id")
		}
		ids[constraint.ID] = true
		if len(constraint.Sets) < 2 {
			add(CodeSoDSets, "declare at least two mutually exclusive sets")
			continue
		}
		setOf := map[string]int{}
		for i, set := range constraint.Sets {
			if len(set) == 0 {
				add(CodeSoDEmpty, "set %d is empty", i)
			}
			for _, pattern := range set {
				if len(c.OpaqueRegions(pattern)) > 0 {
					add(CodeSoDRegion, "%s reaches into an open import region — attach the owner's document; a constraint over keys this catalog cannot enumerate cannot be checked", spell.Quote(pattern))
					continue
				}
				keys := c.KeysMatching(pattern)
				if len(keys) == 0 {
					add(CodeSoDUnmatched, "%s matches no declared permission", spell.Quote(pattern))
				}
				for _, key := range keys {
					first, seen := setOf[key]
					if !seen {
						setOf[key] = i
					} else if first != i {
						add(CodeSoDOverlap, `"%s" falls in sets %d and %d — a key in two sets makes every holder a violator; narrow the patterns`, key, first, i)
					}
				}
			}
		}
	}
}
