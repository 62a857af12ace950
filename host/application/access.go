package application

import (
	"context"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// maxSupplyReads bounds how often a supply follows the edges anew because the
// rows moved meanwhile.
const maxSupplyReads = 3

// GetSubjectAccess supplies a principal's closure and its rows, all of one
// instant, without the rows that have expired on this clock.
func (a *Application) GetSubjectAccess(ctx context.Context, p authz.Principal) (authz.SubjectAccess, error) {
	const op = "getSubjectAccess"
	if err := p.Validate(); err != nil {
		return authz.SubjectAccess{}, authz.Validation("%s", err.Error())
	}
	var s shape
	s.text("userId", p.UserID, maxID)
	s.text("serviceId", p.ServiceID, maxID)
	if s.err != nil {
		return authz.SubjectAccess{}, s.err
	}
	access, err := a.rowsOf(ctx, p, a.clock())
	return access, a.readFailed(op, err)
}

// rowsOf is GetSubjectAccess of a valid principal, at an instant of the caller's.
// Failures are storage's own.
func (a *Application) rowsOf(ctx context.Context, p authz.Principal, now int64) (authz.SubjectAccess, error) {
	var read storage.Access
	var err error
	switch {
	case p.IsService():
		closure := []string{p.Subject(), authz.Everyone}
		read, err = a.store.ReadAccess(ctx, storage.AccessQuery{Subjects: closure})
		read.Closure = closure
	case a.caps.Has(storage.CapExpand):
		read, err = a.store.ReadAccess(ctx, storage.AccessQuery{UserID: p.UserID, Expand: true})
	default:
		read, err = a.follow(ctx, p.UserID)
	}
	if err != nil {
		return authz.SubjectAccess{}, err
	}
	return supply(p, read, now), nil
}

// supply shapes what storage read, leaving out grants that have expired.
func supply(p authz.Principal, read storage.Access, now int64) authz.SubjectAccess {
	access := authz.SubjectAccess{Closure: read.Closure, ManagerChain: read.ManagerChain, Active: true}
	if !p.IsService() {
		access.UserID = &p.UserID
		access.Revokes = read.Revokes
		access.Active = read.User == nil || read.User.Active
	}
	roles := make(map[string]authz.Role, len(read.Roles))
	for _, r := range read.Roles {
		roles[r.ID] = r
	}
	seen := map[string]bool{}
	for _, g := range read.Grants {
		if g.ExpiresAt.Expired(now) {
			continue
		}
		access.Grants = append(access.Grants, g)
		if g.RoleID == "" || seen[g.RoleID] {
			continue
		}
		seen[g.RoleID] = true
		if r, found := roles[g.RoleID]; found {
			access.Roles = append(access.Roles, r)
		} else {
			access.UnresolvedRoleIDs = append(access.UnresolvedRoleIDs, g.RoleID)
		}
	}
	return access
}

// follow computes the closure of a user over a driver that cannot, and reads the
// rows. The user record and the log head that come with the rows must be those
// that the closure was computed from (contract: storage §4); otherwise the
// closure would be a mixture of two states, and it starts again from the answer.
func (a *Application) follow(ctx context.Context, userID string) (storage.Access, error) {
	base, err := a.store.ReadAccess(ctx, storage.AccessQuery{UserID: userID})
	if err != nil {
		return storage.Access{}, err
	}
	for range maxSupplyReads {
		closure, chain, err := a.closure(ctx, userID, base)
		if err != nil {
			return storage.Access{}, err
		}
		read, err := a.store.ReadAccess(ctx, storage.AccessQuery{UserID: userID, Subjects: closure})
		if err != nil {
			return storage.Access{}, err
		}
		if sameUser(base.User, read.User) && (!a.persist || base.Head == read.Head) {
			read.Closure, read.ManagerChain = closure, chain
			return read, nil
		}
		base = read
	}
	return storage.Access{}, storage.Unavailable("", nil, "the rows of the principal kept changing while they were read")
}

// closure follows memberships, group parents and managers in the order of
// access.md §4.
func (a *Application) closure(ctx context.Context, userID string, base storage.Access) (closure, chain []string, err error) {
	user := authz.User{UserID: userID}
	if base.User != nil {
		user = *base.User
	}
	closure = []string{authz.SubjectOf(authz.SubjectUser, userID)}
	if len(user.GroupIDs) > 0 {
		head := base.Head
		if !a.persist {
			head = 0 // nothing moves it, whatever the driver counts
		}
		parents, err := a.topology.at(ctx, head)
		if err != nil {
			return nil, nil, err
		}
		queue := distinct(user.GroupIDs)
		seen := make(map[string]bool, len(queue))
		for _, g := range queue {
			seen[g] = true
		}
		for i := 0; i < len(queue); i++ {
			closure = append(closure, authz.SubjectOf(authz.SubjectGroup, queue[i]))
			for _, parent := range parents[queue[i]] {
				if !seen[parent] {
					seen[parent] = true
					queue = append(queue, parent)
				}
			}
		}
	}
	if chain, err = a.managerChain(ctx, user); err != nil {
		return nil, nil, err
	}
	if len(chain) > 0 {
		closure = append(closure, authz.SubjectOf(authz.SubjectDirects, chain[0]))
	}
	for _, m := range chain {
		closure = append(closure, authz.SubjectOf(authz.SubjectOrgOf, m))
	}
	for _, org := range distinct(user.OrgIDs) {
		closure = append(closure, authz.SubjectOf(authz.SubjectOrg, org))
	}
	return append(closure, authz.Everyone), chain, nil
}

// managerChain walks up from the user, nearest first, to the top or to the first
// id seen before; the user counts as seen.
func (a *Application) managerChain(ctx context.Context, user authz.User) ([]string, error) {
	var chain []string
	seen := map[string]bool{user.UserID: true}
	for next := user.ManagerUserID; next != "" && !seen[next]; {
		seen[next] = true
		chain = append(chain, next)
		manager, _, err := a.store.GetUser(ctx, next)
		if err != nil {
			return nil, err
		}
		next = manager.ManagerUserID
	}
	return chain, nil
}

func sameUser(a, b *authz.User) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.UserID == b.UserID && a.Active == b.Active && a.ManagerUserID == b.ManagerUserID &&
		slices.Equal(a.GroupIDs, b.GroupIDs) && slices.Equal(a.OrgIDs, b.OrgIDs)
}
