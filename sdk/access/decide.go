package access

// batch is how many scopes of a chain with rows are judged together. Each is a
// slot somewhere in memory: loaded one after the other they cost a miss each,
// loaded together hardly more than one.
const batch = 16

// candidate is a slot that is probably that of a scope of the chain: its tag is.
type candidate struct{ slot, scope uint32 }

// DecideGlobal is Decide on the chain of the global scope.
func (a *Access) DecideGlobal(k Key) bool {
	return a.has(a.global.grants, k.index) && !a.has(a.global.revokes, k.index)
}

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
	for from := 0; from < len(c.hashes); {
		var at [batch]uint32
		kept, passed := a.through(c.hashes[from:], &at)
		if kept > 0 {
			var found [batch]candidate
			n := a.candidates(c.hashes[from:], at[:kept], c.scopes[from:], &found)
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
		from += passed
	}
	return allowed, false
}

// through lists the hashes that the filter lets through, as many as there is room for,
// and says how many it went through.
func (a *Access) through(hashes []uint64, at *[batch]uint32) (kept, passed int) {
	filter := a.filter
	if len(filter) == 0 { // never where there is a table: it spares the loop its bounds check
		return 0, len(hashes)
	}
	for i, h := range hashes {
		// Whether a scope has rows is not to be foreseen: no branch hangs on it.
		at[kept&(batch-1)] = uint32(i)
		word := filter[h>>filterShift&uint64(len(filter)-1)]
		first, second := 0, 0
		if word&(1<<(h>>filterBit&63)) != 0 {
			first = 1
		}
		if word&(1<<(h>>filterBit2&63)) != 0 {
			second = 1
		}
		if kept += first & second; kept == batch {
			return kept, i + 1
		}
	}
	return kept, len(hashes)
}

// candidates finds the slots of hashes that were let through.
func (a *Access) candidates(hashes []uint64, at []uint32, scopes []string, found *[batch]candidate) (n int) {
	// First the beginnings of the probes, then the probes, which load the slots too: no
	// load waits for another one's outcome.
	var entries [batch]uint32
	table, mask := a.table, uint64(len(a.table)-1)
	for i, scope := range at {
		entries[i&(batch-1)] = table[hashes[scope]&mask]
	}
	touched := uint32(0)
	for i, scope := range at {
		h := hashes[scope]
		tag := a.tag(h)
		place := h & mask
		for e := entries[i&(batch-1)]; e != 0; e = table[place] {
			number := e - tag - 1 // out of range unless the tag is this one
			if number < uint32(len(a.slots)) {
				found[n&(batch-1)] = candidate{slot: number, scope: scope}
				touched |= a.slots[number].shape
				n++
				break
			}
			place = (place + 1) & mask
		}
	}
	if touched&sharedBit == 0 {
		return n
	}
	n = 0 // what was found may hide what was looked for
	for _, scope := range at {
		if number, ok := a.lookup(hashes[scope], scopes[scope]); ok {
			found[n] = candidate{slot: number, scope: scope}
			n++
		}
	}
	return n
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
