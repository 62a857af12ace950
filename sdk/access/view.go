package access

import "sync/atomic"

// View is a chain that is asked about again and again: its first decision reduces it
// to the scopes at which the principal has rows, so that the next cost nothing for its
// depth nor, once its bitsets are made, for the rows on it. Its zero value is made by
// See.
type View struct {
	chain *Chain
	state atomic.Uint32
	walks atomic.Uint32 // decisions made without sets
	sets  []uint64      // bitsets of the keys allowed, then of those revoked
	slots []*slot
	few   [4]*slot // room for slots
}

// The states of a view.
const (
	unseen   uint32 = iota
	reducing        // by another decision: this one reads the chain
	reduced
	joining // by another decision: this one walks
	joined
)

// A view has bitsets from its first decision on in a catalog of up to
// effectiveKeys keys. In one of up to narrowKeys they take kilobytes, and pay
// after more than patience decisions; in a larger one never.
const (
	effectiveKeys = 1024
	patience      = 8
)

// See makes the view of a chain out of a zero one.
func (v *View) See(c *Chain) { v.chain = c }

// Chain is what is seen.
func (v *View) Chain() *Chain { return v.chain }

// reduce finds the slots, unless another decision is about it.
func (a *Access) reduce(v *View) {
	if !v.state.CompareAndSwap(unseen, reducing) {
		return
	}
	v.slots = v.few[:0]
	if c := v.chain; len(a.table) > 0 {
		filterMask := uint64(len(a.filter) - 1)
		for i, h := range c.hashes {
			if inFilter(a.filter[h>>filterShift&filterMask], h) == 0 {
				continue
			}
			if number, ok := a.lookup(h, c.scopes[i]); ok {
				v.slots = append(v.slots, &a.slots[number])
			}
		}
	}
	v.state.Store(reduced)
}

// DecideView is Decide on a view, which is of this principal only.
func (a *Access) DecideView(k Key, v *View) (allowed, revoked bool) {
	if v.state.Load() != joined && !a.join(v) {
		return a.walkView(k, v)
	}
	word, bit := int(k.index>>6), k.index&63
	return v.sets[word]>>bit&1 != 0, v.sets[len(v.sets)/2+word]>>bit&1 != 0
}

func (a *Access) walkView(k Key, v *View) (allowed, revoked bool) {
	if v.state.Load() < reduced {
		return a.Decide(k, v.chain)
	}
	if a.has(a.global.revokes, k.index) {
		return false, true
	}
	allowed = a.has(a.global.grants, k.index)
	for _, s := range v.slots {
		if a.revokesAt(s, k.index) {
			return false, true
		}
		if !allowed && a.vocabulary.applies(k, s.scopeType()) {
			allowed = a.grantsAt(s, k.index)
		}
	}
	return allowed, false
}

// join makes the bitsets of a view, unless they do not pay yet or are being made:
// granted and grantable somewhere, and revoked nowhere.
func (a *Access) join(v *View) bool {
	a.reduce(v)
	words := a.vocabulary.words
	if words > effectiveKeys/64 && (words > narrowKeys/64 || v.walks.Add(1) <= patience) {
		return false
	}
	if !v.state.CompareAndSwap(reduced, joining) {
		return v.state.Load() == joined
	}
	v.sets = make([]uint64, 2*words)
	allowed, revoked := v.sets[:words], v.sets[words:]
	a.joinSet(allowed, a.global.grants, nil)
	a.joinSet(revoked, a.global.revokes, nil)
	for _, s := range v.slots {
		a.joinGrants(allowed, s)
		a.joinRevokes(revoked, s)
	}
	subtract(allowed, revoked)
	v.state.Store(joined)
	return true
}

// joinGrants adds what is granted and grantable at a slot.
func (a *Access) joinGrants(into []uint64, s *slot) {
	scopeType := s.scopeType()
	if scopeType == noType {
		return
	}
	filter := a.vocabulary.grantable[scopeType]
	if s.apart() {
		a.joinSet(into, set{s.words[0], s.words[1]}, filter)
		return
	}
	grants, _ := s.inline()
	for _, p := range grants {
		joinSpan(into, int(p>>16), int(p&0xffff), filter)
	}
}

func (a *Access) joinRevokes(into []uint64, s *slot) {
	if s.apart() {
		a.joinSet(into, a.revokesApart(s), nil)
		return
	}
	_, revokes := s.inline()
	for _, p := range revokes {
		joinSpan(into, int(p>>16), int(p&0xffff), nil)
	}
}

// joinSet adds a set to a bitset; only keys of the filter, unless that is nil.
func (a *Access) joinSet(into []uint64, s set, filter []uint64) {
	if s.length != bitsetForm {
		for _, p := range a.arena[s.offset : s.offset+s.length] {
			joinSpan(into, int(p>>32), int(uint32(p)), filter)
		}
		return
	}
	words := a.arena[s.offset:][:len(into)]
	if filter == nil {
		for i := range words {
			into[i] |= words[i]
		}
		return
	}
	filter = filter[:len(into)]
	for i := range words {
		into[i] |= words[i] & filter[i]
	}
}

func joinSpan(into []uint64, lo, hi int, filter []uint64) {
	if word := lo >> 6; word == (hi-1)>>6 { // most groups are narrow
		mask := uint64(2)<<((hi-1)&63) - 1<<(lo&63)
		if filter != nil {
			mask &= filter[word]
		}
		into[word] |= mask
		return
	}
	joinWide(into, lo, hi, filter)
}

func joinWide(into []uint64, lo, hi int, filter []uint64) {
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
