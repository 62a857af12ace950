package application_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// resync takes groups and users from the store: an import's entries do not name
// them.
func (l *logged) resync(t *testing.T, s storage.Store) {
	t.Helper()
	clear(l.groups)
	clear(l.users)
	for _, g := range rows(t, s.ListGroups(t.Context(), storage.Page{})) {
		l.groups[g.ID] = &loggedGroup{name: g.Name, parents: &g.Parents}
	}
	for _, u := range rows(t, s.ListUsers(t.Context(), storage.UserFilter{}, storage.Page{})) {
		l.users[u.UserID] = &loggedUser{active: u.Active, groups: u.GroupIDs, manager: u.ManagerUserID}
	}
}

// resyncOrg takes from the store what a snapshot may replace: its entry counts.
// Rows at instance scopes and requests stay what the log says.
func (l *logged) resyncOrg(t *testing.T, s storage.Store) {
	t.Helper()
	l.resync(t, s)
	clear(l.roles)
	for _, r := range rows(t, s.ListRoles(t.Context(), storage.Page{})) {
		l.roles[r.ID] = r.Name
	}
	global := authz.Global
	maps.DeleteFunc(l.grants, func(_, line string) bool { return strings.Contains(line, "|*|") })
	for _, g := range rows(t, s.ListGrants(t.Context(), storage.GrantFilter{Scope: &global}, storage.Page{})) {
		l.grants[g.ID] = tuple(g.Subject, g.RoleID, g.Pattern, g.Scope, g.ExpiresAt)
	}
	maps.DeleteFunc(l.revokes, func(_, line string) bool { return strings.HasSuffix(line, "|*") })
	for _, v := range rows(t, s.ListRevokes(t.Context(), storage.RevokeFilter{Scope: &global}, storage.Page{})) {
		l.revokes[v.ID] = v.UserID + "|" + v.Pattern + "|" + v.Scope
	}
}

func groupLine(name string, parents []string) string {
	return name + " " + fmt.Sprint(keepFirst(parents))
}

func userLine(active bool, groups []string, manager string) string {
	return fmt.Sprintf("%t %v %s", active, append([]string{}, groups...), manager)
}

// shown is the state as the log has it.
func (l *logged) shown() map[string]any {
	groups, users := map[string]string{}, map[string]string{}
	for id, g := range l.groups {
		if groups[id] = g.name; g.parents != nil {
			groups[id] = groupLine(g.name, *g.parents)
		}
	}
	for id, u := range l.users {
		users[id] = userLine(u.active, u.groups, u.manager)
	}
	requests := map[string]string{}
	for id, q := range l.requests {
		requests[id] = q.line + " " + string(q.state)
	}
	return map[string]any{"grants": l.grants, "revokes": l.revokes, "roles": l.roles, "groups": groups, "users": users, "requests": requests,
		"scopes": l.scopes, "catalog": l.versions["catalog.publish"], "imports": l.versions["imports.publish"]}
}

// stored is the same of the store, without the parents that the log does not have.
func (l *logged) stored(t *testing.T, s storage.Store) map[string]any {
	t.Helper()
	ctx := t.Context()
	grants, revokes, roles, groups, users := map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}
	for _, g := range rows(t, s.ListGrants(ctx, storage.GrantFilter{}, storage.Page{})) {
		grants[g.ID] = tuple(g.Subject, g.RoleID, g.Pattern, g.Scope, g.ExpiresAt)
	}
	for _, v := range rows(t, s.ListRevokes(ctx, storage.RevokeFilter{}, storage.Page{})) {
		revokes[v.ID] = v.UserID + "|" + v.Pattern + "|" + v.Scope
	}
	for _, r := range rows(t, s.ListRoles(ctx, storage.Page{})) {
		roles[r.ID] = r.Name
	}
	for _, g := range rows(t, s.ListGroups(ctx, storage.Page{})) {
		groups[g.ID] = groupLine(g.Name, g.Parents)
		if known := l.groups[g.ID]; known != nil && known.parents == nil {
			groups[g.ID] = g.Name
		}
	}
	for _, u := range rows(t, s.ListUsers(ctx, storage.UserFilter{}, storage.Page{})) {
		users[u.UserID] = userLine(u.Active, u.GroupIDs, u.ManagerUserID)
	}
	recorded, err := s.GetScopeParents(ctx, seqScopes[1:])
	must(t, err)
	scopes := map[string]string{}
	for scope, parents := range recorded {
		scopes[scope] = fmt.Sprint(parents)
	}
	head, _, err := s.GetCatalog(ctx)
	must(t, err)
	imports, _, err := s.GetImports(ctx)
	must(t, err)
	requests := map[string]string{}
	for _, q := range rows(t, s.ListRequests(ctx, storage.RequestFilter{}, storage.RequestPage{})) {
		requests[q.ID] = fmt.Sprintf("%s|%s|%s|%s %s", q.RequesterUserID, q.RoleID, q.Pattern, q.Scope, q.State)
	}
	return map[string]any{"grants": grants, "revokes": revokes, "roles": roles, "groups": groups, "users": users, "requests": requests,
		"scopes": scopes, "catalog": head.Version, "imports": imports.Version}
}
