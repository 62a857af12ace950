package access

import (
	"iter"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/authzhost/authz/sdk/authz"
)

// Access is the compiled access of one principal: for each scope with rows the
// set of keys granted and the set revoked there. It is immutable.
type Access struct {
	// What a check reads stands first, in the order in which it does, the global
	// question within one cache line.
	from     int64 // valid for from <= now < until
	until    int64
	global   struct{ grants, revokes set }
	active   bool
	slotBits uint8
	arena    []uint64 // the elements of sets that no slot holds itself; up to heldWords, the keys held somewhere last

	// filter has a bit for the hash of every slot's scope: most scopes of a chain
	// have no rows and are passed over by it. table finds slots by that hash: open
	// addressing, each entry a tag over the slot's number plus one, 0 is free.
	filter     []uint64
	table      []uint32
	slots      []slot
	vocabulary *Vocabulary

	data       *authz.SubjectAccess
	scopesOnce sync.Once
	rowScopes  []string // made at first use
	rowHashes  []uint64
	indexOnce  sync.Once
	index      *rowIndex                // made at first use
	held       atomic.Pointer[[]uint64] // the keys held somewhere, made at first use of wide catalogs
	_          [1]uint64                // 256 bytes in all lie at the beginning of a line
}

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

// set is a set of key numbers in the arena: length intervals in ascending
// order, or a bitset over all keys when length is bitsetForm.
type set struct{ offset, length uint32 }

const bitsetForm = ^uint32(0)

// scanned is up to how many intervals are searched in line.
const scanned = 8

// HasExpired reports that a row of the principal had expired when it was compiled.
func (a *Access) HasExpired() bool { return a.from != math.MinInt64 }

// ValidAt reports whether the compiled form holds at the instant: no row
// expires, or is live again, between it and the instant of compilation.
func (a *Access) ValidAt(now int64) bool { return a.from <= now && now < a.until }

// Active reports whether the principal has any access at all.
func (a *Access) Active() bool { return a.active }

// Rows returns what was compiled. Callers must not modify it.
func (a *Access) Rows() *authz.SubjectAccess { return a.data }

// GrantedAt yields the scopes other than "*" at which the key is granted and
// grantable; the scopes that imply it at their ancestors.
func (a *Access) GrantedAt(k Key) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range a.slots {
			s := &a.slots[i]
			if a.grantsAt(s, k.index) && a.vocabulary.applies(k, s.scopeType()) && !yield(s.scope) {
				return
			}
		}
	}
}

// RowScopes lists the distinct scopes other than "*" of all rows, whether they
// confer anything or not. Callers must not modify it.
func (a *Access) RowScopes() []string {
	a.scopesOnce.Do(func() {
		a.rowScopes = rowScopes(a.data)
		a.rowHashes = make([]uint64, len(a.rowScopes))
		for i, scope := range a.rowScopes {
			a.rowHashes[i] = HashScope(scope)
		}
	})
	return a.rowScopes
}

// RowScopeHashes are the HashScope of each of RowScopes.
func (a *Access) RowScopeHashes() []uint64 {
	a.RowScopes()
	return a.rowHashes
}

func rowScopes(data *authz.SubjectAccess) []string {
	seen := map[string]struct{}{authz.Global: {}}
	var scopes []string
	note := func(scope string) {
		if _, ok := seen[scope]; !ok {
			seen[scope] = struct{}{}
			scopes = append(scopes, scope)
		}
	}
	for i := range data.Grants {
		note(data.Grants[i].Scope)
	}
	for i := range data.Revokes {
		note(data.Revokes[i].Scope)
	}
	return scopes
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

func (a *Access) has(s set, k uint32) bool {
	if s.length == bitsetForm {
		return hasBit(a.arena[s.offset:], k)
	}
	spans := a.arena[s.offset : s.offset+s.length]
	if len(spans) > scanned {
		return search(spans, k)
	}
	for _, p := range spans {
		if k < uint32(p) {
			return k >= uint32(p>>32)
		}
	}
	return false
}

// search finds the first interval that ends after k.
func search(spans []uint64, k uint32) bool {
	lo, hi := 0, len(spans)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if uint32(spans[mid]) <= k {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo < len(spans) && k >= uint32(spans[lo]>>32)
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

// Implied reports whether the key, granted below, is implied at the chain's own
// scope: some scope at which it is granted has that scope on its own chain, and
// no revoke there. The global scope is never implied. The caller has found no
// revoke on the chain itself.
func (a *Access) Implied(k Key, target *Chain, chains Chains) (bool, error) {
	scope := target.scopes[0]
	if !k.ImpliedOnAncestors() || scope == authz.Global {
		return false, nil
	}
	for below := range a.GrantedAt(k) {
		if below == scope {
			continue
		}
		own, err := chains(below)
		if err != nil {
			return false, err
		}
		if !own.Contains(scope) {
			continue
		}
		if _, revoked := a.Decide(k, own); !revoked {
			return true, nil
		}
	}
	return false, nil
}
