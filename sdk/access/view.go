package access

import (
	"sync"
	"sync/atomic"
)

// View is a chain reduced to the scopes at which one principal has rows: deciding
// on it costs nothing for the depth of the chain, nor, in a catalog of up to
// effectiveKeys keys, for the rows on it.
type View struct {
	slots []*slot

	// sets holds bitsets of the keys allowed, then of those revoked, once joined;
	// nil in a larger catalog.
	sets   []uint64
	joined atomic.Bool
	once   sync.Once
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
	if a.vocabulary.words <= effectiveKeys/64 {
		v.sets = make([]uint64, 2*a.vocabulary.words)
	}
	return v
}

// DecideView is Decide on a reduced chain.
func (a *Access) DecideView(k Key, v *View) (allowed, revoked bool) {
	if v.sets == nil {
		return a.walkView(k, v)
	}
	if !v.joined.Load() {
		v.once.Do(func() { a.effective(v) })
	}
	word, bit := int(k.index>>6), k.index&63
	return v.sets[word]>>bit&1 != 0, v.sets[len(v.sets)/2+word]>>bit&1 != 0
}

func (a *Access) walkView(k Key, v *View) (allowed, revoked bool) {
	if a.has(a.global.revokes, k.index) {
		return false, true
	}
	allowed = a.has(a.global.grants, k.index)
	for _, s := range v.slots {
		if a.revokesAt(s, k.index) {
			return false, true
		}
		if !allowed && a.vocabulary.applies(k, s.scopeType) {
			allowed = a.grantsAt(s, k.index)
		}
	}
	return allowed, false
}

// effective joins what stands on the chain: granted and grantable somewhere, and
// revoked nowhere.
func (a *Access) effective(v *View) {
	words := a.vocabulary.words
	allowed, revoked := v.sets[:words], v.sets[words:]
	a.join(allowed, a.global.grants, nil)
	a.join(revoked, a.global.revokes, nil)
	for _, s := range v.slots {
		if s.scopeType != noType {
			a.joinGrants(allowed, s)
		}
		a.joinRevokes(revoked, s)
	}
	for i := range allowed {
		allowed[i] &^= revoked[i]
	}
	v.joined.Store(true)
}

// joinGrants adds what is granted and grantable at a slot of a declared type.
func (a *Access) joinGrants(into []uint64, s *slot) {
	filter := a.vocabulary.grantable[s.scopeType]
	if s.apart {
		a.join(into, set{s.words[0], s.words[1]}, filter)
		return
	}
	for _, p := range s.words[s.revokes : s.revokes+s.grants] {
		joinSpan(into, int(p>>16), int(p&0xffff), filter)
	}
}

func (a *Access) joinRevokes(into []uint64, s *slot) {
	if s.apart {
		a.join(into, set{s.words[2], s.words[3]}, nil)
		return
	}
	for _, p := range s.words[:s.revokes] {
		joinSpan(into, int(p>>16), int(p&0xffff), nil)
	}
}

// join adds a set to a bitset; only keys of the filter, unless that is nil.
func (a *Access) join(into []uint64, s set, filter []uint64) {
	if s.length != bitsetForm {
		for _, p := range a.arena[s.offset : s.offset+s.length] {
			joinSpan(into, int(p>>32), int(uint32(p)), filter)
		}
		return
	}
	for word, bits := range a.arena[s.offset : int(s.offset)+len(into)] {
		if filter != nil {
			bits &= filter[word]
		}
		into[word] |= bits
	}
}

func joinSpan(into []uint64, lo, hi int, filter []uint64) {
	for word := lo >> 6; word<<6 < hi; word++ {
		bits := ^uint64(0)
		if start := word << 6; start < lo {
			bits <<= lo - start
		}
		if end := (word + 1) << 6; end > hi {
			bits &= ^uint64(0) >> (end - hi)
		}
		if filter != nil {
			bits &= filter[word]
		}
		into[word] |= bits
	}
}
