package authz

import "encoding/json"

// Principal is who a check is about: a user or a service, exactly one of them.
type Principal struct {
	UserID    string `json:"userId,omitempty" read:"id"`
	ServiceID string `json:"serviceId,omitempty" read:"id"`
}

// UserPrincipal names an individual.
func UserPrincipal(id string) Principal { return Principal{UserID: id} }

// ServicePrincipal names a machine principal.
func ServicePrincipal(id string) Principal { return Principal{ServiceID: id} }

// Validate returns an *InvalidPrincipalError unless exactly one id is given; an
// empty id names nobody.
func (p Principal) Validate() error {
	switch {
	case p.UserID != "" && p.ServiceID != "":
		return &InvalidPrincipalError{Message: "a principal names both a userId and a serviceId — it must name exactly one"}
	case p.UserID == "" && p.ServiceID == "":
		return &InvalidPrincipalError{Message: "a principal names neither a userId nor a serviceId — it must name exactly one"}
	}
	return nil
}

// IsService reports whether the principal is a machine.
func (p Principal) IsService() bool { return p.ServiceID != "" }

// Subject is the principal's own subject.
func (p Principal) Subject() string {
	if p.IsService() {
		return SubjectOf(SubjectService, p.ServiceID)
	}
	return SubjectOf(SubjectUser, p.UserID)
}

func (p Principal) String() string { return p.Subject() }

// UnmarshalJSON reads a member holding null as absent.
func (p *Principal) UnmarshalJSON(b []byte) error {
	var wire struct{ UserID, ServiceID *string }
	if err := json.Unmarshal(b, &wire); err != nil {
		return err
	}
	*p = Principal{}
	if wire.UserID != nil {
		p.UserID = *wire.UserID
	}
	if wire.ServiceID != nil {
		p.ServiceID = *wire.ServiceID
	}
	return nil
}
