package access

import (
	"cmp"
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

// globalSlot is the number of the slot that the global scope has of its own.
const globalSlot = 0

// entry is one interval granted or revoked at one slot; cell is twice the slot's
// number, plus one for revokes.
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

	scopes  []string
	types   []int32
	slots   map[string]uint32
	entries []entry
	sorted  []entry
	counts  []uint32

	members   map[string]bool
	roles     map[string]roleSpans
	roleArena []span

	lastScope   string
	lastSlot    uint32
	lastSubject string
	lastMember  bool
}

func (c *compiler) reset(v *Vocabulary, data *authz.SubjectAccess) {
	c.vocabulary, c.data = v, data
	c.from, c.until = math.MinInt64, math.MaxInt64
	c.scopes = append(c.scopes[:0], authz.Global)
	c.types = append(c.types[:0], noType)
	c.entries, c.roleArena = c.entries[:0], c.roleArena[:0]
	if c.slots == nil || len(c.slots) > maxKeptScratch {
		c.slots, c.members, c.roles = map[string]uint32{}, map[string]bool{}, map[string]roleSpans{}
		c.entries, c.sorted, c.counts, c.roleArena = nil, nil, nil, nil
	}
	clear(c.slots)
	clear(c.members)
	clear(c.roles)
	c.slots[authz.Global] = globalSlot
	c.lastScope, c.lastSlot = authz.Global, globalSlot
	c.lastSubject, c.lastMember = "", false
	for _, s := range data.Closure {
		c.members[s] = true
	}
	for i := range data.Roles {
		from := len(c.roleArena)
		for _, p := range data.Roles[i].Patterns {
			if s, ok := v.spans[p]; ok && !s.empty() {
				c.roleArena = append(c.roleArena, s)
			}
		}
		c.roles[data.Roles[i].ID] = roleSpans{from, len(c.roleArena)}
	}
}

// roleSpans is where the intervals of a role's patterns stand in the arena.
type roleSpans struct{ from, to int }

// maxKeptScratch keeps one huge principal from pinning its scratch for ever.
const maxKeptScratch = 1 << 14

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
	if !ok {
		return
	}
	if slot != globalSlot && c.types[slot] == noType {
		return
	}
	if g.Pattern != "" {
		c.add(2*slot, g.Pattern)
		return
	}
	role := c.roles[g.RoleID]
	for _, s := range c.roleArena[role.from:role.to] {
		c.entries = append(c.entries, entry{2 * slot, s})
	}
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
	slot, ok := c.slots[scope]
	if !ok {
		slot = uint32(len(c.scopes))
		c.slots[scope] = slot
		c.scopes = append(c.scopes, scope)
		c.types = append(c.types, c.vocabulary.scopeType(scope))
	}
	c.lastScope, c.lastSlot = scope, slot
	return slot, true
}

func (c *compiler) finish() *Access {
	c.sort()
	a := &Access{vocabulary: c.vocabulary, data: c.data, from: c.from, until: c.until, active: c.data.Active}

	// Slots that ended up without any interval are left out.
	used := 0
	for slot := 1; slot < len(c.scopes); slot++ {
		if c.counts[2*slot] != c.counts[2*slot+2] {
			used++
		}
	}
	a.slots = make([]slot, used)
	arena := make([]uint64, 0, c.arenaSize())
	a.global.grants, arena = c.set(0, arena)
	a.global.revokes, arena = c.set(1, arena)
	next := 0
	for n := 1; n < len(c.scopes); n++ {
		if c.counts[2*n] == c.counts[2*n+2] {
			continue
		}
		s := &a.slots[next]
		next++
		s.scope, s.scopeType = c.scopes[n], c.types[n]
		arena = c.fill(s, n, arena)
	}
	a.arena = arena
	a.index()
	c.vocabulary, c.data = nil, nil
	clear(c.scopes)
	clear(c.slots)
	clear(c.members)
	clear(c.roles)
	c.lastScope, c.lastSubject = "", ""
	return a
}

// sort orders entries by cell (a counting sort), each cell by interval, and
// merges what touches. Afterwards cell n holds sorted[counts[n]:counts[n+1]].
func (c *compiler) sort() {
	cells := 2 * len(c.scopes)
	c.counts = slices.Grow(c.counts[:0], cells+2)[:cells+2]
	clear(c.counts)
	for _, e := range c.entries {
		c.counts[e.cell+2]++
	}
	for n := 2; n < len(c.counts); n++ {
		c.counts[n] += c.counts[n-1]
	}
	c.sorted = slices.Grow(c.sorted[:0], len(c.entries))[:len(c.entries)]
	for _, e := range c.entries {
		c.sorted[c.counts[e.cell+1]] = e
		c.counts[e.cell+1]++
	}
	kept := uint32(0)
	for cell := range cells {
		from, to := c.counts[cell], c.counts[cell+1]
		c.counts[cell] = kept
		kept = c.merge(from, to, kept)
	}
	c.counts[cells] = kept
}

// merge writes the merged intervals of sorted[from:to] at position kept, which
// is never after from, and returns the position behind them.
func (c *compiler) merge(from, to, kept uint32) uint32 {
	run := c.sorted[from:to]
	if len(run) > 1 {
		slices.SortFunc(run, func(a, b entry) int { return cmp.Compare(a.span.lo, b.span.lo) })
	}
	first := kept
	for _, e := range run {
		if kept > first && e.span.lo <= c.sorted[kept-1].span.hi {
			c.sorted[kept-1].span.hi = max(c.sorted[kept-1].span.hi, e.span.hi)
			continue
		}
		c.sorted[kept] = e
		kept++
	}
	return kept
}

func (c *compiler) spansOf(cell int) []entry { return c.sorted[c.counts[cell]:c.counts[cell+1]] }

// asBitset decides the form of a set: a bitset where it takes at most twice the
// room of the intervals and those are too many to scan.
func (c *compiler) asBitset(spans int) bool {
	return spans > 2 && c.vocabulary.words <= 2*spans
}

// fits reports whether a slot can hold its intervals itself.
func (c *compiler) fits(n int) bool {
	return c.counts[2*n+2]-c.counts[2*n] <= inlined && len(c.vocabulary.keys) < narrowKeys
}

// fill puts the intervals of a scope into its slot or into the arena.
func (c *compiler) fill(s *slot, n int, arena []uint64) []uint64 {
	grants, revokes := c.spansOf(2*n), c.spansOf(2*n+1)
	if !c.fits(n) {
		var g, r set
		g, arena = c.set(2*n, arena)
		r, arena = c.set(2*n+1, arena)
		s.apart, s.words = true, [inlined]uint32{g.offset, g.length, r.offset, r.length}
		return arena
	}
	s.grants, s.revokes = uint8(len(grants)), uint8(len(revokes))
	for i, e := range revokes {
		s.words[i] = e.span.lo<<16 | e.span.hi
	}
	for i, e := range grants {
		s.words[len(revokes)+i] = e.span.lo<<16 | e.span.hi
	}
	return arena
}

func (c *compiler) arenaSize() int {
	size := 0
	for cell := range 2 * len(c.scopes) {
		if cell >= 2 && c.fits(cell/2) {
			continue
		}
		n := len(c.spansOf(cell))
		if c.asBitset(n) {
			n = c.vocabulary.words
		}
		size += n
	}
	return size
}

func (c *compiler) set(cell int, arena []uint64) (set, []uint64) {
	spans := c.spansOf(cell)
	s := set{offset: uint32(len(arena)), length: uint32(len(spans))}
	if !c.asBitset(len(spans)) {
		for _, e := range spans {
			arena = append(arena, uint64(e.span.lo)<<32|uint64(e.span.hi))
		}
		return s, arena
	}
	s.length = bitsetForm
	arena = arena[:len(arena)+c.vocabulary.words]
	bits := arena[s.offset:]
	for _, e := range spans {
		for i := e.span.lo; i < e.span.hi; i++ {
			setBit(bits, i)
		}
	}
	return s, arena
}
