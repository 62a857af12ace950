package storage

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
)

// Store is one partition of a database (spec: storage §1, storage §4). It is the union of
// the interfaces below, one for each entity. Methods may be called concurrently. Every method honours its
// context and returns only *Error.
//
// Lists are sequences of rows in the documented order. A store fetches them in
// chunks of at most 1,000 rows and 1 MiB; the row that reaches 1 MiB may still
// belong to its chunk. Each chunk is a query of its own. No transaction stays open
// while the consumer is slow, and a list promises no common instant across chunks.
// A list returns rows that are present throughout exactly once, and no row twice. A
// sequence ends after the first pair whose error is not nil.
type Store interface {
	Required
	Optional
}

// Required are the operations that every store has.
type Required interface {
	Info() StoreInfo

	Grants
	Revokes
	Roles
	Groups
	Users
	Requests
	Catalogs
	Audit

	// ReadAccess supplies the rows that decide for one principal, all read at the
	// same instant (spec: storage §4.1).
	ReadAccess(ctx context.Context, q AccessQuery) (Access, error)

	Writer
	Locker

	// Close ends the handle and releases its sections.
	Close() error
}

// Page resumes and bounds a list. After is the key of the last row received, ""
// starts at the beginning. Limit 0 means no limit.
type Page struct {
	After string
	Limit int
}

// Grants reads grants. Order: id.
type Grants interface {
	GetGrant(ctx context.Context, id string) (row authz.Grant, found bool, err error)
	ListGrants(ctx context.Context, f GrantFilter, p Page) iter.Seq2[authz.Grant, error]

	// CountGrants counts in the database. The result equals the list's length.
	CountGrants(ctx context.Context, f GrantFilter) (int64, error)
}

// GrantFilter selects grants. Members that are present combine with AND. A nil
// member is absent; an empty but non-nil Subjects selects nothing; a present
// RoleID "" selects nothing, never "grants without a role".
type GrantFilter struct {
	Subject  *string
	Subjects []string
	Scope    *string
	RoleID   *string
}

// Revokes reads revokes. Order: id.
type Revokes interface {
	GetRevoke(ctx context.Context, id string) (row authz.Revoke, found bool, err error)
	ListRevokes(ctx context.Context, f RevokeFilter, p Page) iter.Seq2[authz.Revoke, error]
}

// RevokeFilter selects revokes; nil members are absent.
type RevokeFilter struct {
	UserID *string
	Scope  *string
}

// Roles reads roles. Order of the list: id.
type Roles interface {
	GetRole(ctx context.Context, id string) (row authz.Role, found bool, err error)
	ListRoles(ctx context.Context, p Page) iter.Seq2[authz.Role, error]
}

// Groups reads groups. Order of the list: id.
type Groups interface {
	GetGroup(ctx context.Context, id string) (row authz.Group, found bool, err error)
	ListGroups(ctx context.Context, p Page) iter.Seq2[authz.Group, error]
}

// Users reads user records. Order of the lists: user id.
type Users interface {
	GetUser(ctx context.Context, userID string) (row authz.User, found bool, err error)
	ListUsers(ctx context.Context, f UserFilter, p Page) iter.Seq2[authz.User, error]

	// ListUsersInGroup yields the ids of direct members.
	ListUsersInGroup(ctx context.Context, groupID string, p Page) iter.Seq2[string, error]
}

// UserFilter selects user records; nil members are absent.
type UserFilter struct {
	Active     *bool
	HasManager *bool
}

// Requests reads access requests. Order of the list: (createdAt, id).
type Requests interface {
	GetRequest(ctx context.Context, id string) (row authz.Request, found bool, err error)
	ListRequests(ctx context.Context, f RequestFilter, p RequestPage) iter.Seq2[authz.Request, error]
}

// RequestFilter selects requests; nil members are absent.
type RequestFilter struct {
	State           *authz.RequestState
	RequesterUserID *string
	RoleID          *string
	Scope           *string
}

// RequestPage resumes and bounds a list of requests. AfterID "" starts at the
// beginning.
type RequestPage struct {
	AfterCreatedAt int64
	AfterID        string
	Limit          int
}

// Catalogs reads the published catalog.
type Catalogs interface {
	GetCatalog(ctx context.Context) (row CatalogHead, found bool, err error)
}

// CatalogHead is the published catalog.
type CatalogHead struct {
	Version  int64
	Document json.RawMessage
}

// Audit reads the audit log, always ascending by (at, id).
type Audit interface {
	ListAudit(ctx context.Context, f AuditFilter) iter.Seq2[authz.AuditEntry, error]
}

// AuditFilter selects audit entries; nil members are absent. From is inclusive,
// To exclusive. Without Cursor it selects the last Limit matches, with Cursor the
// first Limit matches strictly after it. A nil Limit means all, zero or less none.
type AuditFilter struct {
	Target *string
	Actor  *string
	Action *string
	From   *int64
	To     *int64
	Limit  *int64
	Cursor *authz.AuditCursor

	// DetailLimit lets a driver leave out a longer detail, in bytes, and tell its length in
	// AuditEntry.DetailBytes. Entries and their order are the same without.
	DetailLimit *int64

	// Subject (CapAuditSubjects) selects the entries that are about it (AuditEntry.IsAbout).
	Subject *string
}

// AccessQuery asks for one principal's rows. UserID "" asks for no user record
// and no revokes. With Expand (CapExpand) the driver follows memberships, group
// parents and the manager chain itself and ignores Subjects.
//
// With Scope (CapAncestors) it also asks for the recorded parents of that scope, of
// those parents and so on, as GetScopeParents answers them. A query that sets only
// Scope asks for nothing else.
type AccessQuery struct {
	UserID   string
	Subjects []string
	Expand   bool
	Scope    string
}

// Access is the answer to an AccessQuery: grants by id, the roles those grants
// name in any order, and with CapEvents the log head. Closure and ManagerChain are
// set with Expand only.
type Access struct {
	User         *authz.User
	Grants       []authz.Grant
	Revokes      []authz.Revoke
	Roles        []authz.Role
	Head         authz.Position
	Closure      []string
	ManagerChain []string

	// Parents are the recorded parents of Scope and of every scope reached from it. A
	// scope never recorded is missing. nil means that nobody asked, or that the driver
	// reached more than MaxScopes scopes: ask for their parents level by level.
	Parents map[string][]string
}
