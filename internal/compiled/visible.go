// Whether anything is visible under a pattern: the definition of a check for every key that
// it matches, at every scope with a grant. Sets of keys answer for all keys of a scope at
// once. Open regions have no keys to number, so their rows are walked.

package compiled

import (
	"slices"

	"github.com/authzhost/authz/sdk/authz"
)

// Visible reports whether an active principal can see anything under the pattern:
// some key that it matches is granted at a scope whose chain no revoke of the key
// touches, or an open region that it reaches into is. The region part is an
// approximation, closed on revokes: one that overlaps any part of the region hides
// all of it.
func (a *Access) Visible(pattern string, now int64, chains Chains) (bool, error) {
	if !a.active {
		return false, nil
	}
	if asked, ok := a.vocabulary.spans[pattern]; ok && !asked.empty() {
		if visible, err := a.keysVisible(asked, chains); visible || err != nil {
			return visible, err
		}
	}
	return a.regionsVisible(pattern, now, chains)
}

func (a *Access) keysVisible(asked span, chains Chains) (bool, error) {
	filter := make([]uint64, a.vocabulary.words)
	for i := asked.lo; i < asked.hi; i++ {
		setBit(filter, i)
	}
	set, gone := make([]uint64, len(filter)), make([]uint64, len(filter))
	a.joinSet(set, a.global.grants, filter)
	a.joinSet(gone, a.global.revokes, nil)
	subtract(set, gone)
	if anyBit(set) {
		return true, nil
	}
	for i := range a.slots {
		s := &a.slots[i]
		clear(set)
		a.joinGrants(set, s)
		for w := range set {
			set[w] &= filter[w]
		}
		if !anyBit(set) {
			continue
		}
		chain, err := chains(s.scope)
		if err != nil {
			return false, err
		}
		clear(gone)
		a.joinSet(gone, a.global.revokes, nil)
		for n, h := range chain.hashes {
			if number, ok := a.lookup(h, chain.scopes[n]); ok {
				a.joinRevokes(gone, &a.slots[number])
			}
		}
		subtract(set, gone)
		if anyBit(set) {
			return true, nil
		}
	}
	return false, nil
}

// regionsVisible walks the rows: an open region has no keys to number.
func (a *Access) regionsVisible(pattern string, now int64, chains Chains) (bool, error) {
	regions := a.vocabulary.catalog.OpaqueRegions(pattern)
	if len(regions) == 0 {
		return false, nil
	}
	rows := read(a.data, now)
	for i := range regions {
		region := &regions[i]
		reaches := func(p string) bool {
			return p != authz.Global && authz.Intersects(p, region.Pattern) && authz.Intersects(p, pattern)
		}
		for g := range a.data.Grants {
			grant := &a.data.Grants[g]
			at := grant.Scope == authz.Global || slices.Contains(region.Scopes, authz.ScopeType(grant.Scope))
			if !at || !rows.counts(grant) || !slices.ContainsFunc(rows.patterns(grant), reaches) {
				continue
			}
			chain, err := chains(grant.Scope)
			if err != nil {
				return false, err
			}
			if !rows.overlapped(region.Pattern, chain) {
				return true, nil
			}
		}
	}
	return false, nil
}

// overlapped reports whether a revoke on the chain takes any part of the pattern.
func (r *reading) overlapped(pattern string, c *Chain) bool {
	return slices.ContainsFunc(r.Revokes, func(v authz.Revoke) bool {
		return r.theirs(&v) && authz.Intersects(v.Pattern, pattern) && c.Contains(v.Scope)
	})
}
