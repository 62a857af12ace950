package storage

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
)

// Store is one partition of a database: the union of the interfaces below, one
// for each entity. Methods may be called concurrently. Every method honours its
// context and returns only *Error.
//
// Lists are sequences of rows in the documented order, fetched in chunks of at
// most 1,000 rows and 1 MiB, each a query of its own: no transaction stays open
// while the consumer is slow, and a list promises no common instant across chunks.
// The row that reaches the bytes may be a chunk's last. Rows present throughout
// are returned exactly once, none twice. A sequence ends after the first pair
// whose error is not nil.
type Store interface {
	Info() StoreInfo

	Grants
	Revokes
	Roles
	Groups
	Users
	Requests
	Catalogs
	Audit
	EventLog
	Metrics
	Ancestry
	Records

	// ReadAccess supplies what evaluating one principal needs, all of one and
	// the same instant.
	ReadAccess(ctx context.Context, q AccessQuery) (Access, error)

	Writer
	Locker

	// Close ends the handle; its sections are released.
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

	// CountGrants is counted in the database and equals the list's length.
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

	// GetRoles (CapBatchRoles) returns the rows found, each once, in any order.
	GetRoles(ctx context.Context, ids []string) ([]authz.Role, error)
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

// Catalogs reads the published catalog and import manifest.
type Catalogs interface {
	GetCatalog(ctx context.Context) (row CatalogHead, found bool, err error)

	// GetCatalogVersion (CapHistory) returns a retained version.
	GetCatalogVersion(ctx context.Context, version int64) (row CatalogVersion, found bool, err error)

	// ListCatalogVersions (CapHistory) lists retained versions ascending,
	// without their documents.
	ListCatalogVersions(ctx context.Context) iter.Seq2[CatalogVersion, error]

	// GetImports (CapImports) returns the published import manifest.
	GetImports(ctx context.Context) (row ImportsHead, found bool, err error)
}

// CatalogHead is the published catalog.
type CatalogHead struct {
	Version  int64
	Document json.RawMessage
}

// CatalogVersion is one retained publication. Lists leave Document out.
type CatalogVersion struct {
	Version     int64
	Document    json.RawMessage
	PublishedAt int64
}

// ImportsHead is the published import manifest.
type ImportsHead struct {
	Version  int64
	Manifest json.RawMessage
}

// Audit reads the audit log, always ascending by (at, id).
type Audit interface {
	ListAudit(ctx context.Context, f AuditFilter) iter.Seq2[authz.AuditEntry, error]
}

// AuditFilter selects audit entries; nil members are absent. From is inclusive,
// To exclusive. Without Cursor the last Limit matches are listed, with it the
// first Limit strictly after it. A nil Limit means all, zero or less none.
type AuditFilter struct {
	Target *string
	Actor  *string
	Action *string
	From   *int64
	To     *int64
	Limit  *int64
	Cursor *authz.AuditCursor
}

// EventLog (CapEvents) reads the numbered log of invalidation events. Numbers are
// contiguous from 1 in each partition, and each event has an identity beside its
// number.
type EventLog interface {
	// Head is the newest event, the zero authz.Position when none was ever written. Its
	// number never falls while the content is the same.
	Head(ctx context.Context) (authz.Position, error)

	// EventsSince returns at most limit events after a position, oldest first, and
	// stops before the first missing number. limit <= 0 gives an empty page.
	EventsSince(ctx context.Context, after authz.Position, limit int) (EventPage, error)

	// PruneEvents raises the pruned-through mark, which keeps the identity of the
	// event that it stands on, then deletes up to it, and returns how many events
	// it deleted.
	PruneEvents(ctx context.Context, p PruneEvents) (int64, error)

	// Watch (CapWatch) yields the number of the current head at once and of a head
	// at least as new after every movement, coalesced. It is a hint. The sequence
	// ends with the context.
	Watch(ctx context.Context) iter.Seq2[int64, error]
}

// EventPage is a page of the event log. UpTo is the last event returned, or the
// position asked for. Gap reports that events after the position have been pruned.
// Reset reports that the position is not of this log: it has an identity, and
// that number is another event's or lies above the head. With either the other
// members are zero.
type EventPage struct {
	UpTo   authz.Position
	Events []authz.Event
	Gap    bool
	Reset  bool
}

// PruneEvents says what may go: events before Before (strictly), and all but
// the newest KeepRows. Nil members are absent.
type PruneEvents struct {
	Before   *int64
	KeepRows *int64
}

// Metrics (CapMetrics) keeps counters that accumulate over reports and hosts.
type Metrics interface {
	// RecordMetrics adds to the counters; a negative delta refuses the batch.
	RecordMetrics(ctx context.Context, deltas []MetricBucket) error
	ReadMetrics(ctx context.Context, f MetricFilter) iter.Seq2[MetricBucket, error]

	// PruneMetrics deletes buckets that start before the instant.
	PruneMetrics(ctx context.Context, before int64) (int64, error)
}

// MetricBucket is one counter: all members but Count are its key.
type MetricBucket struct {
	Bucket    int64
	Dimension string
	Subject   string
	Metric    string
	Count     int64
}

// MetricFilter selects counters. Dimension is required; a nil Subjects is
// absent, an empty one selects nothing; Since is inclusive, Until exclusive.
type MetricFilter struct {
	Dimension string
	Subjects  []string
	Since     *int64
	Until     *int64
}

// MaxScopes bounds one question for scope parents; more is CodeTooLarge.
const MaxScopes = 1000

// Ancestry (CapAncestry) keeps recorded parent edges of scopes.
type Ancestry interface {
	// GetScopeParents answers for at most MaxScopes scopes. A scope never recorded
	// is missing from the result; a recorded root maps to an empty list.
	GetScopeParents(ctx context.Context, scopes []string) (map[string][]string, error)
}

// Records (CapRecords) is a small area of versioned documents.
type Records interface {
	GetRecord(ctx context.Context, collection, id string) (row Record, found bool, err error)

	// ListRecords lists a collection by id.
	ListRecords(ctx context.Context, collection string, f RecordFilter, p Page) iter.Seq2[Record, error]
}

// Record is a versioned document, at most 1 MiB, with up to four index strings.
// Versions count from 1.
type Record struct {
	Collection string
	ID         string
	Version    int64
	Data       json.RawMessage
	Keys       [4]string // "" is no index string
	UpdatedAt  int64
}

// RecordFilter selects records by one index string. Index counts from 1; 0
// means no filter.
type RecordFilter struct {
	Index int
	Value string
}

// AccessQuery asks for one principal's rows. UserID "" asks for no user record
// and no revokes. With Expand (CapExpand) the driver follows memberships, group
// parents and the manager chain itself and ignores Subjects.
//
// With Scope (CapAncestors) it asks for the recorded parents of that scope, of its
// parents and so on, too, as GetScopeParents answers them. A query with nothing but
// Scope asks for them alone.
type AccessQuery struct {
	UserID   string
	Subjects []string
	Expand   bool
	Scope    string
}

// Access is the answer to an AccessQuery: grants by id, the roles those grants
// name, and with CapEvents the log head. Closure and ManagerChain are set with
// Expand only.
type Access struct {
	User         *authz.User
	Grants       []authz.Grant
	Revokes      []authz.Revoke
	Roles        []authz.Role
	Head         authz.Position
	Closure      []string
	ManagerChain []string

	// Parents are the recorded parents of Scope and of whatever is reached from it:
	// a scope never recorded is missing. nil is unasked, or that more than MaxScopes
	// scopes were reached, whose parents have to be asked for level by level.
	Parents map[string][]string
}
