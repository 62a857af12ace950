// Separation of duties: who holds keys that a catalog keeps apart. It is a report and a
// refusal of writes; no check asks it.

package compiled

import (
	"slices"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
)

// SoD is the separation of duties of a catalog, ready to judge rows
// (spec: access §15). It is immutable.
type SoD struct {
	vocabulary  *Vocabulary
	constraints []constraint
}

// constraint holds the keys of its sets by number, ascending.
type constraint struct {
	id          string
	description string
	sets        [][]uint32
}

// NewSoD reads the constraints of the vocabulary's catalog.
func NewSoD(v *Vocabulary) *SoD {
	s := &SoD{vocabulary: v}
	for _, declared := range v.catalog.SoD() {
		c := constraint{id: declared.ID, description: declared.Description}
		for _, patterns := range declared.Sets {
			set := []uint32{}
			for _, p := range patterns {
				v.conferred(p, authz.Global, func(key uint32) { set = append(set, key) })
			}
			slices.Sort(set)
			c.sets = append(c.sets, slices.Compact(set))
		}
		s.constraints = append(s.constraints, c)
	}
	return s
}

// Empty reports that the catalog keeps nothing apart.
func (s *SoD) Empty() bool { return len(s.constraints) == 0 }

// Violations lists the constraints that the rows of one user break at an instant,
// also when the user is inactive: reactivation must bring no surprise. A key
// counts as held when a live grant confers it at any scope and no revoke at "*"
// takes it.
func (s *SoD) Violations(data *authz.SubjectAccess, now int64) []access.Violation {
	return s.Duties(data, now).violations(nil)
}

// Duties is what one user holds, growing row by row. It serves one goroutine.
type Duties struct {
	sod     *SoD
	rows    *reading
	held    []uint64
	revoked []uint64
	broken  map[string]bool // constraints, by id
}

// Duties reads the rows of one user. Rows are not copied: data must not change
// as long as the result is in use.
func (s *SoD) Duties(data *authz.SubjectAccess, now int64) *Duties {
	h := read(data, now)
	d := &Duties{sod: s, rows: h, held: make([]uint64, s.vocabulary.words), revoked: s.vocabulary.revokedEverywhere(h)}
	for i := range data.Grants {
		d.hold(&data.Grants[i])
	}
	d.broken = map[string]bool{}
	for _, v := range d.violations(nil) {
		d.broken[v.ConstraintID] = true
	}
	return d
}

// Add counts one more grant as held, and returns the first constraint that is
// broken by it and was not before; nil when there is none. A grant that names a
// role is judged with the patterns given.
func (d *Duties) Add(g authz.Grant, patterns []string) *access.Violation {
	if g.RoleID != "" {
		d.rows.roles[g.RoleID] = patterns
	}
	d.hold(&g)
	var first *access.Violation
	for _, v := range d.violations(d.broken) {
		d.broken[v.ConstraintID] = true
		if first == nil {
			first = &v
		}
	}
	return first
}

func (d *Duties) hold(g *authz.Grant) {
	if !d.rows.counts(g) {
		return
	}
	for _, p := range d.rows.patterns(g) {
		d.sod.vocabulary.conferred(p, g.Scope, func(key uint32) { setBit(d.held, key) })
	}
}

// violations lists the broken constraints that are not among the known.
func (d *Duties) violations(known map[string]bool) []access.Violation {
	found := []access.Violation{}
	names := d.sod.vocabulary.catalog.Keys()
	for _, c := range d.sod.constraints {
		if known[c.id] {
			continue
		}
		v := access.Violation{ConstraintID: c.id, Description: c.description}
		for i, set := range c.sets {
			var keys []string
			for _, key := range set {
				if hasBit(d.held, key) && !hasBit(d.revoked, key) {
					keys = append(keys, names[key])
				}
			}
			if len(keys) > 0 {
				v.Sets = append(v.Sets, access.HeldSet{SetIndex: i, Keys: keys})
			}
		}
		if len(v.Sets) > 1 {
			found = append(found, v)
		}
	}
	return found
}
