package access

import "sync/atomic"

// View is a chain reduced to the scopes at which one principal has rows: deciding
// on it costs nothing for the depth of the chain, nor, in a catalog of up to
// effectiveKeys keys, for the rows on it.
type View struct {
	slots     []*slot
	effective atomic.Pointer[[]uint64] // bitsets of the keys allowed, then of those revoked; made at first use
}

// effectiveKeys bounds the catalogs for which a view keeps bitsets.
const effectiveKeys = 1024

// View reduces a chain.
func (a *Access) View(c *Chain) *View {
	v := &View{}
	for i, h := range c.hashes {
		if s := a.find(h, c.scopes[i]); s != nil {
			v.slots = append(v.slots, s)
		}
	}
	return v
}

// DecideView is Decide on a reduced chain.
func (a *Access) DecideView(k Key, v *View) (allowed, revoked bool) {
	if a.vocabulary.words > effectiveKeys/64 {
		return a.walkView(k, v)
	}
	effective := v.effective.Load()
	if effective == nil {
		effective = a.effective(v)
		v.effective.Store(effective) // another reader may have made an equal one
	}
	sets := *effective
	word, bit := int(k.index>>6), k.index&63
	return sets[word]>>bit&1 != 0, sets[len(sets)/2+word]>>bit&1 != 0
}

func (a *Access) walkView(k Key, v *View) (allowed, revoked bool) {
	if a.has(a.global.revokes, k.index) {
		return false, true
	}
	allowed = a.has(a.global.grants, k.index)
	for _, s := range v.slots {
		if a.has(s.revokes, k.index) {
			return false, true
		}
		if !allowed && a.vocabulary.applies(k, s.scopeType) {
			allowed = a.has(s.grants, k.index)
		}
	}
	return allowed, false
}

// effective joins what stands on the chain: granted and grantable somewhere, and
// revoked nowhere.
func (a *Access) effective(v *View) *[]uint64 {
	words := a.vocabulary.words
	sets := make([]uint64, 2*words)
	allowed, revoked := sets[:words], sets[words:]
	a.join(allowed, a.global.grants, nil)
	a.join(revoked, a.global.revokes, nil)
	for _, s := range v.slots {
		if s.scopeType != noType {
			a.join(allowed, s.grants, a.vocabulary.grantable[s.scopeType])
		}
		a.join(revoked, s.revokes, nil)
	}
	for i := range allowed {
		allowed[i] &^= revoked[i]
	}
	return &sets
}

// join adds a set to a bitset; only keys of the filter, unless that is nil.
func (a *Access) join(into []uint64, s set, filter []uint64) {
	keep := func(word int, bits uint64) {
		if filter != nil {
			bits &= filter[word]
		}
		into[word] |= bits
	}
	if s.length == bitsetForm {
		for word, bits := range a.arena[s.offset : int(s.offset)+len(into)] {
			keep(word, bits)
		}
		return
	}
	for _, p := range a.arena[s.offset : s.offset+s.length] {
		lo, hi := int(p>>32), int(uint32(p))
		for word := lo >> 6; word<<6 < hi; word++ {
			bits := ^uint64(0)
			if start := word << 6; start < lo {
				bits <<= lo - start
			}
			if end := (word + 1) << 6; end > hi {
				bits &= ^uint64(0) >> (end - hi)
			}
			keep(word, bits)
		}
	}
}
