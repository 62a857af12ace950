package orgmerge_test

import (
	"slices"
	"strings"

	"github.com/authzhost/authz/host/orgmerge"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// What a merge should answer, said plainly and without renaming anything: each group
// of each side is a node of its own, two are one node only where they are one, and a
// grant confers the patterns that its own side gives it.

// now is after some rows have expired.
const now = 10

// known are all who are asked about, one of them of neither side.
var known = append(slices.Clone(users), "stranger")

func allowed(rows *authz.SubjectAccess, key string) bool {
	ok, err := access.Decide(vocabulary, rows, key, access.NewChain(authz.Global, nil), now, func(string) (access.Chain, error) { return access.NewChain(authz.Global, nil), nil })
	if err != nil {
		panic(err)
	}
	return ok
}

// answers are the keys that somebody may use, "user key".
func answers(rowsOf func(user string) *authz.SubjectAccess) map[string]bool {
	held := map[string]bool{}
	for _, u := range known {
		rows := rowsOf(u)
		for _, key := range vocabulary.Keys() {
			if allowed(rows, key) {
				held[u+" "+key] = true
			}
		}
	}
	return held
}

// ofSnapshot reads one organization by the definition of a closure (spec: access §4).
func ofSnapshot(s provider.OrgSnapshot) func(string) *authz.SubjectAccess {
	return func(user string) *authz.SubjectAccess {
		rows := &authz.SubjectAccess{UserID: &user, Active: true, Roles: s.Roles, Grants: s.GlobalGrants, Revokes: s.GlobalRevokes}
		var groups, orgs []string
		managers := map[string]string{}
		for _, u := range s.Users {
			managers[u.UserID] = u.ManagerUserID
			if u.UserID == user {
				rows.Active, groups, orgs = u.Active, u.GroupIDs, u.OrgIDs
			}
		}
		parents := map[string][]string{}
		for _, g := range s.Groups {
			parents[g.ID] = g.Parents
		}
		rows.Closure = closureOf(user, groups, func(g string) []string { return parents[g] }, orgs, managers)
		return rows
	}
}

func closureOf(user string, groups []string, above func(string) []string, orgs []string, managers map[string]string) []string {
	closure := []string{"user:" + user, "everyone"}
	seen := map[string]bool{}
	for next := slices.Clone(groups); len(next) > 0; next = next[1:] {
		if g := next[0]; !seen[g] {
			seen[g] = true
			closure = append(closure, "group:"+g)
			next = append(next, above(g)...)
		}
	}
	for _, o := range orgs {
		closure = append(closure, "org:"+o)
	}
	if m := managers[user]; m != "" {
		closure = append(closure, "directs:"+m)
	}
	for m := managers[user]; m != ""; m = managers[m] {
		closure = append(closure, "orgof:"+m)
	}
	return closure
}

// expected is the union of two organizations, as conflicts were resolved.
type expected struct {
	sides    [2]orgmerge.Side
	decided  map[string]authz.Resolution
	conflict map[string]bool
}

var sideNames = [2]string{"current", "incoming"}

// node names a group of a side.
func (e *expected) node(side int, group string) string {
	id := "group:" + group
	if e.conflict[id] && e.decided[id].Action != authz.ActionUnite {
		return sideNames[side] + " " + group
	}
	return group
}

// reads are the patterns of one row as they were decided.
func (e *expected) reads(side int, entity, id string, patterns []string) []string {
	if e.decided["widens:"+sideNames[side]+":"+entity+":"+id].Action != authz.ActionNarrow {
		return patterns
	}
	own := e.sides[side].Namespaces[0]
	var kept []string
	for _, p := range patterns {
		switch {
		case p == "*":
			kept = append(kept, own+".*")
		case strings.HasPrefix(p, own+"."):
			kept = append(kept, p)
		}
	}
	return kept
}

// grants are those of one side, one for each pattern that it confers.
func (e *expected) grants(side int) []authz.Grant {
	roles := map[string][]string{}
	for _, r := range e.sides[side].Snapshot.Roles {
		roles[r.ID] = e.reads(side, "role", r.ID, r.Patterns)
	}
	var list []authz.Grant
	for _, g := range e.sides[side].Snapshot.GlobalGrants {
		conferred := roles[g.RoleID]
		if g.Pattern != "" {
			conferred = e.reads(side, "grant", g.ID, []string{g.Pattern})
		}
		if group, ok := strings.CutPrefix(g.Subject, "group:"); ok {
			g.Subject = "group:" + e.node(side, group)
		}
		for _, p := range conferred {
			list = append(list, authz.Grant{ID: g.ID, Subject: g.Subject, Pattern: p, Scope: "*", ExpiresAt: g.ExpiresAt})
		}
	}
	return list
}

func (e *expected) managers() map[string]string {
	managers := map[string]string{}
	for _, side := range e.sides {
		for _, u := range side.Snapshot.Users {
			if managers[u.UserID] == "" {
				managers[u.UserID] = u.ManagerUserID
			}
		}
	}
	for id, r := range e.decided {
		manager, chosen := r.ManagerUserID.UserID()
		if user, ok := strings.CutPrefix(id, "manager:"); ok && chosen {
			managers[user] = manager
		} else if chosen {
			managers[r.UserID] = ""
		}
	}
	return managers
}

// rowsOf joins both sides' rows over one graph of nodes.
func (e *expected) rowsOf(user string) *authz.SubjectAccess {
	rows := &authz.SubjectAccess{UserID: &user, Active: true}
	var groups, orgs []string
	parents := map[string][]string{}
	for i, side := range e.sides {
		for _, u := range side.Snapshot.Users {
			if u.UserID != user {
				continue
			}
			rows.Active = rows.Active && u.Active
			orgs = append(orgs, u.OrgIDs...)
			for _, g := range u.GroupIDs {
				groups = append(groups, e.node(i, g))
			}
		}
		for _, g := range side.Snapshot.Groups {
			for _, p := range g.Parents {
				child := e.node(i, g.ID)
				parents[child] = append(parents[child], e.node(i, p))
			}
		}
		rows.Grants = append(rows.Grants, e.grants(i)...)
		rows.Revokes = append(rows.Revokes, side.Snapshot.GlobalRevokes...)
	}
	rows.Closure = closureOf(user, groups, func(g string) []string { return parents[g] }, orgs, e.managers())
	return rows
}

// alone is one side by itself: its own people in its own groups, with its rows as they
// were decided, without revokes and whoever is active.
func (e *expected) alone(side int) map[string]bool {
	s := e.sides[side].Snapshot
	s.GlobalRevokes = nil
	return answers(func(user string) *authz.SubjectAccess {
		rows := ofSnapshot(s)(user)
		rows.Active = true
		rows.Roles = slices.Clone(rows.Roles)
		for i, r := range rows.Roles {
			rows.Roles[i].Patterns = e.reads(side, "role", r.ID, r.Patterns)
		}
		var grants []authz.Grant
		for _, g := range rows.Grants {
			if g.Pattern == "" {
				grants = append(grants, g)
				continue
			}
			for _, p := range e.reads(side, "grant", g.ID, []string{g.Pattern}) {
				g.Pattern = p
				grants = append(grants, g)
			}
		}
		rows.Grants = grants
		return rows
	})
}

// literal is the sentence of the rule: what either side gives, less what either side
// revokes, of people whom neither side switched off.
func (e *expected) literal() map[string]bool {
	held := e.alone(0)
	for k := range e.alone(1) {
		held[k] = true
	}
	for k := range held {
		user, key, _ := strings.Cut(k, " ")
		for _, side := range e.sides {
			if slices.ContainsFunc(side.Snapshot.GlobalRevokes, func(r authz.Revoke) bool { return r.UserID == user && authz.Match(r.Pattern, key) }) ||
				slices.ContainsFunc(side.Snapshot.Users, func(u authz.User) bool { return u.UserID == user && !u.Active }) {
				delete(held, k)
			}
		}
	}
	return held
}
