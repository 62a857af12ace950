// Keys that the catalog does not declare and an open region or a policy admits. They
// have no number, so nothing is compiled for them: the definition answers, row by row: some 6 µs of 100.

package access

import (
	"slices"

	"github.com/authzhost/authz/sdk/authz"
)

// DecideUndeclared is Decide for a key that the catalog does not declare, and that no
// grant below implies therefore.
func DecideUndeclared(v *Vocabulary, data *authz.SubjectAccess, key string, c *Chain, now int64) bool {
	allowed, _ := Decide(v, data, key, c, now, nil)
	return allowed
}

// HoldsUndeclared is HeldAnywhere for a key that the catalog cannot list.
func HoldsUndeclared(v *Vocabulary, data *authz.SubjectAccess, key string, now int64) bool {
	if !data.Active {
		return false
	}
	q := hold(data, now).ask(v, key, GlobalChain, nil)
	for range q.revokes(GlobalChain) {
		return false
	}
	for range q.conferring() {
		return true
	}
	return false
}

// GrantedScopesUndeclared is GrantedScopes for a key that the catalog cannot list.
func GrantedScopesUndeclared(v *Vocabulary, data *authz.SubjectAccess, key string, now int64) GrantedScopes {
	g := GrantedScopes{Granted: []string{}, Revoked: []string{}}
	if !data.Active {
		return g
	}
	q := hold(data, now).ask(v, key, GlobalChain, nil)
	for row := range q.conferring() {
		g.Granted = append(g.Granted, row.Scope)
	}
	for i := range data.Revokes {
		if r := &data.Revokes[i]; q.suppresses(r) {
			g.Revoked = append(g.Revoked, r.Scope)
		}
	}
	slices.Sort(g.Granted)
	slices.Sort(g.Revoked)
	return GrantedScopes{Granted: slices.Compact(g.Granted), Revoked: slices.Compact(g.Revoked)}
}
