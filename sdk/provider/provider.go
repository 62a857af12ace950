package provider

import (
	"context"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
)

// APIVersion is the version in the path prefix /v1 and in the answer of ping.
const APIVersion = 1

// Provider is one application.
//
// A refused write changes nothing and returns *authz.WriteRejectedError. An outage is
// an *authz.UnavailableError. When a write returns nil, it is durable, and every
// listener of this process has had its events. Reads are never gated.
type Provider interface {
	Capabilities(ctx context.Context) (Capabilities, error)

	Supply
	Lookups
	Planner
	Reviews
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
	Neighbourhood

	// ListAuditEvents lists ascending by (at, id); see AuditQuery.
	ListAuditEvents(ctx context.Context, q AuditQuery) iter.Seq2[authz.AuditEntry, error]
}

// Paging bounds a list: After is the key of the last row received, Limit 0
// means all.
type Paging struct {
	After string `json:"after,omitempty"`
	Limit int    `json:"limit,omitempty"`
}

func (p Paging) paged() Paged { return Paged{Limit: p.Limit, After: p.After} }
