package storage

import "github.com/authzhost/authz/sdk/authz"

// Closure lists the subjects of a user: the user, groups breadth-first from the
// memberships, reporting lines, orgs, everyone. user is the stored record, nil
// for none; chain the ManagerChain; parents the stored parents of a group. A cycle
// among groups ends where it began.
func Closure(userID string, user *authz.User, chain []string, parents func(group string) []string) []string {
	if user == nil {
		user = &authz.User{UserID: userID}
	}
	var closure []string
	seen := map[string]bool{}
	add := func(kind authz.SubjectKind, id string) bool {
		subject := authz.SubjectOf(kind, id)
		if seen[subject] {
			return false
		}
		seen[subject] = true
		closure = append(closure, subject)
		return true
	}
	add(authz.SubjectUser, userID)
	for level := user.GroupIDs; len(level) > 0; {
		var next []string
		for _, id := range level {
			if add(authz.SubjectGroup, id) {
				next = append(next, parents(id)...)
			}
		}
		level = next
	}
	if len(chain) > 0 {
		add(authz.SubjectDirects, chain[0])
	}
	for _, id := range chain {
		add(authz.SubjectOrgOf, id)
	}
	for _, id := range user.OrgIDs {
		add(authz.SubjectOrg, id)
	}
	add(authz.SubjectEveryone, "")
	return closure
}

// ManagerChain walks up from a user whose manager is manager, nearest first, to
// the top or to the first id seen before; the user counts as seen. managerOf is ""
// for a user without one.
func ManagerChain(userID, manager string, managerOf func(userID string) (string, error)) ([]string, error) {
	var chain []string
	seen := map[string]bool{userID: true}
	for next := manager; next != "" && !seen[next]; {
		seen[next] = true
		chain = append(chain, next)
		above, err := managerOf(next)
		if err != nil {
			return nil, err
		}
		next = above
	}
	return chain, nil
}
