package access

import (
	"math"
	"slices"
	"sync"

	"github.com/authzhost/authz/sdk/authz"
)

// Compile walks the rows of a principal once. The result answers for the
// instants ValidAt reports; past them the same rows are compiled again, without a
// fetch. Rows are not copied: data must not change afterwards.
func Compile(v *Vocabulary, data *authz.SubjectAccess, now int64) *Access {
	c := compilers.Get().(*compiler)
	defer compilers.Put(c)
	c.reset(v, data)
	for i := range data.Grants {
		c.grant(&data.Grants[i], now)
	}
	if data.UserID != nil {
		for i := range data.Revokes {
			c.revoke(&data.Revokes[i])
		}
	}
	return c.finish()
}

var compilers = sync.Pool{New: func() any { return new(compiler) }}

// globalSlot is the number that the global scope has while compiling.
const globalSlot = 0

// entry is one interval granted or revoked at one scope; cell is twice the
// scope's number, plus one for revokes.
type entry struct {
	cell uint32
	span span
}

// compiler is the scratch of one compilation.
type compiler struct {
	vocabulary *Vocabulary
	data       *authz.SubjectAccess
	from       int64
	until      int64

	scopes scopeNumbers
	types  []int32
	soles  []*role // by scope: the role that is all that is granted there, or mixed

	entries []entry
	spans   []uint64 // those of the entries, by cell, packed to sort as numbers
	counts  []uint32 // cell n holds spans[counts[n]:counts[n+1]]
	marked  []bool   // by cell: it holds a bitset
	bitset  []uint64 // of the cell at hand

	members map[string]bool
	roles   roleBook

	lastScope   string
	lastSlot    uint32
	lastType    string
	lastNumber  int32
	lastSubject string
	lastMember  bool
}

func (c *compiler) reset(v *Vocabulary, data *authz.SubjectAccess) {
	if c.members == nil {
		c.members = map[string]bool{}
	}
	c.vocabulary, c.data = v, data
	c.from, c.until = math.MinInt64, math.MaxInt64
	c.scopes.reset()
	c.types = append(c.types[:0], noType)
	c.soles = append(c.soles[:0], mixed)
	c.entries = c.entries[:0]
	c.lastScope, c.lastSlot = authz.Global, globalSlot
	c.lastType, c.lastNumber = "", noType
	for _, s := range data.Closure {
		c.members[s] = true
	}
	c.roles.open(v, data.Roles)
}

// release lets go of everything that belongs to the rows but the roles.
func (c *compiler) release() {
	c.vocabulary, c.data = nil, nil
	c.scopes.release()
	clear(c.members)
	clear(c.soles)
	c.lastScope, c.lastType, c.lastSubject, c.lastMember = "", "", "", false
}

func (c *compiler) grant(g *authz.Grant, now int64) {
	if g.Subject != c.lastSubject {
		c.lastSubject, c.lastMember = g.Subject, c.members[g.Subject]
	}
	if !c.lastMember {
		return
	}
	if at, ok := g.ExpiresAt.At(); ok {
		if g.ExpiresAt.Expired(now) {
			// A clock that steps back before this instant finds the row live.
			if at > 0 {
				c.from = max(c.from, at)
			}
			return
		}
		c.until = min(c.until, at)
	}
	slot, ok := c.slot(g.Scope)
	if !ok || slot != globalSlot && c.types[slot] == noType {
		return
	}
	if g.Pattern != "" {
		c.mix(slot)
		c.add(2*slot, g.Pattern)
		return
	}
	r := c.roles.find(g.RoleID)
	switch {
	case r == nil || len(r.spans) == 0 || r == c.soles[slot]:
	case c.soles[slot] == nil && !c.fit(len(r.spans)):
		c.soles[slot] = r
	default:
		c.mix(slot)
		c.addRole(slot, r)
	}
}

// mix notes that more than a single role is granted at a scope.
func (c *compiler) mix(slot uint32) {
	if r := c.soles[slot]; r != mixed {
		c.soles[slot] = mixed
		if r != nil {
			c.addRole(slot, r)
		}
	}
}

func (c *compiler) addRole(slot uint32, r *role) {
	for _, s := range r.spans {
		c.entries = append(c.entries, entry{2 * slot, s})
	}
}

// sole is the role that is all that is granted at a scope, nil if there is none.
func (c *compiler) sole(n int) *role {
	if r := c.soles[n]; r != mixed {
		return r
	}
	return nil
}

func (c *compiler) revoke(r *authz.Revoke) {
	if r.UserID != *c.data.UserID {
		return
	}
	if slot, ok := c.slot(r.Scope); ok {
		c.add(2*slot+1, r.Pattern)
	}
}

// add notes what a pattern matches among the declared keys; one that matches
// none of them only matters to the plain walk.
func (c *compiler) add(cell uint32, pattern string) {
	if s, ok := c.vocabulary.spans[pattern]; ok && !s.empty() {
		c.entries = append(c.entries, entry{cell, s})
	}
}

func (c *compiler) slot(scope string) (uint32, bool) {
	if scope == c.lastScope {
		return c.lastSlot, true
	}
	if scope == "" {
		return 0, false
	}
	slot, fresh := c.scopes.number(scope)
	if fresh {
		if t := authz.ScopeType(scope); t != c.lastType {
			c.lastType, c.lastNumber = t, c.vocabulary.typeNumber(t)
		}
		c.types = append(c.types, c.lastNumber)
		c.soles = append(c.soles, nil)
	}
	c.lastScope, c.lastSlot = scope, slot
	return slot, true
}

func (c *compiler) finish() *Access {
	c.sort()
	a := &Access{vocabulary: c.vocabulary, data: c.data, from: c.from, until: c.until, active: c.data.Active}

	// Scopes that ended up without any interval are left out.
	used := 0
	for n := 1; n < len(c.types); n++ {
		if c.hasRows(n) {
			used++
		}
	}
	a.slots = make([]slot, 0, used)
	arena := make([]uint64, 0, c.arenaSize())
	a.global.grants, arena = c.set(0, arena)
	a.global.revokes, arena = c.set(1, arena)
	a.prepareIndex(used)
	for n := 1; n < len(c.types); n++ {
		if !c.hasRows(n) {
			continue
		}
		s := slot{scope: c.scopes.names[n]}
		s.setType(c.types[n])
		arena = c.fill(&s, n, arena)
		a.slots = append(a.slots, s)
		a.enter(c.scopes.hashes[n])
	}
	a.arena = arena
	if words := c.vocabulary.words; words <= heldWords {
		a.arena = arena[:len(arena)+words]
		var gone [heldWords]uint64
		a.joinHeld(a.arena[len(arena):], gone[:words])
	}
	c.release()
	return a
}

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
