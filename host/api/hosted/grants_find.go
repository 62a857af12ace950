package hosted

import (
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/authz"
)

// grantSearch is the query of every list of grants (spec: hosted-api §8.3). Each member
// that is present selects among what the others leave.
type grantSearch struct {
	grantFilter
	Pattern     *string `query:"pattern,omitempty"`
	Actor       *string `query:"actor,omitempty"`
	Expires     *bool   `query:"expires,omitempty"`
	ExpiresFrom *int64  `query:"expiresFrom,omitempty"`
	ExpiresTo   *int64  `query:"expiresTo,omitempty"`
	CreatedFrom *int64  `query:"createdFrom,omitempty"`
	CreatedTo   *int64  `query:"createdTo,omitempty"`
	Order       string  `query:"order,omitempty" enum:"id,-createdAt,expiresAt"`
}

func (s grantSearch) search() authz.GrantSearch {
	q := authz.GrantSearch{Subject: s.Subject, RoleID: s.RoleID, Scope: s.Scope, Pattern: s.Pattern, Actor: s.Actor,
		Expires: s.Expires, ExpiresFrom: s.ExpiresFrom, ExpiresTo: s.ExpiresTo, CreatedFrom: s.CreatedFrom, CreatedTo: s.CreatedTo}
	if s.Order != "id" {
		q.Order = authz.GrantOrder(s.Order)
	}
	return q
}

// Check tells what cannot select anything.
func (s grantSearch) Check() error {
	if err := s.grantFilter.Check(); err != nil {
		return err
	}
	switch {
	case s.Pattern != nil && authz.ValidatePattern(*s.Pattern) != nil:
		return fault.Parameter("pattern", "%s", authz.ValidatePattern(*s.Pattern).Reason)
	case s.Pattern != nil && s.RoleID != nil:
		return fault.Parameter("pattern", "a grant has a role or a pattern: ask for one of them")
	case s.CreatedFrom != nil && s.CreatedTo != nil && *s.CreatedFrom >= *s.CreatedTo:
		return fault.Parameter("createdTo", "must be later than createdFrom")
	case s.ExpiresFrom != nil && s.ExpiresTo != nil && *s.ExpiresFrom >= *s.ExpiresTo:
		return fault.Parameter("expiresTo", "must be later than expiresFrom")
	case s.Expires != nil && !*s.Expires && (s.ExpiresFrom != nil || s.ExpiresTo != nil || s.Order == string(authz.GrantsExpiring)):
		return fault.Parameter("expires", "false selects grants without an expiry, which have no place in time: leave expiresFrom, expiresTo and the order expiresAt out")
	}
	return nil
}
