// Sets of keys by number, for "the pattern matches the key" of the definition. A wildcard is
// one interval of numbers; few intervals are scanned, many are searched, and where a bitset
// takes hardly more room it answers in one load.

package compiled

// set is a set of key numbers in the arena: length intervals in ascending
// order, or a bitset over all keys when length is bitsetForm.
type set struct{ offset, length uint32 }

const bitsetForm = ^uint32(0)

// scanned is up to how many intervals are searched in line.
const scanned = 8

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

func subtract(from, gone []uint64) {
	for i := range from {
		from[i] &^= gone[i]
	}
}

func anyBit(set []uint64) bool {
	for _, word := range set {
		if word != 0 {
			return true
		}
	}
	return false
}

func setBit(set []uint64, i uint32) { set[i>>6] |= 1 << (i & 63) }

func hasBit(set []uint64, i uint32) bool { return set[i>>6]>>(i&63)&1 != 0 }
