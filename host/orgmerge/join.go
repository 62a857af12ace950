package orgmerge

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/authzhost/authz/host/internal/cycle"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// apply does what was decided within each side.
func (s *step) apply() {
	s.narrowSide(ofCurrent, &s.current)
	s.narrowSide(ofIncoming, &s.incoming)
	s.renames[0].apply(&s.current.Snapshot)
	s.renames[1].apply(&s.incoming.Snapshot)
}

// join unites two sides that contradict each other no more (spec: merge §2).
func (s *step) join() provider.OrgSnapshot {
	a, b := s.current.Snapshot, s.incoming.Snapshot
	joined := provider.OrgSnapshot{
		Groups: s.joinGroups(a.Groups, b.Groups),
		Roles:  s.joinRoles(a.Roles, b.Roles),
		GlobalGrants: joinRows(s, "grant", s.current.Taken.Grants, a.GlobalGrants, b.GlobalGrants, grantID,
			func(x, y *authz.Grant) bool { return *x == *y }),
		GlobalRevokes: joinRows(s, "revoke", s.current.Taken.Revokes, a.GlobalRevokes, b.GlobalRevokes, revokeID,
			func(x, y *authz.Revoke) bool { return *x == *y }),
		Users: s.joinUsers(a.Users, b.Users),
		PendingGlobalRequests: joinRows(s, "request", s.current.Taken.Requests, a.PendingGlobalRequests, b.PendingGlobalRequests, requestID,
			func(x, y *authz.Request) bool { return bytes.Equal(encode(x), encode(y)) }),
		Catalog: a.Catalog,
	}
	s.checkReporting(joined.Users)
	s.checkGroups(joined.Groups)
	after := reach(joined.Users)
	s.warnReach(&s.current, a.GlobalGrants, after)
	s.warnReach(&s.incoming, b.GlobalGrants, after)
	return joined
}

// joinGroups: where a group is one, a rename may have set its parents apart; it keeps
// both.
func (s *step) joinGroups(current, incoming []authz.Group) []authz.Group {
	at := make(map[string]int, len(current))
	named := make(map[string]string, len(current))
	joined := slices.Clone(current)
	for i, g := range current {
		at[g.ID], named[g.Name] = i, g.ID
	}
	for _, g := range incoming {
		i, both := at[g.ID]
		if !both {
			s.warnNamed("group", g.ID, g.Name, named)
			joined = append(joined, g)
			continue
		}
		kept := &joined[i]
		s.warnKept("group", g.ID, kept.Name != g.Name || kept.Description != g.Description || kept.Virtual != g.Virtual)
		kept.Parents = firsts(slices.Concat(kept.Parents, g.Parents))
	}
	return joined
}

func (s *step) joinRoles(current, incoming []authz.Role) []authz.Role {
	at := make(map[string]int, len(current))
	named := make(map[string]string, len(current))
	joined := slices.Clone(current)
	for i, r := range current {
		at[r.ID], named[r.Name] = i, r.ID
	}
	for _, r := range incoming {
		i, both := at[r.ID]
		if !both {
			s.warnNamed("role", r.ID, r.Name, named)
			joined = append(joined, r)
			continue
		}
		kept := &joined[i]
		s.warnKept("role", r.ID, kept.Name != r.Name || kept.Description != r.Description)
		if !sameRole(kept, &r) {
			s.undo(s.roleConflict(r.ID), "the two differ by what was decided about other conflicts; rename one, or decide alike for both")
		}
	}
	return joined
}

func (s *step) warnKept(entity, id string, differ bool) {
	if differ {
		s.warnings.add(entity+"s whose names or descriptions differ", "the %s %s has another name or description in %s; that of %s is kept",
			entity, spell.Quote(id), spell.Quote(s.incoming.Name), spell.Quote(s.current.Name))
	}
}

func (s *step) warnNamed(entity, id, name string, named map[string]string) {
	if other, ok := named[name]; ok && name != "" && other != id {
		s.warnings.add(entity+"s of equal names", "the %s %s of %s has the same name as %s: %s",
			entity, spell.Quote(id), spell.Quote(s.incoming.Name), spell.Quote(other), spell.Quote(name))
	}
}

// checkGroups refuses to unite groups into a cycle. Every way around one leads over a
// group that was united: of any other, both sides have all edges.
func (s *step) checkGroups(groups []authz.Group) {
	if len(s.unitedGroups) == 0 {
		return
	}
	parents := make(map[string][]string, len(groups))
	for _, g := range groups {
		parents[g.ID] = g.Parents
	}
	path := cycle.Find(parents)
	for _, id := range set(path) {
		if s.unitedGroups[id] {
			s.undo(s.groupConflict(id), "uniting closes the cycle %s; rename one of its groups", quoted(path))
			return
		}
	}
}

// joinRows keeps every row once. An incoming row whose id is taken by another row, of the
// snapshot or beside it, gets one that follows from its content.
func joinRows[Row any](s *step, entity string, beside map[string]bool, current, incoming []Row, id func(*Row) *string, same func(a, b *Row) bool) []Row {
	at := make(map[string]int, len(current)+len(incoming))
	joined := slices.Clone(current)
	for i := range current {
		at[*id(&current[i])] = i
	}
	incoming = sorted(incoming, id)
	own := make(map[string]bool, len(incoming))
	for i := range incoming {
		own[*id(&incoming[i])] = true
	}
	for i := range incoming {
		row := incoming[i]
		old := *id(&row)
		for n := 0; ; n++ {
			k, taken := at[*id(&row)]
			if taken && same(&joined[k], &row) {
				break
			}
			if !taken && !beside[*id(&row)] && (n == 0 || !own[*id(&row)]) {
				at[*id(&row)] = len(joined)
				joined = append(joined, row)
				if n > 0 {
					s.warnings.add(entity+"s whose ids are taken", "the %s %s of %s is stored as %s: another row has its id",
						entity, spell.Quote(old), spell.Quote(s.incoming.Name), spell.Quote(*id(&row)))
				}
				break
			}
			*id(&row) = freshID(incoming[i], n)
		}
	}
	return joined
}

// freshID follows from the row alone, so that whoever computes a merge again gets the
// same one. The number tells tries apart.
func freshID(row any, try int) string {
	sum, err := hashOf(struct {
		Row any `json:"row"`
		Try int `json:"try"`
	}{row, try})
	if err != nil {
		panic(err) // rows have a JSON form
	}
	return "m_" + sum[:32]
}

// sorted is a list in ascending order of id. Rows are wide, so that their ids are what
// is sorted.
func sorted[Row any](rows []Row, id func(*Row) *string) []Row {
	type place struct {
		id string
		at int
	}
	places := make([]place, len(rows))
	for i := range rows {
		places[i] = place{*id(&rows[i]), i}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.id, b.id) })
	list := make([]Row, len(rows))
	for i, p := range places {
		list[i] = rows[p.at]
	}
	return list
}

// order sorts every list by id, and leaves none nil.
func order(s *provider.OrgSnapshot) {
	s.Groups = sorted(s.Groups, groupID)
	s.Roles = sorted(s.Roles, roleID)
	s.GlobalGrants = sorted(s.GlobalGrants, grantID)
	s.GlobalRevokes = sorted(s.GlobalRevokes, revokeID)
	s.Users = sorted(s.Users, userID)
	s.PendingGlobalRequests = sorted(s.PendingGlobalRequests, requestID)
}
