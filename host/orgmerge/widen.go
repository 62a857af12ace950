package orgmerge

import (
	"slices"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// beyond reports that a pattern reaches past what the side owns.
func (s *Side) beyond(pattern string) bool {
	ns := authz.NamespaceOf(pattern)
	return !s.Whole && ns != cloudNamespace && !slices.Contains(s.Namespaces, ns)
}

// narrowed are the patterns without what reaches beyond the side: "*" stands for all
// of each namespace that it owns.
func (s *Side) narrowed(patterns []string) []string {
	kept := []string{}
	for _, p := range patterns {
		switch {
		case !s.beyond(p):
			kept = append(kept, p)
		case p == authz.Global:
			for _, ns := range set(s.Namespaces) {
				kept = append(kept, authz.SubtreePattern(ns))
			}
		}
	}
	return firsts(kept)
}

// firsts keeps the first of equal entries.
func firsts(list []string) []string {
	seen := make(map[string]bool, len(list))
	return slices.DeleteFunc(list, func(v string) bool {
		again := seen[v]
		seen[v] = true
		return again
	})
}

// widens is the id of a conflict about a row of one side. The current side's rows are
// the same whichever side comes in.
func (s *step) widens(whose, entity, id string) string {
	name := "widens:" + whose + ":" + entity + ":" + id
	if whose == ofIncoming {
		return s.prefix + name
	}
	return name
}

// findWidening finds rows that meant one application and would mean the organization
// (spec: merge §4).
// Requests count, because they become grants; revokes only narrow.
func (s *step) findWidening() {
	s.widening = map[string]bool{}
	s.widened(ofCurrent, &s.current)
	s.widened(ofIncoming, &s.incoming)
}

func (s *step) widened(whose string, side *Side) {
	if side.Whole {
		return
	}
	look := func(entity, id string, row any, patterns ...string) {
		far := slices.DeleteFunc(slices.Clone(patterns), func(p string) bool { return p == "" || !side.beyond(p) })
		if len(far) == 0 {
			return
		}
		c := authz.Conflict{ID: s.widens(whose, entity, id), Kind: authz.ConflictWidens, Beyond: set(far), Narrowed: side.narrowed(patterns),
			Actions: []authz.ConflictAction{authz.ActionNarrow, authz.ActionAccept}}
		if whose == ofCurrent {
			c.Current = encode(row)
		} else {
			c.Incoming = encode(row)
		}
		s.widening[c.ID] = true
		s.add(c)
	}
	for _, r := range side.Snapshot.Roles {
		look("role", r.ID, r, r.Patterns...)
		s.warnHeld("role", r.ID, side, stagesOf(&r))
	}
	for _, g := range side.Snapshot.GlobalGrants {
		look("grant", g.ID, g, g.Pattern)
	}
	for _, q := range side.Snapshot.PendingGlobalRequests {
		look("request", q.ID, q, q.Pattern)
		s.warnHeld("request", q.ID, side, q.Stages)
	}
}

// warnHeld tells of stages that pass for holders of what another application declares:
// of them there are more afterwards.
func (s *step) warnHeld(entity, id string, side *Side, stages []authz.Stage) {
	for _, p := range heldPatterns(stages) {
		if side.beyond(p) {
			s.warnings.add("approval stages pass for holders of patterns beyond their application",
				"a stage of the %s %s of %s passes for holders of %s, which more people may hold in the whole organization",
				entity, spell.Quote(id), spell.Quote(side.Name), spell.Quote(p))
		}
	}
}

// narrowSide does what was decided about the rows of one side.
func (s *step) narrowSide(whose string, side *Side) {
	if len(s.narrow) == 0 {
		return
	}
	o := &side.Snapshot
	for i := range o.Roles {
		r := &o.Roles[i]
		if !s.narrow[s.widens(whose, "role", r.ID)] {
			continue
		}
		r.Patterns = side.narrowed(r.Patterns)
		if len(r.Patterns) == 0 {
			s.warnings.add("roles without a pattern after narrowing", "the role %s of %s has no pattern left", spell.Quote(r.ID), spell.Quote(side.Name))
		}
	}
	o.GlobalGrants = narrowRows(s, whose, "grant", side, o.GlobalGrants, grantID, func(g *authz.Grant) *string { return &g.Pattern })
	o.PendingGlobalRequests = narrowRows(s, whose, "request", side, o.PendingGlobalRequests, requestID, func(q *authz.Request) *string { return &q.Pattern })
}

// narrowRows replaces each narrowed row by one for each pattern that is left. The
// first keeps the id.
func narrowRows[Row any](s *step, whose, entity string, side *Side, rows []Row, id, pattern func(*Row) *string) []Row {
	var kept []Row
	for i := range rows {
		if !s.narrow[s.widens(whose, entity, *id(&rows[i]))] {
			kept = append(kept, rows[i])
			continue
		}
		left := side.narrowed([]string{*pattern(&rows[i])})
		if len(left) == 0 {
			s.warnings.add(entity+"s left out by narrowing", "the %s %s of %s is left out: nothing of %s lies in its namespaces",
				entity, spell.Quote(*id(&rows[i])), spell.Quote(side.Name), spell.Quote(*pattern(&rows[i])))
		}
		for n, p := range left {
			row := rows[i]
			*pattern(&row) = p
			if n > 0 {
				*id(&row) = freshID(row, 0)
			}
			kept = append(kept, row)
		}
	}
	return kept
}
