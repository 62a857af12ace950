package scripts

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// freeAfter are the beginnings of texts that are free from there on.
var freeAfter = []string{"auto-denied: ", "authoritative memberships skipped:"}

// fixed is a value with texts cut where they are free.
func fixed(v any) any {
	return mapped(v, func(s string) string {
		for _, beginning := range freeAfter {
			if strings.HasPrefix(s, beginning) {
				return beginning
			}
		}
		return s
	})
}

func reviewedUsers(t testing.TB, a map[string]json.RawMessage) *[]string {
	return readAll[struct{ UserIDs *[]string }](t, a, "options").UserIDs
}

func grantQuery(t testing.TB, a map[string]json.RawMessage) provider.GrantQuery {
	f := readAll[struct{ Subject, Scope, RoleID *string }](t, a, "filter")
	return provider.GrantQuery{Subject: f.Subject, Scope: f.Scope, RoleID: f.RoleID}
}

// Reduced is a supply in the form of the vectors: sets sorted, rows by id.
func Reduced(a authz.SubjectAccess) map[string]any {
	sorted := func(ids []string) []string {
		ids = append([]string{}, ids...)
		slices.Sort(ids)
		return ids
	}
	grants, revokes, roles := []string{}, []string{}, []string{}
	for _, g := range a.Grants {
		grants = append(grants, g.ID)
	}
	for _, v := range a.Revokes {
		revokes = append(revokes, v.ID)
	}
	for _, role := range a.Roles {
		roles = append(roles, role.ID)
	}
	return map[string]any{
		"userId": a.UserID, "active": a.Active, "closure": sorted(a.Closure),
		"managerChain": append([]string{}, a.ManagerChain...), "grantIds": sorted(grants), "revokeIds": sorted(revokes),
		"roleIds": sorted(roles), "unresolvedRoleIds": sorted(a.UnresolvedRoleIDs),
	}
}

// SortedExport sorts what has no order of its own, as the files have it.
func SortedExport(users []access.UserEntitlements) []access.UserEntitlements {
	for _, u := range users {
		slices.Sort(u.Closure)
		for _, e := range u.Entitlements {
			slices.SortFunc(e.Sources, func(a, b access.EntitlementSource) int {
				return cmp.Or(cmp.Compare(a.GrantID, b.GrantID), cmp.Compare(a.Pattern, b.Pattern))
			})
		}
		slices.SortFunc(u.Revokes, func(a, b access.EntitledRevoke) int { return cmp.Compare(a.RevokeID, b.RevokeID) })
	}
	return users
}

// NamedFindings names the rows of findings by their ids, as the files do.
func NamedFindings(findings []access.DriftFinding, grant, role string) []any {
	named := []any{}
	for _, f := range findings {
		via := map[string]any{}
		if f.Via.Grant != nil {
			via[grant] = f.Via.Grant.ID
		} else {
			via[role], via["grantIds"] = f.Via.Role.ID, slices.Sorted(slices.Values(f.Via.GrantIDs))
		}
		named = append(named, map[string]any{"via": via, "pattern": f.Pattern, "gainedKeys": f.GainedKeys})
	}
	return named
}
