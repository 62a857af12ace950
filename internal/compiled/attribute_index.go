// The deciding rows of one declared key, by an index of the rows by scope instead of a walk:
// a check that is observed takes 1.5 µs with 100 rows, where it took 21.

package compiled

import (
	"slices"

	"github.com/authzhost/authz/sdk/authz"
)

// Allowing are the rows that allow one key, by id and in supply order. Callers must not modify the lists, which share memory.
type Allowing struct {
	Grants []string
	Roles  []string // the distinct ones by which Grants confer the key
	Sole   string   // the id of the only grant, "" unless it is one
}

// Suppressing lists the revokes that suppress a declared key on a chain, by id and in
// supply order.
func (a *Access) Suppressing(k Key, c *Chain, now int64) []string {
	a.indexOnce.Do(func() { a.index = a.indexRows(now) })
	var room [16]uint32
	rows := a.index.revokes.find(a, k, c, false, room[:0])
	if len(rows) == 0 {
		return nil
	}
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = a.data.Revokes[row].ID
	}
	return ids
}

// Allowing finds the rows that allow a declared key which no revoke suppresses and no
// grant below implies, for an instant at which a is valid: by an index of the rows that
// the first call makes, so that its cost is that of the rows at the chain's scopes. What
// one row allows allocates nothing.
func (a *Access) Allowing(k Key, c *Chain, now int64) Allowing {
	a.indexOnce.Do(func() { a.index = a.indexRows(now) })
	var room [16]uint32
	return a.index.allowing(a.index.grants.find(a, k, c, true, room[:0]))
}

func (x *rowIndex) allowing(rows []uint32) (m Allowing) {
	switch len(rows) {
	case 0:
		return m
	case 1:
		row := rows[0]
		m.Grants, m.Sole = x.grantIDs[row:row+1:row+1], x.grantIDs[row]
		if x.roleIDs[row] != "" {
			m.Roles = x.roleIDs[row : row+1 : row+1]
		}
		return m
	}
	m.Grants = make([]string, len(rows))
	for i, row := range rows {
		m.Grants[i] = x.grantIDs[row]
		if role := x.roleIDs[row]; role != "" && !slices.Contains(m.Roles, role) {
			m.Roles = append(m.Roles, role)
		}
	}
	m.Sole = sole(m.Grants)
	return m
}

// rowIndex finds the rows of a principal by scope.
type rowIndex struct {
	grants, revokes scopedRows
	grantIDs        []string // of all grants
	roleIDs         []string // the role by which each grant confers, or ""
}

// scopedRows are rows by the slot of their scope, those at "*" last. Rows at scopes
// without a slot match no declared key.
type scopedRows struct {
	starts []uint32 // slot n holds rows[starts[n]:starts[n+1]]
	rows   []indexedRow
	spans  []span
}

// indexedRow is a row by its number and the place of its intervals.
type indexedRow struct{ number, from, to uint32 }

// find adds the rows at the chain's scopes whose patterns hold the key, in supply
// order. Grants apply where the key is grantable, revokes anywhere.
func (s *scopedRows) find(a *Access, k Key, c *Chain, grants bool, found []uint32) []uint32 {
	if len(s.rows) == 0 {
		return found
	}
	found = s.at(len(a.slots), k, found)
	for i, h := range c.hashes {
		if len(a.filter) == 0 || inFilter(a.filter[h>>filterShift&uint64(len(a.filter)-1)], h) == 0 {
			continue
		}
		slot, ok := a.lookup(h, c.scopes[i])
		if ok && (!grants || a.vocabulary.applies(k, a.slots[slot].scopeType())) {
			found = s.at(int(slot), k, found)
		}
	}
	slices.Sort(found)
	return found
}

func (s *scopedRows) at(slot int, k Key, found []uint32) []uint32 {
	for _, row := range s.rows[s.starts[slot]:s.starts[slot+1]] {
		for _, one := range s.spans[row.from:row.to] {
			if k.index-one.lo < one.hi-one.lo {
				found = append(found, row.number)
				break
			}
		}
	}
	return found
}

// slotOf is the slot of a scope, the last number for "*".
func (a *Access) slotOf(scope string) (int, bool) {
	if scope == authz.Global {
		return len(a.slots), true
	}
	slot, ok := a.lookup(HashScope(scope), scope)
	return int(slot), ok
}

func (a *Access) indexRows(now int64) *rowIndex {
	d := a.data
	x := &rowIndex{grantIDs: make([]string, len(d.Grants)), roleIDs: make([]string, len(d.Grants))}
	rows := read(d, now)
	roles := map[string]indexedRow{} // where their intervals stand
	x.grants = a.scoped(len(d.Grants), func(s *scopedRows, i int) (string, indexedRow) {
		g := &d.Grants[i]
		x.grantIDs[i] = g.ID
		if !rows.counts(g) {
			return "", indexedRow{}
		}
		if g.Pattern != "" {
			return g.Scope, s.place(a.vocabulary, g.Pattern)
		}
		x.roleIDs[i] = g.RoleID
		place, known := roles[g.RoleID]
		if !known {
			place = s.place(a.vocabulary, rows.roles[g.RoleID]...)
			roles[g.RoleID] = place
		}
		return g.Scope, place
	})
	x.revokes = a.scoped(len(d.Revokes), func(s *scopedRows, i int) (string, indexedRow) {
		r := &d.Revokes[i]
		if !rows.theirs(r) {
			return "", indexedRow{}
		}
		return r.Scope, s.place(a.vocabulary, r.Pattern)
	})
	return x
}

// scoped groups n rows by slot; row answers the scope of each and where its
// intervals stand. One without scope or intervals is left out.
func (a *Access) scoped(n int, row func(s *scopedRows, i int) (scope string, place indexedRow)) scopedRows {
	s := scopedRows{starts: make([]uint32, len(a.slots)+2)}
	type placed struct {
		slot int
		row  indexedRow
	}
	found := make([]placed, 0, n)
	for i := range n {
		scope, place := row(&s, i)
		if scope == "" || place.from == place.to {
			continue
		}
		if slot, ok := a.slotOf(scope); ok {
			place.number = uint32(i)
			found = append(found, placed{slot, place})
			s.starts[slot+1]++
		}
	}
	for slot := range len(a.slots) + 1 {
		s.starts[slot+1] += s.starts[slot]
	}
	s.rows = make([]indexedRow, len(found))
	next := slices.Clone(s.starts)
	for _, p := range found {
		s.rows[next[p.slot]] = p.row
		next[p.slot]++
	}
	return s
}

// place adds the intervals of the patterns.
func (s *scopedRows) place(v *Vocabulary, patterns ...string) indexedRow {
	from := len(s.spans)
	for _, p := range patterns {
		if one, ok := v.spans[p]; ok && !one.empty() {
			s.spans = append(s.spans, one)
		}
	}
	return indexedRow{from: uint32(from), to: uint32(len(s.spans))}
}
