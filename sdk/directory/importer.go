package directory

import (
	"context"
	"iter"
)

// Importer reads an outside directory. A plugin of kind directory_importer serves
// one. Methods may be called concurrently.
type Importer interface {
	Info() ImporterInfo

	// Import reads the directory. The first entry is a Begin, the last an End;
	// without that End the reader has not seen the whole and must change nothing.
	// An error ends the sequence: *authz.WriteRejectedError of code validation when
	// the directory's content or the request cannot be used, *authz.UnavailableError
	// when it could not be read. Between Begin and End the entries come in any
	// order. A reader that stops early, or whose ctx ends, stops the reading.
	Import(ctx context.Context, r Request) iter.Seq2[Entry, error]

	// Close ends the importer and what it has open.
	Close() error
}

// ImporterInfo is what a configured importer says of itself.
type ImporterInfo struct {
	Name         string
	Capabilities []ImporterCapability
}

// ImporterCapability is what an importer can do: the datasets that it can tell,
// and more.
type ImporterCapability string

// The capabilities. Of the datasets a run's Begin says which ones it carries.
const (
	CapUsers       ImporterCapability = "users"
	CapGroups      ImporterCapability = "groups"
	CapMemberships ImporterCapability = "memberships"
	CapReporting   ImporterCapability = "reporting"
	CapOrgs        ImporterCapability = "orgs"

	// CapIncremental: its End has a cursor, and it can tell what changed since one.
	CapIncremental ImporterCapability = "incremental"
)

// ImporterCapabilities lists every capability.
func ImporterCapabilities() []ImporterCapability {
	return append(Datasets(), CapIncremental)
}

// Datasets lists the capabilities that are datasets.
func Datasets() []ImporterCapability {
	return []ImporterCapability{CapUsers, CapGroups, CapMemberships, CapReporting, CapOrgs}
}

// Request asks for one reading.
type Request struct {
	// Cursor is the last End's, "" for all of the directory. An importer that can
	// no longer tell what changed since reads all of it, and says so in Begin.
	Cursor string
}

// Entry is one of Begin, Group, User, Membership, ReportingEdge, OrgMembership,
// Warning and End.
type Entry interface{ entry() }

// Begin is the first entry.
type Begin struct {
	// Datasets are what the reading tells: a dataset that is listed and has no
	// entries is empty, one that is not listed is unknown. The datasets are the
	// capabilities users, groups, memberships, reporting and orgs.
	Datasets []ImporterCapability

	// Incremental says that the entries are only what changed since the request's
	// cursor; absence then means nothing.
	Incremental bool

	// Expected is about how many entries will come, for progress; 0 is unknown.
	Expected int
}

// Membership is all groups of a user.
type Membership struct {
	UserID string
	Groups []string
}

// ReportingEdge is the manager of a user.
type ReportingEdge struct {
	UserID    string `json:"userId"`
	ManagerID string `json:"managerId"`
}

// OrgMembership is all orgs of a user.
type OrgMembership struct {
	UserID string
	Orgs   []string
}

// Warning tells the operator what the importer could not take over as it stands,
// such as a member that does not exist. At most 500 bytes, no secrets.
type Warning struct {
	Message string
}

// End is the last entry: the directory was read to its end.
type End struct {
	Cursor string // where the next incremental reading starts; "" is none
}

func (Begin) entry()         {}
func (Group) entry()         {}
func (User) entry()          {}
func (Membership) entry()    {}
func (ReportingEdge) entry() {}
func (OrgMembership) entry() {}
func (Warning) entry()       {}
func (End) entry()           {}
