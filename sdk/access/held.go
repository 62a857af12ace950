package access

import (
	"math/bits"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
)

// HeldAnywhere reports whether an active principal holds a declared key at any
// scope: some grant confers it, and no revoke at "*" takes it away. It is never a
// gate.
func (a *Access) HeldAnywhere(k Key) bool { return a.active && hasBit(a.heldSet(), k.index) }

// heldWords is up to how many words the set of keys held somewhere is made when the
// rows are compiled, where they are at hand: found later, it takes a line of the
// cache for each scope.
const heldWords = effectiveKeys / 64

// heldSet is the bitset of the keys held somewhere. Two that make it at once make the
// same.
func (a *Access) heldSet() []uint64 {
	words := a.vocabulary.words
	if words <= heldWords {
		return a.arena[len(a.arena)-words:]
	}
	if made := a.held.Load(); made != nil {
		return *made
	}
	set := make([]uint64, words)
	a.joinHeld(set, make([]uint64, words))
	a.held.Store(&set)
	return set
}

// joinHeld adds the keys held somewhere to an empty set; gone is empty room.
func (a *Access) joinHeld(set, gone []uint64) {
	a.joinSet(set, a.global.grants, nil)
	for i := range a.slots {
		a.joinGrants(set, &a.slots[i])
	}
	a.joinSet(gone, a.global.revokes, nil)
	subtract(set, gone)
}

// HeldKeys lists the declared keys that an active principal holds somewhere, in
// catalog order.
func (a *Access) HeldKeys() []string {
	if !a.active {
		return []string{}
	}
	set := a.heldSet()
	count := 0
	for _, word := range set {
		count += bits.OnesCount64(word)
	}
	if count == 0 {
		return []string{}
	}
	held := make([]string, count)
	names, n := a.vocabulary.catalog.Keys(), 0
	for i, word := range set {
		for ; word != 0; word &= word - 1 {
			held[n] = names[i<<6|bits.TrailingZeros64(word)]
			n++
		}
	}
	return held
}

func subtract(from, gone []uint64) {
	for i := range from {
		from[i] &^= gone[i]
	}
}

// GrantedScopes are the scopes at which a key is granted and those at which it is
// revoked, each sorted; for listing. Granted is not reduced by Revoked and never
// holds implied ancestors.
type GrantedScopes struct {
	Granted []string `json:"granted"`
	Revoked []string `json:"revoked"`
}

// GrantedScopes lists the scopes of a declared key; both are empty for an inactive
// principal.
func (a *Access) GrantedScopes(k Key) GrantedScopes {
	g := GrantedScopes{Granted: []string{}, Revoked: []string{}}
	if !a.active {
		return g
	}
	if a.has(a.global.grants, k.index) {
		g.Granted = append(g.Granted, authz.Global)
	}
	if a.has(a.global.revokes, k.index) {
		g.Revoked = append(g.Revoked, authz.Global)
	}
	for i := range a.slots {
		s := &a.slots[i]
		if a.vocabulary.applies(k, s.scopeType()) && a.grantsAt(s, k.index) {
			g.Granted = append(g.Granted, s.scope)
		}
		if a.revokesAt(s, k.index) {
			g.Revoked = append(g.Revoked, s.scope)
		}
	}
	slices.Sort(g.Granted)
	slices.Sort(g.Revoked)
	return g
}

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

func anyBit(set []uint64) bool {
	for _, word := range set {
		if word != 0 {
			return true
		}
	}
	return false
}

// regionsVisible walks the rows: an open region has no keys to number.
func (a *Access) regionsVisible(pattern string, now int64, chains Chains) (bool, error) {
	regions := a.vocabulary.catalog.OpaqueRegions(pattern)
	if len(regions) == 0 {
		return false, nil
	}
	w := newWalk(a.vocabulary, a.data, "", now)
	for i := range regions {
		region := &regions[i]
		reaches := func(p string) bool {
			return p != authz.Global && authz.Intersects(p, region.Pattern) && authz.Intersects(p, pattern)
		}
		for g := range a.data.Grants {
			grant := &a.data.Grants[g]
			at := grant.Scope == authz.Global || slices.Contains(region.Scopes, authz.ScopeType(grant.Scope))
			if !at || !w.conferring(grant, reaches) {
				continue
			}
			chain, err := chains(grant.Scope)
			if err != nil {
				return false, err
			}
			if !w.overlapped(region.Pattern, chain) {
				return true, nil
			}
		}
	}
	return false, nil
}

// HoldsUndeclared is HeldAnywhere for a key that the catalog cannot list.
func HoldsUndeclared(v *Vocabulary, data *authz.SubjectAccess, key string, now int64) bool {
	w := newWalk(v, data, key, now)
	return data.Active && len(w.revokes(GlobalChain)) == 0 &&
		slices.ContainsFunc(data.Grants, func(g authz.Grant) bool { return w.live(&g) })
}

// GrantedScopesUndeclared is GrantedScopes for a key that the catalog cannot list.
func GrantedScopesUndeclared(v *Vocabulary, data *authz.SubjectAccess, key string, now int64) GrantedScopes {
	g := GrantedScopes{Granted: []string{}, Revoked: []string{}}
	if !data.Active {
		return g
	}
	w := newWalk(v, data, key, now)
	for i := range data.Grants {
		if w.live(&data.Grants[i]) {
			g.Granted = append(g.Granted, data.Grants[i].Scope)
		}
	}
	for i := range data.Revokes {
		if w.matches(&data.Revokes[i]) {
			g.Revoked = append(g.Revoked, data.Revokes[i].Scope)
		}
	}
	slices.Sort(g.Granted)
	slices.Sort(g.Revoked)
	return GrantedScopes{Granted: slices.Compact(g.Granted), Revoked: slices.Compact(g.Revoked)}
}
