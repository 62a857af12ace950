package hosted

import (
	"maps"
	"slices"
	"strings"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// held are the keys of cloud.* with their scopes that the rows confer on everybody, by
// the plain definition: granted at the scope or at *, and revoked at neither. Seats
// that are invited count as they will, and who is active in the org root that is now.
func (e *escalation) held() map[string]map[string]bool {
	ctx := e.t.Context()
	roles := map[string][]string{cloud.RoleOwner: {cloud.Everything}, cloud.RoleAdmin: {cloud.Everything}}
	for row, err := range account.Roles.All(ctx, e.accounts, "acme") {
		e.must(err)
		roles[row.ID] = row.Value.Patterns
	}
	granted := map[string]map[string]bool{} // by subject
	grant := func(subject string, patterns []string, scope string) {
		for _, p := range patterns {
			for _, key := range cloud.Catalog().KeysMatching(p) {
				if cloud.Catalog().AppliesAt(key, scope) {
					if granted[subject] == nil {
						granted[subject] = map[string]bool{}
					}
					granted[subject][key+" at "+scope] = true
				}
			}
		}
	}
	for row, err := range account.Grants.All(ctx, e.accounts, "acme") {
		e.must(err)
		patterns := roles[row.Value.RoleID]
		if row.Value.Pattern != "" {
			patterns = []string{row.Value.Pattern}
		}
		grant(row.Value.Subject, patterns, row.Value.Scope)
	}
	for row, err := range account.Seats.All(ctx, e.accounts, "acme") {
		e.must(err)
		if row.Value.Administers() && row.Value.State != account.SeatRemoved {
			grant("user:"+row.Value.UserID, []string{cloud.Everything}, "*")
		}
	}
	above := map[string][]string{}
	for g, err := range e.app.ListGroups(ctx, provider.Paging{}) {
		e.must(err)
		above[g.ID] = g.Parents
	}
	all := map[string]map[string]bool{}
	for _, user := range orgUsers {
		subjects := []string{"user:" + user}
		reached := map[string]bool{}
		var climb func(id string)
		climb = func(id string) {
			if !reached[id] {
				reached[id] = true
				subjects = append(subjects, "group:"+id)
				for _, p := range above[id] {
					climb(p)
				}
			}
		}
		for id := range above {
			members, err := e.app.GetGroupMembers(ctx, id)
			e.must(err)
			if slices.Contains(members, user) {
				climb(id)
			}
		}
		rows, err := e.app.GetSubjectAccess(ctx, authz.UserPrincipal(user))
		e.must(err)
		all["user:"+user] = map[string]bool{}
		if rows.Active {
			all["user:"+user] = e.keys(granted, subjects, user)
		}
	}
	for _, s := range append([]string{"writer"}, orgServices...) {
		all["service:"+s] = e.keys(granted, []string{"service:" + s}, "")
	}
	return all
}

func (e *escalation) keys(granted map[string]map[string]bool, subjects []string, user string) map[string]bool {
	revoked := map[string]bool{}
	if user != "" {
		for row, err := range account.Revokes.Under(e.t.Context(), e.accounts, "acme", user) {
			e.must(err)
			for _, key := range cloud.Catalog().KeysMatching(row.Value.Pattern) {
				revoked[key+" at "+row.Value.Scope] = true
			}
		}
	}
	keys := map[string]bool{}
	for _, subject := range subjects {
		for at := range maps.Keys(granted[subject]) {
			key, scope, _ := strings.Cut(at, " at ")
			for _, s := range []string{"*", "cloud.app:docs", "cloud.app:billing"} {
				reaches := scope == s || scope == "*" && cloud.Catalog().AppliesAt(key, s)
				if reaches && !revoked[key+" at "+s] && !revoked[key+" at *"] {
					keys[key+" at "+s] = true
				}
			}
		}
	}
	return keys
}

// able tells whether some owner can act: with an active seat, active at the root if
// there is one, and without revokes.
func (e *escalation) able() bool {
	ctx := e.t.Context()
	org, _, err := account.Orgs.Get(ctx, e.accounts, "acme", account.OrgID)
	e.must(err)
	var root *application.Application
	if primary := org.Value.PrimaryApplication; primary != nil && e.entry(*primary) == "linked" {
		root = e.apps[*primary]
	}
	for row, err := range account.Seats.All(ctx, e.accounts, "acme") {
		e.must(err)
		revokes := 0
		for range account.Revokes.Under(ctx, e.accounts, "acme", row.Value.UserID) {
			revokes++
		}
		active := true
		if root != nil {
			rows, err := root.GetSubjectAccess(ctx, authz.UserPrincipal(row.Value.UserID))
			e.must(err)
			active = rows.Active
		}
		if row.Value.ActiveOwner() && revokes == 0 && active {
			return true
		}
	}
	return false
}
