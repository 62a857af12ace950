package application

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/authzhost/authz/host/lookup"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// maxNearRows bounds what is read of each kind to find what would allow a denial.
const maxNearRows = 5000

// Around adds to the explanation of a check on some rows of a principal what lies around
// it (spec: access §11.1).
func (a *Application) Around(ctx context.Context, p authz.Principal, rows *authz.SubjectAccess, key string, e access.Explanation) (access.Explained, error) {
	return a.around(ctx, p, rows, key, e, nil)
}

// around is Around on rows that are stored, or supposed where ifSo is not nil.
func (a *Application) around(ctx context.Context, p authz.Principal, rows *authz.SubjectAccess, key string, e access.Explanation, ifSo *supposed) (access.Explained, error) {
	n := nearby{a: a, ctx: ctx, key: key, now: a.clock(), ifSo: ifSo}
	n.out = access.Around(a.catalog, rows, e, key, n.now)
	if err := n.around(p); err != nil {
		return access.Explained{}, a.readFailed("explain", err)
	}
	return n.out, nil
}

// nearby finds what surrounds one explanation.
type nearby struct {
	a    *Application
	ctx  context.Context
	key  string
	now  int64
	ifSo *supposed
	out  access.Explained
}

func (n *nearby) around(p authz.Principal) error {
	if err := n.ways(p); err != nil || n.out.Near == nil || n.ifSo != nil {
		return err // what would change a supposition is nobody's question
	}
	if l, ok := n.a.store.(lender); ok {
		owner, err := l.LentBy(n.ctx, n.key)
		if n.out.Near.LentBy = owner; err != nil || owner != "" {
			return err
		}
	}
	roles, err := upTo(n, n.a.store.ListRoles(n.ctx, storage.Page{Limit: maxNearRows + 1}))
	if err != nil {
		return err
	}
	conferring := access.RolesConferring(n.a.catalog, roles, n.key)
	n.out.Near.Roles = first(n, conferring)
	if p.IsService() {
		return nil
	}
	n.out.Near.Requests = n.requests(roles, conferring)
	return n.groups(roles)
}

// ways fills in the groups of the paths.
func (n *nearby) ways(p authz.Principal) error {
	subjects := map[string]string{}
	for _, g := range slices.Concat(n.out.MatchedGrants, n.out.ImpliedBy) {
		if kind, _, _ := authz.ParseSubject(g.Subject); kind == authz.SubjectGroup {
			subjects[g.ID] = g.Subject
		}
	}
	if len(subjects) == 0 || p.IsService() {
		return nil
	}
	direct, parents, err := n.membership(p.UserID)
	if err != nil {
		return err
	}
	for i := range n.out.Paths {
		if subject := subjects[n.out.Paths[i].GrantID]; subject != "" {
			n.out.Paths[i].Through = lookup.Through(parents, direct, subject)
		}
	}
	return nil
}

// membership is what leads from a user to groups.
func (n *nearby) membership(userID string) (direct []string, parents map[string][]string, err error) {
	user, _, err := n.a.store.GetUser(n.ctx, userID)
	if err != nil {
		return nil, nil, err
	}
	if n.ifSo == nil {
		parents, err = n.a.groupParents(n.ctx)
		return user.GroupIDs, parents, err
	}
	if groups, supposed := n.ifSo.members[userID]; supposed {
		return groups, n.ifSo.parents, nil
	}
	return user.GroupIDs, n.ifSo.parents, nil
}

// requests are those that would be taken: for the key itself, and for roles.
func (n *nearby) requests(roles []authz.Role, conferring []access.NearRole) []access.NearRequest {
	var found []access.NearRequest
	for _, scope := range n.out.ObjectClosure {
		if _, err := n.a.askablePattern(n.key, scope); err == nil {
			found = append(found, access.NearRequest{Pattern: n.key, Scope: scope})
			break
		}
	}
	for _, near := range conferring {
		i := slices.IndexFunc(roles, func(r authz.Role) bool { return r.ID == near.RoleID })
		if roles[i].Requestable != nil {
			found = append(found, access.NearRequest{RoleID: near.RoleID, Scope: n.out.Near.GrantAt})
		}
	}
	return first(n, found)
}

// groups finds those whose members are allowed.
func (n *nearby) groups(roles []authz.Role) error {
	var grants []authz.Grant
	for _, scope := range n.out.ObjectClosure {
		at, err := n.toGroups(scope)
		if err != nil {
			return err
		}
		grants = append(grants, at...)
	}
	closure := make([]string, len(grants))
	for i := range grants {
		closure[i] = grants[i].Subject
	}
	var found []access.NearGroup
	for _, g := range access.Conferring(n.a.catalog, &authz.SubjectAccess{Closure: closure, Grants: grants, Roles: roles}, n.key, n.now) {
		_, id, _ := authz.ParseSubject(g.Subject)
		if !slices.ContainsFunc(found, func(f access.NearGroup) bool { return f.GroupID == id }) {
			found = append(found, access.NearGroup{GroupID: id, GrantID: g.ID})
		}
	}
	found = first(n, found)
	for i := range found {
		group, _, err := n.a.store.GetGroup(n.ctx, found[i].GroupID)
		if err != nil {
			return err
		}
		found[i].Name = group.Name
	}
	n.out.Near.Groups = found
	return nil
}

const groupPrefix = string(authz.SubjectGroup) + ":"

// toGroups are the grants to groups at a scope.
func (n *nearby) toGroups(scope string) ([]authz.Grant, error) {
	if n.a.caps.Has(storage.CapLookups) {
		from := storage.GrantsAtPage{AfterScope: scope, AfterSubject: groupPrefix, Limit: maxNearRows + 1}
		return upTo(n, beginning(n.a.store.ListGrantsAt(n.ctx, []string{scope}, from), toGroup))
	}
	all, err := upTo(n, n.a.store.ListGrants(n.ctx, storage.GrantFilter{Scope: &scope}, storage.Page{Limit: maxNearRows + 1}))
	return slices.DeleteFunc(all, func(g authz.Grant) bool { return !toGroup(g) }), err
}

func toGroup(g authz.Grant) bool { return strings.HasPrefix(g.Subject, groupPrefix) }

// beginning ends a list before the first row that is not wanted.
func beginning[T any](rows iter.Seq2[T, error], wanted func(T) bool) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for row, err := range rows {
			if err == nil && !wanted(row) || !yield(row, err) {
				return
			}
		}
	}
}

// upTo collects at most maxNearRows of a list, and notes when there are more.
func upTo[T any](n *nearby, rows iter.Seq2[T, error]) (list []T, err error) {
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		if len(list) == maxNearRows {
			n.out.Near.More = true
			return list, nil
		}
		list = append(list, row)
	}
	return list, nil
}

// first is the beginning of a list that is told.
func first[T any](n *nearby, list []T) []T {
	if len(list) > access.MaxNear {
		n.out.Near.More = true
		return list[:access.MaxNear]
	}
	return list
}
