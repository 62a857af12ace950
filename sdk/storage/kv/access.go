package kv

import (
	"context"

	"github.com/authzhost/authz/sdk/storage"
)

// ReadAccess reads everything in one transaction.
func (s *store) ReadAccess(ctx context.Context, q storage.AccessQuery) (a storage.Access, err error) {
	err = s.view(ctx, func(p *partition) {
		if q.Scope != "" {
			p.refuse(storage.CodeUnsupported, "this driver does not answer ancestors with access")
		}
		if q.UserID != "" {
			a.User = users.get(p, q.UserID)
			for revoke := range revokes.all(p, revokes.with(p, "user/"+q.UserID, "")) {
				a.Revokes = append(a.Revokes, *revoke)
			}
		} else if q.Expand {
			p.refuse(storage.CodeValidation, "only a user's access can be expanded")
		}
		if q.Expand {
			managerOf := func(id string) (string, error) {
				if user := users.get(p, id); user != nil {
					return user.ManagerUserID, p.err
				}
				return "", p.err
			}
			manager, _ := managerOf(q.UserID) // p keeps the error
			a.ManagerChain, _ = storage.ManagerChain(q.UserID, manager, managerOf)
			a.Closure = storage.Closure(q.UserID, a.User, a.ManagerChain, func(id string) []string {
				if group := groups.get(p, id); group != nil {
					return group.Parents
				}
				return nil
			})
			q.Subjects = a.Closure
		}
		var named []string
		all := storage.GrantFilter{Subjects: append([]string{}, q.Subjects...)}
		for grant := range grants.all(p, grantKeys(all)(p, "")) {
			a.Grants, named = append(a.Grants, *grant), append(named, grant.RoleID)
		}
		a.Roles, a.Head = rolesOf(p, named), position(p, "log")
	}, q)
	if err != nil {
		return storage.Access{}, err
	}
	return a, nil
}
