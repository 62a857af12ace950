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
	if q.UserID != "" {
		if row, found := st.users.byID.get(&authz.User{UserID: q.UserID}); found {
			user := copyUser(row)
			access.User = &user
		}
		for row := range st.revokes.candidates(storage.RevokeFilter{UserID: &q.UserID}, "") {
			access.Revokes = append(access.Revokes, copyRevoke(row))
		}
	}
	if q.Expand {
		manager, _ := st.managerOf(q.UserID)
		access.ManagerChain, _ = storage.ManagerChain(q.UserID, manager, st.managerOf) // it never fails
		access.Closure = storage.Closure(q.UserID, access.User, access.ManagerChain, st.parentsOf)
		q.Subjects = access.Closure
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
	if q.Scope != "" {
		access.Parents, _ = storage.Ancestors(q.Scope, func(scope string) ([]string, error) { // it never fails
			if row, found := st.scopes.byID.get(&scopeParents{scope: scope}); found {
				return append([]string{}, row.parents...), nil
			}
			return nil, nil
		})
	}
	return access, nil
}

// managerOf is "" for an unknown user.
func (st *state) managerOf(userID string) (string, error) {
	if row, found := st.users.byID.get(&authz.User{UserID: userID}); found {
		return row.ManagerUserID, nil
	}
	return "", nil
}

func (st *state) parentsOf(group string) []string {
	if row, found := st.groups.get(&authz.Group{ID: group}); found {
		return row.Parents
	}
	return nil
}
