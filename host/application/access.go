package application

import (
	"context"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// maxSupplyReads bounds how often a supply follows the edges anew because the
// rows moved meanwhile.
const maxSupplyReads = 3

// GetSubjectAccess supplies a principal's closure and its rows, all of one
// instant, without the rows that have expired on this clock.
func (a *Application) GetSubjectAccess(ctx context.Context, p authz.Principal) (authz.SubjectAccess, error) {
	const op = "getSubjectAccess"
	if s := principalShape(p); s.err != nil {
		return authz.SubjectAccess{}, s.err
	}
	access, err := a.rowsOf(ctx, a.store, p, a.clock())
	return access, a.readFailed(op, err)
}

// AccessAt is GetSubjectAccess and ResolveAncestors in one read of storage, where the
// driver can: of one instant, then.
func (a *Application) AccessAt(ctx context.Context, p authz.Principal, scope string) (provider.AccessAt, error) {
	stored, ok := a.ancestry.(*recorded)
	if !ok || !a.caps.Has(storage.CapAncestors) || !p.IsService() && !a.caps.Has(storage.CapExpand) ||
		scope == authz.Global || checkScope(scope) != nil || len(scope) > maxID || p.Validate() != nil || len(p.UserID) > maxID || len(p.ServiceID) > maxID {
		return a.accessThenAncestors(ctx, p, scope)
	}
	q, closure := storage.AccessQuery{UserID: p.UserID, Expand: true, Scope: scope}, []string(nil)
	if p.IsService() {
		closure = []string{p.Subject(), authz.Everyone}
		q = storage.AccessQuery{Subjects: closure, Scope: scope}
	}
	read, err := a.store.ReadAccess(ctx, q)
	if err != nil {
		return provider.AccessAt{}, a.readFailed("getSubjectAccess", err)
	}
	if closure != nil {
		read.Closure = closure
	}
	at := provider.AccessAt{Access: supply(p, read, a.clock())}
	if read.Parents == nil {
		at.Ancestors, at.AncestorsErr = a.ResolveAncestors(ctx, scope)
		return at, nil
	}
	chain, err := stored.chain(scope, func(level []string) (map[string][]string, error) { return read.Parents, nil })
	at.Ancestors, at.AncestorsErr = a.judgedChain(scope, chain, err)
	return at, nil
}

func (a *Application) accessThenAncestors(ctx context.Context, p authz.Principal, scope string) (at provider.AccessAt, err error) {
	if at.Access, err = a.GetSubjectAccess(ctx, p); err != nil {
		return provider.AccessAt{}, err
	}
	at.Ancestors, at.AncestorsErr = a.ResolveAncestors(ctx, scope)
	return at, nil
}

// rowsOf is GetSubjectAccess of a valid principal, read from one of the application's
// stores, at an instant of the caller's.
// Failures are storage's own.
func (a *Application) rowsOf(ctx context.Context, from storage.Store, p authz.Principal, now int64) (authz.SubjectAccess, error) {
	var read storage.Access
	var err error
	switch {
	case p.IsService():
		closure := []string{p.Subject(), authz.Everyone}
		read, err = from.ReadAccess(ctx, storage.AccessQuery{Subjects: closure})
		read.Closure = closure
	case a.caps.Has(storage.CapExpand):
		read, err = from.ReadAccess(ctx, storage.AccessQuery{UserID: p.UserID, Expand: true})
	default:
		read, err = a.follow(ctx, from, p.UserID)
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
	access.Grants = read.Grants
	if slices.ContainsFunc(read.Grants, func(g authz.Grant) bool { return g.ExpiresAt.Expired(now) }) {
		access.Grants = make([]authz.Grant, 0, len(read.Grants))
		for _, g := range read.Grants {
			if !g.ExpiresAt.Expired(now) {
				access.Grants = append(access.Grants, g)
			}
		}
	}
	numbers, named := make(map[string]int, len(read.Roles)), make([]bool, len(read.Roles))
	for i := range read.Roles {
		numbers[read.Roles[i].ID] = i
	}
	unresolved := map[string]bool{}
	for i := range access.Grants {
		id := access.Grants[i].RoleID
		if id == "" {
			continue
		}
		switch n, found := numbers[id]; {
		case !found && !unresolved[id]:
			unresolved[id] = true
			access.UnresolvedRoleIDs = append(access.UnresolvedRoleIDs, id)
		case found && !named[n]:
			named[n] = true
			if access.Roles == nil {
				access.Roles = make([]authz.Role, 0, len(read.Roles))
			}
			access.Roles = append(access.Roles, read.Roles[n])
		}
	}
	return access
}

// follow computes the closure of a user over a driver that cannot, and reads the
// rows.
func (a *Application) follow(ctx context.Context, from storage.Store, userID string) (storage.Access, error) {
	return following{from: from, users: a.store, logged: a.persist, parents: a.topology.at}.read(ctx, userID)
}

// Follow reads what is stored of a user in a partition of any driver, with the closure.
func Follow(ctx context.Context, from storage.Store, userID string) (storage.Access, error) {
	caps := from.Info().Capabilities
	if caps.Has(storage.CapExpand) {
		return from.ReadAccess(ctx, storage.AccessQuery{UserID: userID, Expand: true})
	}
	parents := func(ctx context.Context, _ authz.Position) (map[string][]string, error) {
		return groupParents(ctx, from)
	}
	return following{from: from, users: from, logged: caps.Has(storage.CapEvents), parents: parents}.read(ctx, userID)
}

// following computes closures over a driver that cannot.
type following struct {
	from    storage.Store
	users   storage.Users
	logged  bool // events are persisted, so that the head tells of every change
	parents func(ctx context.Context, head authz.Position) (map[string][]string, error)
}

// read: the user record and the log head that come with the rows must be those
// that the closure was computed from (spec: storage §4.1); otherwise the
// closure would be a mixture of two states, and it starts again from the answer.
func (f following) read(ctx context.Context, userID string) (storage.Access, error) {
	base, err := f.from.ReadAccess(ctx, storage.AccessQuery{UserID: userID})
	if err != nil {
		return storage.Access{}, err
	}
	for range maxSupplyReads {
		closure, chain, err := f.closure(ctx, userID, base)
		if err != nil {
			return storage.Access{}, err
		}
		read, err := f.from.ReadAccess(ctx, storage.AccessQuery{UserID: userID, Subjects: closure})
		if err != nil {
			return storage.Access{}, err
		}
		if sameUser(base.User, read.User) && (!f.logged || base.Head == read.Head) {
			read.Closure, read.ManagerChain = closure, chain
			return read, nil
		}
		base = read
	}
	return storage.Access{}, storage.Unavailable("", nil, "the rows of the principal kept changing while they were read")
}

// closure follows memberships, group parents and managers in the order of the
// subject closure (spec: access §4).
func (f following) closure(ctx context.Context, userID string, base storage.Access) (closure, chain []string, err error) {
	user := authz.User{UserID: userID}
	if base.User != nil {
		user = *base.User
	}
	if chain, err = managerChain(ctx, f.users, user); err != nil {
		return nil, nil, err
	}
	var parents map[string][]string
	if len(user.GroupIDs) > 0 {
		head := base.Head
		if !f.logged {
			head = authz.Position{} // nothing moves it, whatever the driver counts
		}
		if parents, err = f.parents(ctx, head); err != nil {
			return nil, nil, err
		}
	}
	return storage.Closure(userID, base.User, chain, func(group string) []string { return parents[group] }), chain, nil
}

func managerChain(ctx context.Context, users storage.Users, user authz.User) ([]string, error) {
	return storage.ManagerChain(user.UserID, user.ManagerUserID, func(id string) (string, error) {
		above, _, err := users.GetUser(ctx, id)
		return above.ManagerUserID, err
	})
}

func sameUser(a, b *authz.User) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.UserID == b.UserID && a.Active == b.Active && a.ManagerUserID == b.ManagerUserID &&
		slices.Equal(a.GroupIDs, b.GroupIDs) && slices.Equal(a.OrgIDs, b.OrgIDs)
}
