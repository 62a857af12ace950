// Entitlements: every key that a user's rows confer, with the rows.

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
