package provider

import (
	"context"

	"github.com/authzhost/authz/sdk/authz"
)

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

// ApplyOrgSnapshotInput replaces an organization's data (spec: application §19).
// The lists of the snapshot must all be there: one that was forgotten would read
// as an order to delete.
type ApplyOrgSnapshotInput struct {
	Snapshot OrgSnapshot `json:"snapshot" read:"required"`

	// Source names the sender. Required.
	Source string `json:"source" read:"required,first,source"`

	// Authority is whether the application is the org root from then on; nil says
	// nothing about it.
	Authority *bool `json:"authority,omitempty"`

	// ExpectHead is the log head that the snapshot was made over; another one at
	// the commit is CodeConflict.
	ExpectHead *int64 `json:"expectHead,omitempty" read:"sequence"`

	// Position orders the snapshots of a source: one lower than that of the last
	// applied is CodeConflict.
	Position *int64 `json:"position,omitempty" read:"sequence"`

	// ExpectIdentity is the identity of that head, "" where it is not known.
	ExpectIdentity string `json:"expectIdentity,omitempty"`
}

type (
	snapshotOut struct {
		Snapshot OrgSnapshot `json:"snapshot"`
	}
	appliedOut struct {
		Applied bool `json:"applied"`
	}
)

var opExportOrgSnapshot = declare[none, snapshotOut](Operation{Op: "exportOrgSnapshot", Kind: Read, Requires: FeatureStorage, Older: "org.exportSnapshot",
	Tag: "org-snapshot", Summary: "Export the organizational data", Notes: "`unsupported` where the handler was given no storage.", Answer: "All of it."}, nil)

// ExportOrgSnapshot reads the organization as a whole.
func (h *Hosted) ExportOrgSnapshot(ctx context.Context) (OrgSnapshot, error) {
	out, err := ask(ctx, h.Calls, opExportOrgSnapshot, none{})
	return out.Snapshot, err
}

var opApplyOrgSnapshot = declare[ApplyOrgSnapshotInput, appliedOut](Operation{Op: "applyOrgSnapshot", Kind: Write, Requires: FeatureStorage, Older: "org.applySnapshot",
	Tag: "org-snapshot", Summary: "Replace the organizational data", Answer: "Applied.",
	Notes: "Groups, roles and the grants and revokes at `*` become exactly the snapshot's; listed users and requests are written. `unsupported` where the handler was given no storage, or cannot pass a change of authority on."}, nil)

// ApplyOrgSnapshot replaces it.
func (h *Hosted) ApplyOrgSnapshot(ctx context.Context, in ApplyOrgSnapshotInput) error {
	_, err := ask(ctx, h.Calls, opApplyOrgSnapshot, in)
	return err
}
