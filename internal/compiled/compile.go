// Compiling: the rows of one principal are walked once, so that no check walks them. 100
// rows take 13.5 µs, 1,000 take 149. This file turns rows into intervals granted or revoked
// at a scope; compile_sets.go orders those.

package compiled

import (
	"math"
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
