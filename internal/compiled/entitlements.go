// Entitlements: every key that a user's rows confer, with the rows. Each row is walked once
// for all of its keys, instead of once for every key of the catalog.

package compiled

import (
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
)

// Entitlements reads the rows of one user: entitlements in catalog order, sources
// and revokes in supply order. Keys that only an open region admits cannot
// appear. It is for users: of a service's rows UserID stays empty.
func Entitlements(v *Vocabulary, data *authz.SubjectAccess, now int64) access.UserEntitlements {
	h := read(data, now)
	record := access.UserEntitlements{Active: data.Active, Closure: append([]string{}, data.Closure...),
		Entitlements: []access.Entitlement{}, Revokes: []access.EntitledRevoke{}}
	if data.UserID != nil {
		record.UserID = *data.UserID
	}
	sources := make([][]access.EntitlementSource, len(v.keys))
	for i := range data.Grants {
		g := &data.Grants[i]
		if !h.counts(g) {
			continue
		}
		s := access.EntitlementSource{GrantID: g.ID, Subject: g.Subject, Scope: g.Scope, ExpiresAt: g.ExpiresAt}
		if g.Pattern == "" {
			s.RoleID = g.RoleID
		}
		for _, p := range h.patterns(g) {
			s.Pattern = p
			v.conferred(p, g.Scope, func(key uint32) { sources[key] = append(sources[key], s) })
		}
	}
	revoked := v.revokedEverywhere(h)
	for i, name := range v.catalog.Keys() {
		if len(sources[i]) > 0 {
			record.Entitlements = append(record.Entitlements, access.Entitlement{Key: name, Held: !hasBit(revoked, uint32(i)), Sources: sources[i]})
		}
	}
	for i := range data.Revokes {
		if r := &data.Revokes[i]; h.theirs(r) {
			record.Revokes = append(record.Revokes, access.EntitledRevoke{RevokeID: r.ID, Pattern: r.Pattern, Scope: r.Scope})
		}
	}
	return record
}
