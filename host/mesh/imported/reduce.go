package imported

import (
	"slices"

	"github.com/authzhost/authz/sdk/authz"
)

// idPrefix begins the ids of merged rows and roles.
const idPrefix = "mesh:"

// Reduce answers what the owner's supply of a principal lends to the application: its
// grants at "*", the roles that these name and the user's revokes at "*", cut down to
// the imported keys. It lends nothing of a principal who is inactive there. Grants keep
// their expiry, which each check judges.
//
// A grant is written for the principal itself: group:ops of two partitions are two
// groups. A pattern that reaches the keys of several import entries gives a row for
// each. All have the id of the owner's row, and no key is matched by two of them, so
// whoever counts or names the rows of a key finds one (spec: mesh §6.2).
func (k *Keys) Reduce(supply authz.SubjectAccess) (grants []authz.Grant, roles []authz.Role, revokes []authz.Revoke) {
	subject := subjectOf(&supply)
	if subject == "" || !supply.Active || len(k.patterns) == 0 {
		return nil, nil, nil
	}
	members := make(map[string]bool, len(supply.Closure))
	for _, s := range supply.Closure {
		members[s] = true
	}
	defined := lentRoles{keys: k, stored: make(map[string]*authz.Role, len(supply.Roles)), ids: map[string]string{}}
	for i := range supply.Roles {
		defined.stored[supply.Roles[i].ID] = &supply.Roles[i]
	}
	var reached []string
	for i := range supply.Grants {
		g := supply.Grants[i]
		if g.Scope != authz.Global || !members[g.Subject] {
			continue
		}
		g.ID, g.Subject = k.id(g.ID), subject
		if g.Pattern == "" {
			if g.RoleID = defined.lend(g.RoleID); g.RoleID != "" {
				grants = append(grants, g)
			}
			continue
		}
		g.RoleID = "" // a row with both confers its pattern only
		reached = k.appendReached(reached[:0], g.Pattern)
		for _, g.Pattern = range reached {
			grants = append(grants, g)
		}
	}
	for i := range supply.Revokes {
		r := supply.Revokes[i]
		if r.Scope != authz.Global || supply.UserID == nil || r.UserID != *supply.UserID {
			continue
		}
		r.ID = k.id(r.ID)
		reached = k.appendReached(reached[:0], r.Pattern)
		for _, r.Pattern = range reached {
			revokes = append(revokes, r)
		}
	}
	return grants, defined.roles, revokes
}

// lentRoles are the owner's roles that merged grants name.
type lentRoles struct {
	keys   *Keys
	stored map[string]*authz.Role
	ids    map[string]string // what lend answered
	roles  []authz.Role
}

// lend adds what is left of a role and answers its id here, "" when nothing is left or
// the owner has no such role.
func (l *lentRoles) lend(id string) string {
	if known, ok := l.ids[id]; ok {
		return known
	}
	l.ids[id] = ""
	role := l.stored[id]
	if role == nil {
		return ""
	}
	var patterns []string
	for _, p := range role.Patterns {
		patterns = l.keys.appendReached(patterns, p)
	}
	if len(patterns) == 0 {
		return ""
	}
	slices.Sort(patterns)
	lent := authz.Role{ID: l.keys.id(id), Name: role.Name, Description: role.Description, Patterns: slices.Compact(patterns)}
	l.ids[id], l.roles = lent.ID, append(l.roles, lent)
	return lent.ID
}

func (k *Keys) id(id string) string { return k.prefix + id }

// subjectOf is the principal's own subject, "" when the rows name none.
func subjectOf(rows *authz.SubjectAccess) string {
	if rows.UserID != nil {
		return authz.UserPrincipal(*rows.UserID).Subject()
	}
	for _, s := range rows.Closure {
		if kind, _, _ := authz.ParseSubject(s); kind == authz.SubjectService {
			return s
		}
	}
	return ""
}
