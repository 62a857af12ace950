package provider

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
)

// APIVersion is carried in the path prefix /v1 and in ping.
const APIVersion = 1

// Provider is one application. Writes return *authz.WriteRejectedError when they
// are refused, having changed nothing, and *authz.UnavailableError on an outage;
// when a write returns nil it is durable, and its events have been delivered to
// every listener of this process. Reads are never gated.
type Provider interface {
	Capabilities(ctx context.Context) (Capabilities, error)

	Supply
	Invalidation

	Grants
	Revokes
	Cleanup
	Requests
	Roles
	Groups
	Users
	Catalogs
	Imports
	Ancestry
	Metrics

	// ListAuditEvents lists ascending by (at, id); see AuditQuery.
	ListAuditEvents(ctx context.Context, q AuditQuery) iter.Seq2[authz.AuditEntry, error]
}

// Capabilities says what an application can do.
type Capabilities struct {
	OrgRoot     bool `json:"orgRoot"`
	Requests    bool `json:"requests"`
	Reporting   bool `json:"reporting"`
	Audit       bool `json:"audit"`
	MultiParent bool `json:"multiParent"`
	Metrics     bool `json:"metrics"`
	Imports     bool `json:"imports"`
}

// Supply is what evaluation needs of a provider.
type Supply interface {
	// GetSubjectAccess supplies the closure of a principal and its rows, all of
	// one instant. Rows that have expired on the supplier's clock are left out.
	GetSubjectAccess(ctx context.Context, p authz.Principal) (authz.SubjectAccess, error)

	// ResolveAncestors answers the ancestors of a scope, nearest first, without
	// the scope itself, ending at "*". A failure is an error, never a partial
	// chain.
	ResolveAncestors(ctx context.Context, scope string) ([]string, error)
}

// Invalidation is how caches learn of writes.
type Invalidation interface {
	// OnInvalidate calls listener for every event of this process, in order,
	// before the write that caused it returns. The result unsubscribes and may
	// be called twice.
	OnInvalidate(listener func(authz.Event)) (unsubscribe func())

	// Epoch is the persisted event log, nil when events are not persisted.
	Epoch() Epoch
}

// Epoch reads the persisted event log.
type Epoch interface {
	Head(ctx context.Context) (EpochHead, error)

	// Since returns events after a position. A limit that is not positive means
	// DefaultEventLimit; more than MaxEventLimit means MaxEventLimit.
	Since(ctx context.Context, after authz.Position, limit int) (EpochPage, error)
}

// Losing is a provider that is told of a position which its own log no longer has:
// events that were there are gone, or their numbers were given again. It makes
// sure of that, and then treats its store as lost.
type Losing interface {
	LostPosition(ctx context.Context, log string, at authz.Position)
}

// Bounds of a page of events.
const (
	DefaultEventLimit = 500
	MaxEventLimit     = 5000
)

// EpochHead is the newest event and the log it belongs to. Another Log than before
// means: drop everything held.
type EpochHead struct {
	authz.Position
	Log string `json:"log,omitempty"`
}

// EpochPage is a page of the log, a gap: events after the cursor are gone, or a
// reset: the cursor is no position of this log. After both a reader drops everything
// it holds.
type EpochPage struct {
	UpTo   authz.Position
	Events []authz.Event
	Gap    bool
	Reset  bool
}

func (p EpochPage) MarshalJSON() ([]byte, error) {
	switch {
	case p.Gap:
		return []byte(`{"gap":true}`), nil
	case p.Reset:
		return []byte(`{"reset":true}`), nil
	}
	if p.Events == nil {
		p.Events = []authz.Event{}
	}
	return authz.Marshal(struct {
		UpTo     int64         `json:"upTo"`
		Identity string        `json:"identity,omitempty"`
		Events   []authz.Event `json:"events"`
	}{p.UpTo.Seq, p.UpTo.Identity, p.Events})
}

// Paging bounds a list: After is the key of the last row received, Limit 0
// means all.
type Paging struct {
	After string `json:"after,omitempty"`
	Limit int    `json:"limit,omitempty"`
}

// Grants administers grants.
type Grants interface {
	CreateGrant(ctx context.Context, in GrantInput, prov authz.Provenance) (authz.Grant, error)

	// CreateGrants writes all rows in one commit, or none.
	CreateGrants(ctx context.Context, in []GrantInput, prov authz.Provenance) ([]authz.Grant, error)
	DeleteGrant(ctx context.Context, id string, prov authz.Provenance) error
	ListGrants(ctx context.Context, q GrantQuery) iter.Seq2[authz.Grant, error]
	CountGrants(ctx context.Context, q GrantQuery) (int64, error)
}

// GrantInput proposes a grant: exactly one of RoleID and Pattern; Scope ""
// means "*".
type GrantInput struct {
	Subject   string       `json:"subject"`
	RoleID    string       `json:"roleId,omitempty"`
	Pattern   string       `json:"pattern,omitempty"`
	Scope     string       `json:"scope,omitempty"`
	ExpiresAt authz.Expiry `json:"expiresAt,omitzero"`
}

// GrantQuery selects grants; nil members are absent.
type GrantQuery struct {
	Subject *string
	Scope   *string
	RoleID  *string
	Paging
}

// Revokes administers personal revokes.
type Revokes interface {
	CreateRevoke(ctx context.Context, in RevokeInput, prov authz.Provenance) (authz.Revoke, error)
	DeleteRevoke(ctx context.Context, id string, prov authz.Provenance) error
	ListRevokes(ctx context.Context, q RevokeQuery) iter.Seq2[authz.Revoke, error]
}

// RevokeInput proposes a revoke; Scope "" means "*".
type RevokeInput struct {
	UserID  string `json:"userId"`
	Pattern string `json:"pattern"`
	Scope   string `json:"scope,omitempty"`
}

// RevokeQuery selects revokes; nil members are absent.
type RevokeQuery struct {
	UserID *string
	Scope  *string
	Paging
}

// Roles administers roles.
type Roles interface {
	CreateRole(ctx context.Context, in RoleInput, prov authz.Provenance) (authz.Role, error)
	UpdateRole(ctx context.Context, id string, in RoleUpdate, prov authz.Provenance) (authz.Role, error)
	DeleteRole(ctx context.Context, id string, prov authz.Provenance) error
	ListRoles(ctx context.Context, p Paging) iter.Seq2[authz.Role, error]
}

// RoleInput proposes a role. A nil ID lets the application choose one.
type RoleInput struct {
	ID          *string            `json:"id,omitempty"`
	Name        string             `json:"name"`
	Description string             `json:"description,omitempty"`
	Patterns    []string           `json:"patterns"`
	Requestable *authz.Requestable `json:"requestable,omitempty"`
}

// RoleUpdate changes the members that are not nil. A Description of "" clears
// it, ClearRequestable clears Requestable.
type RoleUpdate struct {
	Name             *string
	Description      *string
	Patterns         *[]string
	Requestable      *authz.Requestable
	ClearRequestable bool
}

// Groups administers groups, their parents and their members.
type Groups interface {
	CreateGroup(ctx context.Context, in GroupInput, prov authz.Provenance) (authz.Group, error)
	UpdateGroup(ctx context.Context, id string, in GroupUpdate, prov authz.Provenance) (authz.Group, error)
	SetGroupParents(ctx context.Context, id string, parents []string, prov authz.Provenance) (authz.Group, error)
	DeleteGroup(ctx context.Context, id string, prov authz.Provenance) error
	ListGroups(ctx context.Context, p Paging) iter.Seq2[authz.Group, error]

	// SetGroupMembership replaces the user's list of groups.
	SetGroupMembership(ctx context.Context, userID string, groupIDs []string, prov authz.Provenance) error

	// GetGroupMembers lists the ids of direct members.
	GetGroupMembers(ctx context.Context, groupID string) ([]string, error)

	// DissolveVirtualParent gives a group's grants and parents to its children
	// and removes it.
	DissolveVirtualParent(ctx context.Context, groupID string, prov authz.Provenance) error
}

// GroupInput proposes a group. A nil ID lets the application choose one.
type GroupInput struct {
	ID          *string  `json:"id,omitempty"`
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Parents     []string `json:"parents,omitempty"`
}

// GroupUpdate changes the members that are not nil.
type GroupUpdate struct {
	Name        *string
	Description *string
}

// Users administers user records and the reporting tree.
type Users interface {
	SetUserActive(ctx context.Context, userID string, active bool, prov authz.Provenance) error

	// SetReportingEdge sets the user's manager; "" clears the edge.
	SetReportingEdge(ctx context.Context, userID, managerUserID string, prov authz.Provenance) error

	// GetReportingEdges maps user ids to manager ids.
	GetReportingEdges(ctx context.Context) (map[string]string, error)
}

// Catalogs publishes the catalog document of the application.
type Catalogs interface {
	PublishCatalog(ctx context.Context, document json.RawMessage, prov authz.Provenance) (version int64, err error)

	// GetPublishedCatalog returns nil when nothing was published.
	GetPublishedCatalog(ctx context.Context) (*PublishedCatalog, error)
}

// PublishedCatalog is the stored head.
type PublishedCatalog struct {
	Version  int64           `json:"version"`
	Document json.RawMessage `json:"document"`
}

// Ancestry records parent edges of scopes, where the application keeps them.
type Ancestry interface {
	// SetScopeParents returns how many entries changed something.
	SetScopeParents(ctx context.Context, entries []ScopeParents, prov authz.Provenance) (changed int, err error)
}

// ScopeParents records the parents of one scope: empty is a root, nil forgets
// the scope.
type ScopeParents struct {
	Scope   string    `json:"scope"`
	Parents *[]string `json:"parents"`
}

// AuditQuery selects audit entries; nil members are absent. From is inclusive,
// To exclusive. Without Cursor the last Limit matches, with it the first Limit
// strictly after it; a Limit of zero or less selects nothing.
type AuditQuery struct {
	Target *string
	Actor  *string
	Action *string
	From   *int64
	To     *int64
	Cursor *authz.AuditCursor
	Limit  *int64
}
