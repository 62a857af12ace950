package provider

import "github.com/authzhost/authz/sdk/authz"

// OrgSnapshot is an organization's data as a whole: what an application that is
// not the org root holds as a read model, and what moves when authority does.
type OrgSnapshot struct {
	Groups                []authz.Group     `json:"groups"`
	Roles                 []authz.Role      `json:"roles"`
	GlobalGrants          []authz.Grant     `json:"globalGrants"`  // at scope "*"
	GlobalRevokes         []authz.Revoke    `json:"globalRevokes"` // at scope "*"
	Users                 []authz.User      `json:"users"`
	PendingGlobalRequests []authz.Request   `json:"pendingGlobalRequests"` // at scope "*"
	Catalog               *PublishedCatalog `json:"catalog"`               // nil: nothing was published; not applied
}

func (s OrgSnapshot) MarshalJSON() ([]byte, error) {
	type plain OrgSnapshot
	s.Groups, s.Roles, s.Users = orNone(s.Groups), orNone(s.Roles), orNone(s.Users)
	s.GlobalGrants, s.GlobalRevokes = orNone(s.GlobalGrants), orNone(s.GlobalRevokes)
	s.PendingGlobalRequests = orNone(s.PendingGlobalRequests)
	return authz.Marshal(plain(s))
}

func orNone[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// ApplyOrgSnapshotInput replaces an organization's data (contract: application
// §19). The lists of the snapshot must all be there: one that was forgotten would
// read as an order to delete.
type ApplyOrgSnapshotInput struct {
	Snapshot OrgSnapshot `json:"snapshot"`

	// Source names the sender. Required.
	Source string `json:"source"`

	// Authority is whether the application is the org root from then on; nil says
	// nothing about it.
	Authority *bool `json:"authority,omitempty"`

	// ExpectHead is the log head that the snapshot was made over; another one at
	// the commit is CodeConflict.
	ExpectHead *int64 `json:"expectHead,omitempty"`

	// ExpectIdentity is the identity of that head, "" where it is not known.
	ExpectIdentity string `json:"expectIdentity,omitempty"`

	// Position orders the snapshots of a source: one lower than that of the last
	// applied is CodeConflict.
	Position *int64 `json:"position,omitempty"`
}
