// Keys that the catalog does not declare and an open region or a policy admits. They
// have no number, so nothing is compiled for them: the definition answers, row by row: some 6 µs of 100.

package compiled

import (
	"slices"

	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
)

// DecideUndeclared is access.Decide for a key that the catalog does not declare, and that
// no grant below implies therefore.
func (a *Access) DecideUndeclared(key string, c *Chain, now int64) bool {
	allowed, _ := access.Decide(a.vocabulary.catalog, a.data, key, c.scopes, now, nil)
	return allowed
}

// HoldsUndeclared is HeldAnywhere for a key that the catalog cannot list.
func (a *Access) HoldsUndeclared(key string, now int64) bool {
	return a.active && !slices.Contains(a.revokedScopes(key), authz.Global) &&
		len(access.Conferring(a.vocabulary.catalog, a.data, key, now)) > 0
}

// GrantedScopesUndeclared is GrantedScopes for a key that the catalog cannot list.
func (a *Access) GrantedScopesUndeclared(key string, now int64) access.GrantedScopes {
	g := access.GrantedScopes{Granted: []string{}, Revoked: []string{}}
	if !a.active {
		return g
	}
	for _, row := range access.Conferring(a.vocabulary.catalog, a.data, key, now) {
		g.Granted = append(g.Granted, row.Scope)
	}
	g.Revoked = append(g.Revoked, a.revokedScopes(key)...)
	slices.Sort(g.Granted)
	slices.Sort(g.Revoked)
	return access.GrantedScopes{Granted: slices.Compact(g.Granted), Revoked: slices.Compact(g.Revoked)}
}

// revokedScopes are the scopes of the revokes that match a key.
func (a *Access) revokedScopes(key string) (scopes []string) {
	if a.data.UserID == nil {
		return nil // a service has no revokes
	}
	for i := range a.data.Revokes {
		if r := &a.data.Revokes[i]; r.UserID == *a.data.UserID && authz.Match(r.Pattern, key) {
			scopes = append(scopes, r.Scope)
		}
	}
	return scopes
}
