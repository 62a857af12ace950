// The second half of compiling: intervals are sorted by scope, merged, and put into slots
// and the arena. Of compiling 100 rows it was 44 %.

package compiled

import "slices"

// hasRows reports whether a scope ended up with any interval.
func (c *compiler) hasRows(n int) bool { return c.counts[2*n] != c.counts[2*n+2] || c.sole(n) != nil }

// sort orders the intervals by cell (a counting sort), within a cell by their
// beginning, and merges those that touch.
func (c *compiler) sort() {
	cells := 2 * len(c.types)
	c.counts = slices.Grow(c.counts[:0], cells+2)[:cells+2]
	clear(c.counts)
	for i := range c.entries {
		c.counts[c.entries[i].cell+2]++
	}
	for n := 2; n < len(c.counts); n++ {
		c.counts[n] += c.counts[n-1]
	}
	c.spans = slices.Grow(c.spans[:0], len(c.entries))[:len(c.entries)]
	for i := range c.entries {
		e := &c.entries[i]
		c.spans[c.counts[e.cell+1]] = uint64(e.span.lo)<<32 | uint64(e.span.hi)
		c.counts[e.cell+1]++
	}
	c.marked = slices.Grow(c.marked[:0], cells)[:cells]
	kept := uint32(0)
	for cell := range cells {
		from, to := c.counts[cell], c.counts[cell+1]
		c.counts[cell] = kept
		c.marked[cell] = int(to-from) >= max(c.vocabulary.words, inlined+1)
		if c.marked[cell] {
			kept = c.mark(from, to, kept)
		} else {
			kept = c.merge(from, to, kept)
		}
	}
	c.counts[cells] = kept
}

// mark is merge for a cell of as many intervals as a bitset has words: what it
// writes is that bitset.
func (c *compiler) mark(from, to, kept uint32) uint32 {
	words := c.vocabulary.words
	c.bitset = slices.Grow(c.bitset[:0], words)[:words]
	clear(c.bitset)
	for _, s := range c.spans[from:to] {
		joinSpan(c.bitset, int(s>>32), int(uint32(s)), nil)
	}
	return kept + uint32(copy(c.spans[kept:], c.bitset))
}

// merge writes the merged intervals of spans[from:to] at position kept, which is
// never after from, and returns the position behind them.
func (c *compiler) merge(from, to, kept uint32) uint32 {
	run := c.spans[from:to]
	if len(run) > 1 {
		slices.Sort(run)
	}
	first := kept
	for _, s := range run {
		if kept > first && uint32(s>>32) <= uint32(c.spans[kept-1]) {
			if uint32(s) > uint32(c.spans[kept-1]) {
				c.spans[kept-1] = c.spans[kept-1]>>32<<32 | uint64(uint32(s))
			}
			continue
		}
		c.spans[kept] = s
		kept++
	}
	return kept
}

// elements are the intervals of a cell, or the words of its bitset if it is
// marked.
func (c *compiler) elements(cell int) []uint64 { return c.spans[c.counts[cell]:c.counts[cell+1]] }

// asBitset decides the form of a set: a bitset where it takes at most twice the
// room of the intervals and those are too many to scan.
func asBitset(spans, words int) bool { return spans > 2 && words <= 2*spans }

func (c *compiler) asBitset(cell int) bool {
	return c.marked[cell] || asBitset(len(c.elements(cell)), c.vocabulary.words)
}

// fit reports whether a slot can hold that many intervals itself.
func (c *compiler) fit(spans int) bool {
	return spans <= inlined && len(c.vocabulary.keys) < narrowKeys
}

func (c *compiler) fits(n int) bool {
	return !c.marked[2*n] && !c.marked[2*n+1] && c.sole(n) == nil && c.fit(int(c.counts[2*n+2]-c.counts[2*n]))
}

// fill puts the intervals of a scope into its slot or into the arena.
func (c *compiler) fill(s *slot, n int, arena []uint64) []uint64 {
	if !c.fits(n) {
		var g, r set
		if sole := c.sole(n); sole != nil {
			g, arena = c.place(sole, c.revoked(n), arena)
		} else {
			g, arena = c.set(2*n, arena)
		}
		r, arena = c.set(2*n+1, arena)
		s.setApart(g, r)
		return arena
	}
	grants, revokes := c.elements(2*n), c.elements(2*n+1)
	s.setCounts(len(grants), len(revokes))
	for i, p := range revokes {
		s.words[i] = uint32(p>>32)<<16 | uint32(p)
	}
	for i, p := range grants {
		s.words[len(revokes)+i] = uint32(p>>32)<<16 | uint32(p)
	}
	return arena
}

func (c *compiler) revoked(n int) bool { return c.counts[2*n+1] != c.counts[2*n+2] }

// place puts what a role grants into the arena: once for all scopes, but for those
// whose revokes have to follow it.
func (c *compiler) place(r *role, own bool, arena []uint64) (set, []uint64) {
	if !own && r.placed == c.roles.turn {
		return r.form, arena
	}
	s := set{offset: uint32(len(arena)), length: r.form.length}
	if !own {
		r.placed, r.form = c.roles.turn, s
	}
	return s, append(arena, r.elements...)
}

func (c *compiler) arenaSize() int {
	size := 0
	if c.vocabulary.words <= heldWords {
		size = c.vocabulary.words
	}
	for cell := range 2 * len(c.types) {
		if cell >= 2 && c.fits(cell/2) {
			continue
		}
		if c.asBitset(cell) {
			size += c.vocabulary.words
		} else {
			size += len(c.elements(cell))
		}
	}
	for n := range c.soles {
		if r := c.sole(n); r != nil && (c.revoked(n) || r.counted != c.roles.turn) {
			if !c.revoked(n) {
				r.counted = c.roles.turn
			}
			size += len(r.elements)
		}
	}
	return size
}

func (c *compiler) set(cell int, arena []uint64) (set, []uint64) {
	elements := c.elements(cell)
	s := set{offset: uint32(len(arena)), length: uint32(len(elements))}
	if !c.asBitset(cell) {
		return s, append(arena, elements...)
	}
	s.length = bitsetForm
	if c.marked[cell] {
		return s, append(arena, elements...)
	}
	arena = arena[:len(arena)+c.vocabulary.words]
	for _, p := range elements {
		joinSpan(arena[s.offset:], int(p>>32), int(uint32(p)), nil)
	}
	return s, arena
}
