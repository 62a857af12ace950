package memory

import (
	"context"
	"math"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func (s *store) ReadAccess(ctx context.Context, q storage.AccessQuery) (storage.Access, error) {
	if err := s.usable(ctx, q); err != nil {
		return storage.Access{}, err
	}
	if q.Expand && q.UserID == "" {
		return storage.Access{}, storage.Errorf(storage.CodeValidation, "only a user's access can be expanded")
	}
	st := s.now()
	access := storage.Access{Head: st.log.head()}
	if q.Expand {
		access.ManagerChain = st.managerChain(q.UserID)
		access.Closure = st.closure(q.UserID, access.ManagerChain)
		q.Subjects = access.Closure
	}
	if q.UserID != "" {
		if row, found := st.users.byID.get(&authz.User{UserID: q.UserID}); found {
			user := copyUser(row)
			access.User = &user
		}
		for row := range st.revokes.candidates(storage.RevokeFilter{UserID: &q.UserID}, "") {
			access.Revokes = append(access.Revokes, copyRevoke(row))
		}
	}
	if len(q.Subjects) > 0 {
		var roles []string
		for _, row := range st.grants.chunk(grantRanges(storage.GrantFilter{Subjects: q.Subjects}), "", math.MaxInt) {
			access.Grants = append(access.Grants, copyGrant(row))
			if row.RoleID != "" {
				roles = append(roles, row.RoleID)
			}
		}
		access.Roles = st.rolesOf(roles)
	}
	return access, nil
}

// managerChain follows manager edges from the user, nearest first, and stops at
// the first id already seen.
func (st *state) managerChain(userID string) (chain []string) {
	seen := map[string]bool{userID: true}
	for id := userID; ; {
		row, found := st.users.byID.get(&authz.User{UserID: id})
		if !found || row.ManagerUserID == "" || seen[row.ManagerUserID] {
			return chain
		}
		id = row.ManagerUserID
		seen[id] = true
		chain = append(chain, id)
	}
}

// closure lists the user's subjects: the user, groups breadth-first from the
// stored memberships, reporting lines, orgs, everyone.
func (st *state) closure(userID string, managerChain []string) []string {
	user := authz.User{UserID: userID}
	if row, found := st.users.byID.get(&user); found {
		user = *row
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
		var parents []string
		for _, id := range level {
			if !add(authz.SubjectGroup, id) {
				continue
			}
			if group, found := st.groups.get(&authz.Group{ID: id}); found {
				parents = append(parents, group.Parents...)
			}
		}
		level = parents
	}
	if len(managerChain) > 0 {
		add(authz.SubjectDirects, managerChain[0])
	}
	for _, id := range managerChain {
		add(authz.SubjectOrgOf, id)
	}
	for _, id := range user.OrgIDs {
		add(authz.SubjectOrg, id)
	}
	add(authz.SubjectEveryone, "")
	return closure
}
