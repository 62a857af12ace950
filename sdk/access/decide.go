package access

// batch is how many scopes of a chain with rows are judged together. Each is a
// slot somewhere in memory: loaded one after the other they cost a miss each,
// loaded together hardly more than one.
const batch = 24

// candidate is a slot that is probably that of a scope of the chain.
type candidate struct{ slot, scope uint32 }

// Decide judges a declared key on a chain. Every revoke is consulted before any
// allow. The principal's activity is the caller's to judge.
func (a *Access) Decide(k Key, c *Chain) (allowed, revoked bool) {
	if a.has(a.global.revokes, k.index) {
		return false, true
	}
	allowed = a.has(a.global.grants, k.index)
	if len(a.table) == 0 {
		return allowed, false
	}
	for rest := c.hashes; len(rest) > 0; {
		var found [batch]candidate
		from := len(c.hashes) - len(rest)
		n, passed := a.candidates(rest, &found)
		if passed == 0 {
			// More slots share this scope's tag than a batch can hold.
			n, passed = 0, 1
			if number, ok := a.lookup(rest[0], c.scopes[from]); ok {
				found[0], n = candidate{slot: number}, 1
			}
		}
		rest = rest[passed:]
		var touched uint32
		for _, f := range found[:n] {
			touched |= a.slots[f.slot].shape // loads them all; none is 0
		}
		if touched == 0 {
			continue
		}
		for _, f := range found[:n] {
			// The scope is compared only where the key is found: the tag of
			// another scope may be the same, seldom.
			s, scope := &a.slots[f.slot], from+int(f.scope)
			if a.revokesAt(s, k.index) && s.scope == c.scopes[scope] {
				return false, true
			}
			if !allowed && a.grantsAt(s, k.index) && a.vocabulary.applies(k, s.scopeType()) {
				allowed = s.scope == c.scopes[scope]
			}
		}
	}
	return allowed, false
}

// candidates finds the slots of as many hashes as it can take, and says how many
// of them it went through. A hash may have more than one candidate.
func (a *Access) candidates(hashes []uint64, found *[batch]candidate) (n, passed int) {
	// First the scopes that the filter lets through, then the beginnings of their
	// probes, then the probes: no load waits for another one's outcome.
	var through [batch]uint32
	filterMask, mask := uint64(len(a.filter)-1), uint64(len(a.table)-1)
	kept := 0
	for passed < len(hashes) && kept < batch/2 {
		h := hashes[passed]
		through[kept] = uint32(passed)
		kept += int(a.filter[h>>filterShift&filterMask] >> (h >> filterBit & 63) & 1)
		passed++
	}
	var entries [batch]uint32
	for i, scope := range through[:kept] {
		entries[i] = a.table[hashes[scope]&mask]
	}
	for i, scope := range through[:kept] {
		h := hashes[scope]
		tag := a.tag(h)
		at := h & mask
		for e := entries[i]; e != 0; e = a.table[at] {
			number := e - tag - 1 // out of range unless the tag is this one
			if number < uint32(len(a.slots)) {
				if n == batch {
					return n, int(scope) // the rest, this scope included, has its turn next
				}
				found[n] = candidate{slot: number, scope: scope}
				n++
			}
			at = (at + 1) & mask
		}
	}
	return n, passed
}

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
