// Where the rows at one scope are found, for "the row's scope is on the chain" of the
// definition. Most scopes of a chain have no rows: a filter of bits passes over them, a
// table of tags finds the others, and a small slot holds its keys itself, so that a scope
// costs one line of the cache at most.

package compiled

import "math/bits"

// slot holds what stands at one scope: up to three narrow intervals in line,
// revokes first, or the place of its two sets in the arena, where they begin, and
// their lengths: revokes stand right behind grants; grants without revokes may be those
// of other slots too.
type slot struct {
	scope string
	words [inlined]uint32
	shape uint32 // scope type plus one, then shared, apart, counts of grants and revokes in line
}

// inlined is how many intervals a slot holds itself, of key numbers below
// narrowKeys: two 16-bit ends in a word.
const (
	inlined    = 3
	narrowKeys = 1 << 16
)

// The bits of slot.shape.
const (
	countBits = 2
	countMask = 1<<countBits - 1
	apartBit  = 1 << (2 * countBits)
	sharedBit = 2 * apartBit // another slot, behind it, has its tag
	typeShift = 2*countBits + 2
)

func (s *slot) setType(scopeType int32) { s.shape |= uint32(scopeType+1) << typeShift }

func (s *slot) scopeType() int32 { return int32(s.shape>>typeShift) - 1 }

func (s *slot) setCounts(grants, revokes int) {
	s.shape |= uint32(grants)<<countBits | uint32(revokes)
}

func (s *slot) setApart(grants, revokes set) {
	s.shape |= apartBit
	s.words = [inlined]uint32{grants.offset, grants.length, revokes.length}
}

func (s *slot) apart() bool { return s.shape&apartBit != 0 }

// inline returns the intervals in line.
func (s *slot) inline() (grants, revokes []uint32) {
	g, r := s.shape>>countBits&countMask, s.shape&countMask
	return s.words[r : r+g], s.words[:r]
}

func (a *Access) grantsAt(s *slot, k uint32) bool {
	if s.apart() {
		return a.has(set{s.words[0], s.words[1]}, k)
	}
	grants, _ := s.inline()
	return narrow(grants, k)
}

func (a *Access) revokesAt(s *slot, k uint32) bool {
	if s.apart() {
		return a.has(a.revokesApart(s), k)
	}
	_, revokes := s.inline()
	return narrow(revokes, k)
}

// revokesApart finds the revokes of a slot behind its grants.
func (a *Access) revokesApart(s *slot) set {
	grants := s.words[1]
	if grants == bitsetForm {
		grants = uint32(a.vocabulary.words)
	}
	return set{s.words[0] + grants, s.words[2]}
}

func narrow(spans []uint32, k uint32) bool {
	for _, p := range spans {
		if lo := p >> 16; k-lo < p&0xffff-lo {
			return true
		}
	}
	return false
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

// The filter takes bits of the hash that the table's position does not.
const (
	filterShift   = 32
	filterBit     = 26
	filterBit2    = 20
	filterPerSlot = 8 // bits
)

// inFilter is 1 if the filter's word has both bits of the hash, else 0.
func inFilter(word, h uint64) uint64 {
	return word >> (h >> filterBit & 63) & (word >> (h >> filterBit2 & 63)) & 1
}

// prepareIndex sizes filter and table for that many slots; the table is at most
// half full.
func (a *Access) prepareIndex(slots int) {
	if slots == 0 {
		return
	}
	a.slotBits = uint8(bits.Len(uint(slots)))
	a.table = make([]uint32, 1<<bits.Len(uint(2*slots-1)))
	a.filter = make([]uint64, 1<<bits.Len(uint((filterPerSlot*slots-1)/64)))
}

// enter indexes the last slot by the hash of its scope.
func (a *Access) enter(h uint64) {
	a.filter[h>>filterShift&uint64(len(a.filter)-1)] |= 1<<(h>>filterBit&63) | 1<<(h>>filterBit2&63)
	mask := uint64(len(a.table) - 1)
	at := h & mask
	tag := a.tag(h)
	for a.table[at] != 0 {
		if number := a.table[at] - tag - 1; number < uint32(len(a.slots)) {
			a.slots[number].shape |= sharedBit
		}
		at = (at + 1) & mask
	}
	a.table[at] = tag + uint32(len(a.slots))
}

// tag is the upper bits of the hash, above the bits of a slot's number.
func (a *Access) tag(h uint64) uint32 { return uint32(h>>32) >> a.slotBits << a.slotBits }

// lookup finds the one slot of a scope.
func (a *Access) lookup(h uint64, scope string) (number uint32, ok bool) {
	if len(a.table) == 0 {
		return 0, false
	}
	mask, tag := uint64(len(a.table)-1), a.tag(h)
	for at := h & mask; a.table[at] != 0; at = (at + 1) & mask {
		if number := a.table[at] - tag - 1; number < uint32(len(a.slots)) && a.slots[number].scope == scope {
			return number, true
		}
	}
	return 0, false
}
