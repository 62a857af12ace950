package orgroot

import (
	"context"
	"slices"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// What a write of the org domain newly confers. Rows of a group reach its members and
// those of the groups below it, so that each new edge of a user or a group upwards is
// judged by the rows of everything above it, whoever is below: then no order of
// writes, also of several at once, confers what their author does not hold.

// groupsAbove are a root's groups with their parents.
type groupsAbove map[string][]string

func readGroups(ctx context.Context, to applications.Asked) (groupsAbove, error) {
	parents := groupsAbove{}
	for g, err := range to.Relay.ListGroups(ctx, provider.Paging{}) {
		if err != nil {
			return nil, err
		}
		parents[g.ID] = g.Parents
	}
	return parents, nil
}

// above adds the groups named and all above them, as subjects.
func (g groupsAbove) above(ids []string) map[string]bool {
	reached := map[string]bool{}
	for next := slices.Clone(ids); len(next) > 0; {
		id := next[0]
		next = next[1:]
		subject := authz.SubjectOf(authz.SubjectGroup, id)
		if !reached[subject] {
			reached[subject] = true
			next = append(next, g[id]...)
		}
	}
	return reached
}

// concerned tells whether rows of groups can confer what is judged here; when not,
// nothing has to be read. The subjects are those that have account rows.
func (r *Root) concerned(ctx context.Context, a *service.Access) (map[string]bool, bool, error) {
	granted, err := r.account.Granted(ctx, a.Org.ID, authz.SubjectGroup)
	return granted, r.account.Strict() || len(granted) > 0, err
}

// mayJoin judges the groups that a user has afterwards and had not before.
func (r *Root) mayJoin(ctx context.Context, a *service.Access, to applications.Asked, userID string, groupIDs []string) error {
	granted, concerned, err := r.concerned(ctx, a)
	if err != nil || !concerned {
		return err
	}
	groups, err := readGroups(ctx, to)
	if err != nil {
		return err
	}
	now, err := to.Relay.GetSubjectAccess(ctx, authz.UserPrincipal(userID))
	if err != nil {
		return err
	}
	gained := groups.above(groupIDs)
	for _, subject := range now.Closure {
		delete(gained, subject)
	}
	return r.mayReach(ctx, a, to, granted, gained)
}

// maySetParents judges the groups that are above a group afterwards and were not before.
func (r *Root) maySetParents(ctx context.Context, a *service.Access, to applications.Asked, id string, parents []string) error {
	granted, concerned, err := r.concerned(ctx, a)
	if err != nil || !concerned {
		return err
	}
	groups, err := readGroups(ctx, to)
	if err != nil {
		return err
	}
	gained := groups.above(parents)
	for subject := range groups.above([]string{id}) {
		delete(gained, subject)
	}
	return r.mayReach(ctx, a, to, granted, gained)
}

// mayCreateGroup judges the groups above a new one, and rows that await its id.
func (r *Root) mayCreateGroup(ctx context.Context, a *service.Access, to applications.Asked, in provider.GroupInput) error {
	granted, concerned, err := r.concerned(ctx, a)
	if err != nil || !concerned {
		return err
	}
	groups, err := readGroups(ctx, to)
	if err != nil {
		return err
	}
	gained := groups.above(in.Parents)
	if in.ID != nil {
		gained[authz.SubjectOf(authz.SubjectGroup, *in.ID)] = true
	}
	return r.mayReach(ctx, a, to, granted, gained)
}

// mayReach judges the rows of subjects that come to reach somebody: those of account
// data always, those of the root under strict escalation.
func (r *Root) mayReach(ctx context.Context, a *service.Access, to applications.Asked, granted, gained map[string]bool) error {
	var ofAccount, all []string
	for subject := range gained {
		all = append(all, subject)
		if granted[subject] {
			ofAccount = append(ofAccount, subject)
		}
	}
	slices.Sort(ofAccount)
	if err := r.account.MayReach(ctx, a, ofAccount); err != nil || !r.account.Strict() {
		return err
	}
	return r.mayReachAtRoot(ctx, a, to, all)
}

func (r *Root) mayReachAtRoot(ctx context.Context, a *service.Access, to applications.Asked, subjects []string) error {
	var patterns []string
	for _, subject := range subjects {
		for g, err := range to.Relay.ListGrants(ctx, provider.GrantQuery{Subject: &subject, Scope: new(authz.Global)}) {
			if err != nil {
				return err
			}
			if g.ExpiresAt.Expired(r.clock()) {
				continue
			}
			given, err := r.given(ctx, a.Org.ID, g.Pattern, g.RoleID)
			if err != nil {
				return err
			}
			patterns = append(patterns, given...)
		}
	}
	return r.mayGive(ctx, a, patterns)
}

// given are the patterns of a grant. A role that is not there gives none.
func (r *Root) given(ctx context.Context, org, pattern, roleID string) ([]string, error) {
	if pattern != "" {
		return []string{pattern}, nil
	}
	role, err := r.Role(ctx, org, roleID)
	if isCode(err, string(authz.CodeNotFound)) {
		return nil, nil
	}
	return role.Patterns, err
}

// mayGive judges, under strict escalation, patterns of the root at *: the caller holds
// every key of authz_internal that they confer.
func (r *Root) mayGive(ctx context.Context, a *service.Access, patterns []string) error {
	if !r.account.Strict() || len(patterns) == 0 {
		return nil
	}
	keys := map[string]bool{}
	for _, pattern := range patterns {
		for _, key := range cloud.Evaluable().KeysMatching(pattern) {
			keys[key] = authz.NamespaceOf(key) == authz.InternalNamespace
		}
	}
	return r.mayGiveKeys(ctx, a, keys)
}

func (r *Root) mayGiveKeys(ctx context.Context, a *service.Access, given map[string]bool) error {
	judges, err := r.judges(ctx, a.Org.ID, a.Caller.Principal(), a.ViewAs, true)
	if err != nil {
		return err
	}
	var lacking []service.Missing
	for _, key := range internalKeys() {
		if given[key] && slices.ContainsFunc(judges, func(j *compiled.Access) bool { return !held(j)[key] }) {
			lacking = append(lacking, service.Missing{Key: key, Scope: authz.Global})
		}
	}
	return service.Escalation(lacking)
}

// mayGrant is mayGive for grants of the root.
func (r *Root) mayGrant(ctx context.Context, a *service.Access, in ...provider.GrantInput) error {
	if !r.account.Strict() {
		return nil
	}
	var patterns []string
	for _, g := range in {
		if g.Scope != "" && g.Scope != authz.Global {
			continue
		}
		given, err := r.given(ctx, a.Org.ID, g.Pattern, g.RoleID)
		if err != nil {
			return err
		}
		patterns = append(patterns, given...)
	}
	return r.mayGive(ctx, a, patterns)
}

// mayUnrevoke is mayGive for what a revoke of the root takes away.
func (r *Root) mayUnrevoke(ctx context.Context, a *service.Access, to applications.Asked, id string) error {
	if !r.account.Strict() {
		return nil
	}
	row, err := find(to.Relay.ListRevokes(ctx, provider.RevokeQuery{Paging: before(id)}), "revoke", id, func(v authz.Revoke) string { return v.ID })
	if err != nil || row.Scope != authz.Global {
		return err
	}
	return r.mayGive(ctx, a, []string{row.Pattern})
}

// mayReport judges, under strict escalation, rows for the reports of a user's new
// manager and of those above.
func (r *Root) mayReport(ctx context.Context, a *service.Access, to applications.Asked, userID, managerUserID string) error {
	if !r.account.Strict() || managerUserID == "" {
		return nil
	}
	now, err := to.Relay.GetSubjectAccess(ctx, authz.UserPrincipal(userID))
	if err != nil {
		return err
	}
	manager, err := to.Relay.GetSubjectAccess(ctx, authz.UserPrincipal(managerUserID))
	if err != nil {
		return err
	}
	gained := []string{authz.SubjectOf(authz.SubjectDirects, managerUserID), authz.SubjectOf(authz.SubjectOrgOf, managerUserID)}
	for _, subject := range manager.Closure {
		if kind, _, _ := authz.ParseSubject(subject); kind == authz.SubjectOrgOf {
			gained = append(gained, subject)
		}
	}
	gained = slices.DeleteFunc(gained, func(subject string) bool { return slices.Contains(now.Closure, subject) })
	return r.mayReachAtRoot(ctx, a, to, gained)
}

// mayRestore judges that a user is active again: what account data then confers on
// them and, under strict escalation, what the root does.
func (r *Root) mayRestore(ctx context.Context, a *service.Access, userID string) error {
	if err := r.account.MayRestore(ctx, a, userID); err != nil || !r.account.Strict() {
		return err
	}
	return r.atRoot(ctx, a.Org.ID, func(to applications.Asked) error {
		rows, err := to.Relay.GetSubjectAccess(ctx, authz.UserPrincipal(userID))
		if err != nil || rows.Active {
			return err
		}
		rows.Active = true
		return r.mayGiveKeys(ctx, a, held(compiled.Compile(vocabulary(), &rows, r.clock())))
	})
}
