package directory

// Snapshot is what an outside directory knows; a nil dataset is left
// untouched by the import.
type Snapshot struct {
	Groups         []Group             `json:"groups,omitempty"`
	Memberships    map[string][]string `json:"memberships,omitempty" read:"first"`
	ReportingEdges map[string]string   `json:"reportingEdges,omitempty" read:"first"`
	Orgs           map[string][]string `json:"orgs,omitempty" read:"first"`
	Users          []User              `json:"users,omitempty"`
}

// Group is a group as the directory knows it.
type Group struct {
	ID          string   `json:"id" read:"required"`
	Name        string   `json:"name" read:"required"`
	Description string   `json:"description,omitempty"`
	Parents     []string `json:"parents,omitempty"`
}

// User is a user as the directory knows them; a nil Active says
// nothing.
type User struct {
	UserID string `json:"userId" read:"required"`
	Active *bool  `json:"active,omitempty"`
}

// Options changes what an import does.
type Options struct {
	// Authoritative makes absence mean something: users, memberships and
	// reporting edges that the snapshot's datasets leave out are taken away.
	Authoritative bool `json:"authoritative,omitempty"`

	// MaxDeactivations guards the import, unless it is nil: a share, 0 to 1.
	// Refused with code conflict, nothing written, is an import that would make
	// more than this share of the stored, active people inactive, absent or told
	// inactive. An authoritative one is refused, too, when the same share of the
	// stored memberships would go, and always when its users are an empty list
	// and there is anybody to lose.
	MaxDeactivations *float64 `json:"maxDeactivations,omitempty"`

	// Confirmed says that somebody looked at what the guard refused and wants it.
	Confirmed bool `json:"confirmed,omitempty"`
}

// Result is what an import did and what it could not do as asked. The counts
// are set for authoritative imports only.
type Result struct {
	Warnings              []string        `json:"warnings"`
	VirtualParents        []VirtualParent `json:"virtualParents"`
	DeactivatedUsers      []string        `json:"deactivatedUsers,omitzero"`
	RemovedMemberships    *int            `json:"removedMemberships,omitempty"`
	ClearedReportingEdges *int            `json:"clearedReportingEdges,omitempty"`
}

// VirtualParent is a group made of a cycle among the directory's groups.
type VirtualParent struct {
	ID      string   `json:"id"`
	Members []string `json:"members"`
}
