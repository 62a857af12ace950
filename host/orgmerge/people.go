package orgmerge

import (
	"maps"
	"slices"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

func (s *step) edgeConflict(userID string) string { return s.prefix + "manager:" + userID }

// cycleConflict names a cycle by its first user in ascending order: no user has two
// managers, so no cycle shares one with another.
func (s *step) cycleConflict(path []string) string { return s.prefix + "cycle:" + path[0] }

// findReporting (spec: merge §3.2) finds users with two managers, and the cycles among the edges that
// nothing has to be decided about.
func (s *step) findReporting() {
	edges := map[string]string{}
	maps.Copy(edges, managersOf(s.current.Snapshot.Users))
	for user, incoming := range managersOf(s.incoming.Snapshot.Users) {
		current, ok := edges[user]
		if !ok {
			edges[user] = incoming
			continue
		}
		if current == incoming {
			continue
		}
		delete(edges, user)
		s.add(authz.Conflict{ID: s.edgeConflict(user), Kind: authz.ConflictReportingEdge, UserID: user,
			Current: encode(current), Incoming: encode(incoming), Actions: []authz.ConflictAction{authz.ActionChoose}})
	}
	for _, path := range reportingCycles(edges) {
		s.add(authz.Conflict{ID: s.cycleConflict(path), Kind: authz.ConflictReportingCycle, Path: path,
			Actions: []authz.ConflictAction{authz.ActionChoose}})
	}
}

func managersOf(users []authz.User) map[string]string {
	edges := make(map[string]string, len(users))
	for _, u := range users {
		if u.ManagerUserID != "" {
			edges[u.UserID] = u.ManagerUserID
		}
	}
	return edges
}

// reportingCycles are all cycles, each from its first user in ascending order and with
// that one repeated last.
func reportingCycles(edges map[string]string) [][]string {
	var found [][]string
	walk := make(map[string]int, len(edges)) // which walk came by first
	for n, start := range slices.Sorted(maps.Keys(edges)) {
		at, more := start, true
		for more && walk[at] == 0 {
			walk[at] = n + 1
			at, more = edges[at], edges[at] != ""
		}
		if !more || walk[at] != n+1 {
			continue
		}
		path := []string{at}
		for next := edges[at]; next != at; next = edges[next] {
			path = append(path, next)
		}
		first := slices.Index(path, slices.Min(path))
		path = slices.Concat(path[first:], path[:first])
		found = append(found, append(path, path[0]))
	}
	return found
}

// joinUsers takes what either side knows of a user. Inactive on either side is
// inactive.
func (s *step) joinUsers(current, incoming []authz.User) []authz.User {
	named := [2]map[string]bool{usersNamed(s.current.Snapshot.GlobalGrants), usersNamed(s.incoming.Snapshot.GlobalGrants)}
	known := s.b.users
	joined := slices.Clone(current)
	at := make(map[string]int, len(joined))
	for i, u := range joined {
		at[u.UserID] = i
		if _, both := known[u.UserID]; !both && !u.Active && named[1][u.UserID] {
			s.warnInactive(u.UserID, s.current.Name, s.incoming.Name)
		}
	}
	for _, in := range incoming {
		i, both := at[in.UserID]
		if !both {
			if !in.Active && named[0][in.UserID] {
				s.warnInactive(in.UserID, s.incoming.Name, s.current.Name)
			}
			joined = append(joined, in)
			continue
		}
		u := &joined[i]
		switch {
		case u.Active && !in.Active:
			s.warnInactive(u.UserID, s.incoming.Name, s.current.Name)
		case !u.Active && in.Active:
			s.warnInactive(u.UserID, s.current.Name, s.incoming.Name)
		}
		u.Active = u.Active && in.Active
		u.GroupIDs = firsts(slices.Concat(u.GroupIDs, in.GroupIDs))
		u.OrgIDs = firsts(slices.Concat(u.OrgIDs, in.OrgIDs))
		if u.ManagerUserID == "" {
			u.ManagerUserID = in.ManagerUserID
		}
	}
	for i := range joined {
		if manager, ok := s.managers[joined[i].UserID]; ok {
			joined[i].ManagerUserID = manager
		}
	}
	return joined
}

func (s *step) warnInactive(userID, inactive, active string) {
	s.warnings.add("users inactive on one side are inactive", "the user %s is inactive in %s and so no longer active in %s",
		spell.Quote(userID), spell.Quote(inactive), spell.Quote(active))
}

// usersNamed are the users with grants of their own.
func usersNamed(grants []authz.Grant) map[string]bool {
	named := map[string]bool{}
	for _, g := range grants {
		if kind, id, _ := authz.ParseSubject(g.Subject); kind == authz.SubjectUser {
			named[id] = true
		}
	}
	return named
}

// checkReporting refuses choices that close a cycle.
func (s *step) checkReporting(users []authz.User) {
	for _, path := range reportingCycles(managersOf(users)) {
		for _, user := range path {
			if by, ok := s.chosenBy[user]; ok {
				s.undo(by, "the choice closes the cycle %s; choose otherwise, or null", quoted(path))
				break
			}
		}
	}
}
