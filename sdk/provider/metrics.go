package provider

import (
	"context"

	"github.com/authzhost/authz/sdk/metrics"
)

// Metrics keeps counts of the application's own checks (contract: metrics §6).
// Where they are off every method is refused with CodeUnsupported.
type Metrics interface {
	// ReportMetrics adds one window to the stored counters. A batch that is
	// refused with CodeValidation stores nothing; one whose outcome is unknown is
	// not to be sent again.
	ReportMetrics(ctx context.Context, b metrics.Batch) error

	// The usage of rows, ordered by row id. Rows without any count are absent.
	GetGrantUsage(ctx context.Context, q UsageQuery) ([]RowUsage, error)
	GetRevokeUsage(ctx context.Context, q UsageQuery) ([]RowUsage, error)
	GetRoleUsage(ctx context.Context, q UsageQuery) ([]RowUsage, error)

	// The usage of permissions and of scope types, ordered by name.
	GetPermissionUsage(ctx context.Context, q UsageQuery) ([]PermissionUsage, error)
	GetScopeTypeUsage(ctx context.Context, q UsageQuery) ([]PermissionUsage, error)
}

// UsageQuery selects usage. Nil IDs ask about all, empty ones about nothing. Until
// (now) is exclusive, Since (Until less the retention) inclusive: a bucket counts
// whole when its start is not before the bucket that holds Since, and before
// Until.
type UsageQuery struct {
	IDs   *[]string `json:"ids,omitempty"`
	Since *int64    `json:"since,omitempty"`
	Until *int64    `json:"until,omitempty"`
}

// RowUsage is what a grant, revoke or role did in a window. The window is as it
// was asked for; the totals are the sums of the buckets.
type RowUsage struct {
	RowID string `json:"rowId"`
	metrics.Usage
	Buckets []RowBucket `json:"buckets"` // oldest first, those with counts
}

// RowBucket is the part of a RowUsage that starts at Bucket.
type RowBucket struct {
	Bucket    int64 `json:"bucket"`
	Matched   int64 `json:"matched"`
	SoleMatch int64 `json:"soleMatch"`
}

// CheckUsage counts checks by class and decision. The classes are never added up.
type CheckUsage struct {
	GateAllow       int64 `json:"gateAllow"`
	GateDeny        int64 `json:"gateDeny"`
	VisibilityAllow int64 `json:"visibilityAllow"`
	VisibilityDeny  int64 `json:"visibilityDeny"`
}

// PermissionUsage is RowUsage for the checks of a permission, or of a scope type.
type PermissionUsage struct {
	Permission string `json:"permission"`
	CheckUsage
	WindowStart int64              `json:"windowStart"`
	WindowEnd   int64              `json:"windowEnd"`
	Buckets     []PermissionBucket `json:"buckets"`
}

// PermissionBucket is the part of a PermissionUsage that starts at Bucket.
type PermissionBucket struct {
	Bucket int64 `json:"bucket"`
	CheckUsage
}
