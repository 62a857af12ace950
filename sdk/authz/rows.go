package authz

import "encoding/json"

// Grant gives a subject a role's patterns or one pattern at a scope. Exactly
// one of RoleID and Pattern is non-empty in rows written through the
// application; a stored row with both confers its pattern only.
type Grant struct {
	ID         string     `json:"id"`
	Subject    string     `json:"subject"`
	RoleID     string     `json:"roleId,omitempty" read:"nonempty"`
	Pattern    string     `json:"pattern,omitempty" read:"pattern"`
	Scope      string     `json:"scope"`
	ExpiresAt  Expiry     `json:"expiresAt,omitzero"`
	Provenance Provenance `json:"provenance"`
	CreatedAt  int64      `json:"createdAt" read:"required"`
}

// Revoke takes from one user what the pattern matches at a scope and below. It
// wins over every grant and never expires.
type Revoke struct {
	ID         string     `json:"id"`
	UserID     string     `json:"userId"`
	Pattern    string     `json:"pattern"`
	Scope      string     `json:"scope"`
	Provenance Provenance `json:"provenance"`
	CreatedAt  int64      `json:"createdAt" read:"required"`
}

// Role is a named list of patterns. Its identity is its id: renaming changes
// nothing in evaluation.
type Role struct {
	ID          string       `json:"id"`
	Name        string       `json:"name" read:"required"`
	Description string       `json:"description,omitempty"`
	Patterns    []string     `json:"patterns" read:"required"`
	Requestable *Requestable `json:"requestable,omitempty"`
}

// Group is an explicit group. Parents are group ids in a meaningful order:
// closures follow it. Virtual marks a group that directory import made of a
// cycle.
type Group struct {
	ID          string   `json:"id"`
	Name        string   `json:"name" read:"required"`
	Description string   `json:"description,omitempty"`
	Parents     []string `json:"parents" read:"required"`
	Virtual     bool     `json:"virtual,omitempty"`
}

// User is the optional record of a user. ManagerUserID "" means no manager and
// is null on the wire. A user without a record is active and in no group.
type User struct {
	UserID        string
	Active        bool
	GroupIDs      []string
	OrgIDs        []string
	ManagerUserID string
}

type wireUser struct {
	UserID        string   `json:"userId"`
	Active        bool     `json:"active"`
	GroupIDs      []string `json:"groupIds"`
	OrgIDs        []string `json:"orgIds"`
	ManagerUserID *string  `json:"managerUserId"`
}

func (r Role) MarshalJSON() ([]byte, error) {
	type plain Role
	r.Patterns = nonNil(r.Patterns)
	return Marshal(plain(r))
}

func (g Group) MarshalJSON() ([]byte, error) {
	type plain Group
	g.Parents = nonNil(g.Parents)
	return Marshal(plain(g))
}

func (u User) MarshalJSON() ([]byte, error) {
	w := wireUser{UserID: u.UserID, Active: u.Active, GroupIDs: nonNil(u.GroupIDs), OrgIDs: nonNil(u.OrgIDs)}
	if u.ManagerUserID != "" {
		w.ManagerUserID = &u.ManagerUserID
	}
	return Marshal(w)
}

func (u *User) UnmarshalJSON(b []byte) error {
	var w wireUser
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*u = User{UserID: w.UserID, Active: w.Active, GroupIDs: w.GroupIDs, OrgIDs: w.OrgIDs}
	if w.ManagerUserID != nil {
		u.ManagerUserID = *w.ManagerUserID
	}
	return nil
}

// SubjectAccess is everything that evaluating one principal needs, as one read
// supplied it (spec: access §3.5). UserID is nil for a service. Closure and
// ManagerChain are in the order of the subject closure (spec: access §4); grants
// and revokes in supply order.
type SubjectAccess struct {
	UserID            *string  `json:"userId"`
	Closure           []string `json:"closure"`
	Grants            []Grant  `json:"grants"`
	Revokes           []Revoke `json:"revokes"`
	Roles             []Role   `json:"roles"`
	ManagerChain      []string `json:"managerChain"`
	UnresolvedRoleIDs []string `json:"unresolvedRoleIds"`
	Active            bool     `json:"active"`
}

func (a SubjectAccess) MarshalJSON() ([]byte, error) {
	type plain SubjectAccess
	a.Closure = nonNil(a.Closure)
	a.Grants = nonNil(a.Grants)
	a.Revokes = nonNil(a.Revokes)
	a.Roles = nonNil(a.Roles)
	a.ManagerChain = nonNil(a.ManagerChain)
	a.UnresolvedRoleIDs = nonNil(a.UnresolvedRoleIDs)
	return Marshal(plain(a))
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
