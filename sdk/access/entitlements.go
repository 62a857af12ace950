// Entitlements: every key that a user's rows confer, with the rows. Each row is walked once
// for all of its keys, instead of once for every key of the catalog.

package access

import "github.com/authzhost/authz/sdk/authz"

// UserEntitlements is what one user's rows confer, and by what, at an instant
// (spec: access §16). Lists are never nil. Active is told and not applied: the rows
// of an inactive user are what reactivation would bring back.
type UserEntitlements struct {
	UserID       string           `json:"userId"`
	Active       bool             `json:"active"`
	Closure      []string         `json:"closure"`
	Entitlements []Entitlement    `json:"entitlements"`
	Revokes      []EntitledRevoke `json:"revokes"`
}

// Entitlement is one declared key that some live grant confers. Held is false
// when a revoke at "*" takes it everywhere; per-scope truth is in the sources.
type Entitlement struct {
	Key     string              `json:"key"`
	Held    bool                `json:"held"`
	Sources []EntitlementSource `json:"sources"`
}

// EntitlementSource is one pattern of one grant, its own or its role's, that
// confers the key at the grant's scope. RoleID is "" when the pattern is the
// grant's own.
type EntitlementSource struct {
	GrantID   string       `json:"grantId"`
	Subject   string       `json:"subject"`
	RoleID    string       `json:"roleId,omitempty"`
	Pattern   string       `json:"pattern"`
	Scope     string       `json:"scope"`
	ExpiresAt authz.Expiry `json:"expiresAt,omitzero"`
}

// EntitledRevoke is one revoke of the user.
type EntitledRevoke struct {
	RevokeID string `json:"revokeId"`
	Pattern  string `json:"pattern"`
	Scope    string `json:"scope"`
}

// Entitlements reads the rows of one user: entitlements in catalog order, sources
// and revokes in supply order. Keys that only an open region admits cannot
// appear. It is for users: of a service's rows UserID stays empty.
func Entitlements(v *Vocabulary, data *authz.SubjectAccess, now int64) UserEntitlements {
	h := hold(data, now)
	record := UserEntitlements{Active: data.Active, Closure: append([]string{}, data.Closure...),
		Entitlements: []Entitlement{}, Revokes: []EntitledRevoke{}}
	if data.UserID != nil {
		record.UserID = *data.UserID
	}
	sources := make([][]EntitlementSource, len(v.keys))
	for i := range data.Grants {
		g := &data.Grants[i]
		if !h.counts(g) {
			continue
		}
		s := EntitlementSource{GrantID: g.ID, Subject: g.Subject, Scope: g.Scope, ExpiresAt: g.ExpiresAt}
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
			record.Entitlements = append(record.Entitlements, Entitlement{Key: name, Held: !hasBit(revoked, uint32(i)), Sources: sources[i]})
		}
	}
	for i := range data.Revokes {
		if r := &data.Revokes[i]; h.theirs(r) {
			record.Revokes = append(record.Revokes, EntitledRevoke{RevokeID: r.ID, Pattern: r.Pattern, Scope: r.Scope})
		}
	}
	return record
}
