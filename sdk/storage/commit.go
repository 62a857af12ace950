package storage

import (
	"context"
	"encoding/json"

	"github.com/authzhost/authz/sdk/authz"
)

// Limits of a commit; a larger one is CodeTooLarge and writes nothing.
const (
	MaxCommitChanges = 50_000
	MaxCommitBytes   = 64 << 20
)

// Writer changes rows.
type Writer interface {
	// Commit applies c whole and durably, or not at all, even when host, plugin or
	// database dies in the middle (spec: storage §5). A driver judges in this order:
	// recognition of the id, Incarnation, Fences, Requires, the preconditions in the
	// order of the changes, RequireHead last. A refused commit leaves nothing, not
	// even its id.
	//
	// Commit does not apply an id that it has seen before. It returns the first result
	// with Replayed, even when a fence has moved on since. The same id with other
	// content is CodeConflict. A driver keeps ids for at least 24 h.
	Commit(ctx context.Context, c Commit) (CommitResult, error)

	// GetCommit returns the recorded result of an applied commit.
	GetCommit(ctx context.Context, id string) (result CommitResult, found bool, err error)
}

// Commit is one atomic write.
type Commit struct {
	ID string
	At int64 // the application's instant, kept with events and the id

	// Incarnation is the life of the content that the commit was judged against; ""
	// is any. In another life the commit is refused, not applied, with Lost. It is no
	// part of what a repetition is recognised by.
	Incarnation string

	Fences   []Fence
	Requires []Requirement
	Changes  []Change
	Audit    []authz.AuditEntry
	Events   []authz.Event // without CapEvents: CodeUnsupported when not empty
}

// Fence names an exclusive section that the commit runs under.
type Fence struct {
	Key   string
	Fence int64
}

// CommitResult answers a commit. Results has one element for each change. UpTo
// is this commit's last event, the zero authz.Position without events.
type CommitResult struct {
	Replayed bool
	Results  []ChangeResult
	UpTo     authz.Position
}

// ChangeResult holds what one change returned: the row that a delete removed,
// or the new version of a record.
type ChangeResult struct {
	Grant   *authz.Grant
	Revoke  *authz.Revoke
	Request *authz.Request
	Version int64
}

// Requirement is a condition on rows that the commit does not write, held true
// until it ends. It is one of RequireRole, RequireRecord, RequireHead.
type Requirement interface{ requirement() }

type (
	// RequireRole: the role exists, else CodeNotFound.
	RequireRole struct{ ID string }

	// RequireRecord: the record exists at that version, else CodeConflict.
	RequireRecord struct {
		Collection, ID string
		Version        int64
	}

	// RequireHead: the log head is this position when this commit takes its numbers,
	// else CodeConflict.
	RequireHead authz.Position
)

func (RequireRole) requirement()   {}
func (RequireRecord) requirement() {}
func (RequireHead) requirement()   {}

// Change is one row change: one of the types below.
type Change interface{ change() }

type (
	// InsertGrant needs a free id, else CodeConflict.
	InsertGrant struct{ Grant authz.Grant }
	// InsertRevoke needs a free id, else CodeConflict.
	InsertRevoke struct{ Revoke authz.Revoke }
	// InsertRequest needs a free id, else CodeConflict.
	InsertRequest struct{ Request authz.Request }

	// DeleteGrant returns the row. MustExist: else CodeNotFound.
	DeleteGrant struct {
		ID        string
		MustExist bool
	}
	// DeleteRevoke returns the row. MustExist: else CodeNotFound.
	DeleteRevoke struct {
		ID        string
		MustExist bool
	}
	// DeleteRequest returns the row. A present row that is not as Expect says is
	// CodeConflict.
	DeleteRequest struct {
		ID        string
		MustExist bool
		Expect    *RequestExpect
	}

	// UpsertRole replaces the whole row: absent members are cleared.
	UpsertRole struct{ Role authz.Role }
	// UpsertGroup replaces the whole row and its own parent edges.
	UpsertGroup struct{ Group authz.Group }
	// UpsertUser replaces the whole row and its memberships.
	UpsertUser struct{ User authz.User }

	// PatchUser creates the record when absent (active, empty lists, no
	// manager), then changes the members that are not nil and no other.
	PatchUser struct {
		UserID        string
		Active        *bool
		GroupIDs      *[]string
		OrgIDs        *[]string
		ManagerUserID *string // "" clears the edge
	}

	// DeleteRole is no error when the row is absent. With Unnamed a grant that
	// names it, expired ones counted, is CodeConflict with Error.Grants.
	DeleteRole struct {
		ID      string
		Unnamed bool
	}
	// DeleteGroup removes the group and its own parent edges; edges of others
	// that name it stay.
	DeleteGroup struct{ ID string }
	// DeleteUser removes the record and its memberships.
	DeleteUser struct{ UserID string }

	// UpdateRequest replaces a present row, else CodeNotFound; one that is not
	// as Expect says is CodeConflict.
	UpdateRequest struct {
		Request authz.Request
		Expect  *RequestExpect
	}

	// PutCatalog replaces the head, and with CapHistory keeps the version. A
	// head version other than Expect (0 = none) is CodeConflict.
	PutCatalog struct {
		Version     int64
		Document    json.RawMessage
		PublishedAt int64
		Expect      *int64
	}
	// PutImports is PutCatalog for the import manifest, without history.
	PutImports struct {
		Version  int64
		Manifest json.RawMessage
		Expect   *int64
	}

	// PutScopeParents replaces the recorded parents; empty records a root.
	PutScopeParents struct {
		Scope   string
		Parents []string
	}
	// DeleteScopeParents forgets the scope.
	DeleteScopeParents struct{ Scope string }

	// PutRecord writes version Expect+1 over version Expect (0 = absent), else
	// CodeConflict with Error.Version, the current one.
	PutRecord struct {
		Record Record // Version is ignored
		Expect int64
	}
	// DeleteRecord removes version Expect, else CodeConflict.
	DeleteRecord struct {
		Collection, ID string
		Expect         int64
	}
)

// RequestExpect is the state that an updated or deleted request must be in.
type RequestExpect struct {
	State      authz.RequestState
	StageIndex int64
}

func (InsertGrant) change()        {}
func (InsertRevoke) change()       {}
func (InsertRequest) change()      {}
func (DeleteGrant) change()        {}
func (DeleteRevoke) change()       {}
func (DeleteRequest) change()      {}
func (UpsertRole) change()         {}
func (UpsertGroup) change()        {}
func (UpsertUser) change()         {}
func (PatchUser) change()          {}
func (DeleteRole) change()         {}
func (DeleteGroup) change()        {}
func (DeleteUser) change()         {}
func (UpdateRequest) change()      {}
func (PutCatalog) change()         {}
func (PutImports) change()         {}
func (PutScopeParents) change()    {}
func (DeleteScopeParents) change() {}
func (PutRecord) change()          {}
func (DeleteRecord) change()       {}
