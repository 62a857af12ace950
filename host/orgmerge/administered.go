package orgmerge

import (
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// AdministratorKey is what somebody must hold at "*" wherever an organization goes, or
// nobody could give anybody anything there.
const AdministratorKey = authz.InternalNamespace + ".access.manage_grants"

// Administered reports whether some active user holds AdministratorKey at "*" by the
// rows of a snapshot, at an instant.
func Administered(s provider.OrgSnapshot, now int64) bool {
	conferring := map[string]bool{} // subjects
	roles := map[string][]string{}
	for _, r := range s.Roles {
		roles[r.ID] = r.Patterns
	}
	for _, g := range s.GlobalGrants {
		patterns := roles[g.RoleID]
		if g.Pattern != "" {
			patterns = []string{g.Pattern}
		}
		if !g.ExpiresAt.Expired(now) && authz.MatchAny(patterns, AdministratorKey) {
			conferring[g.Subject] = true
		}
	}
	revoked := map[string]bool{}
	for _, r := range s.GlobalRevokes {
		if authz.Match(r.Pattern, AdministratorKey) {
			revoked[r.UserID] = true
		}
	}
	return administers(s, conferring, revoked)
}

func administers(s provider.OrgSnapshot, conferring, revoked map[string]bool) bool {
	users, parents := map[string]*authz.User{}, map[string][]string{}
	for i := range s.Users {
		users[s.Users[i].UserID] = &s.Users[i]
	}
	for _, g := range s.Groups {
		parents[g.ID] = g.Parents
	}
	for subject := range conferring { // whoever has no record is active
		kind, id, _ := authz.ParseSubject(subject)
		if kind == authz.SubjectUser && !revoked[id] && users[id] == nil {
			return true
		}
	}
	managerOf := func(id string) (string, error) {
		if u := users[id]; u != nil {
			return u.ManagerUserID, nil
		}
		return "", nil
	}
	for i := range s.Users {
		u := &s.Users[i]
		if !u.Active || revoked[u.UserID] {
			continue
		}
		chain, err := storage.ManagerChain(u.UserID, u.ManagerUserID, managerOf)
		if err != nil {
			continue
		}
		closure := storage.Closure(u.UserID, u, chain, func(group string) []string { return parents[group] })
		if slices.ContainsFunc(closure, func(subject string) bool { return conferring[subject] }) {
			return true
		}
	}
	return false
}
