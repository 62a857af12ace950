package provider

import (
	"context"

	"github.com/authzhost/authz/sdk/metrics"
)

// Metrics keeps counts of the application's own checks (spec: metrics §6).
// When counting is off, every method refuses with CodeUnsupported.
type Metrics interface {
	// ReportMetrics adds one window to the stored counters. A batch refused with
	// CodeValidation stores nothing. Do not send a batch again when its outcome is
	// unknown.
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
	Since *int64    `json:"since,omitempty"`
	Until *int64    `json:"until,omitempty"`
	IDs   *[]string `json:"ids,omitempty"`
}

// RowUsage is what a grant, revoke or role did in the window that was asked for. The
// totals are the sums of the buckets.
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

type (
	rowUsageOut struct {
		Usage []RowUsage `json:"usage"`
	}
	permissionUsageOut struct {
		Usage []PermissionUsage `json:"usage"`
	}

	reportMetricsIn struct {
		Batch metrics.Batch `json:"batch" read:"required"`
	}
	usageIn struct {
		Query UsageQuery `json:"query" read:"required"`
	}
)

const withoutMetrics = "`unsupported` where metrics are off (`capabilities.metrics`)."

var opReportMetrics = declare(Operation{Op: "reportMetrics", Kind: Write, Method: "ReportMetrics", Requires: FeatureMetrics,
	Tag: "metrics", Summary: "Add a window of what checks used", Notes: "Counters add up, so a batch sent twice counts twice. " + withoutMetrics},
	func(ctx context.Context, to Provider, in *reportMetricsIn) (none, error) {
		return none{}, to.ReportMetrics(ctx, in.Batch)
	})

func (c Calls) ReportMetrics(ctx context.Context, b metrics.Batch) error {
	return tell(ctx, c, opReportMetrics, reportMetricsIn{b})
}

var opGetGrantUsage = declare(Operation{Op: "getGrantUsage", Kind: Read, Method: "GetGrantUsage", Requires: FeatureMetrics,
	Tag: "metrics", Summary: "Tell how often grants decided", Notes: withoutMetrics, Answer: "Ascending by `rowId`; unused rows are absent."},
	func(ctx context.Context, to Provider, in *usageIn) (rowUsageOut, error) {
		found, err := to.GetGrantUsage(ctx, in.Query)
		return rowUsageOut{orNone(found)}, err
	})

func (c Calls) GetGrantUsage(ctx context.Context, q UsageQuery) ([]RowUsage, error) {
	out, err := ask(ctx, c, opGetGrantUsage, usageIn{q})
	return out.Usage, err
}

var opGetRevokeUsage = declare(Operation{Op: "getRevokeUsage", Kind: Read, Method: "GetRevokeUsage", Requires: FeatureMetrics,
	Tag: "metrics", Summary: "Tell how often revokes decided", Notes: withoutMetrics, Answer: "Ascending by `rowId`; unused rows are absent."},
	func(ctx context.Context, to Provider, in *usageIn) (rowUsageOut, error) {
		found, err := to.GetRevokeUsage(ctx, in.Query)
		return rowUsageOut{orNone(found)}, err
	})

func (c Calls) GetRevokeUsage(ctx context.Context, q UsageQuery) ([]RowUsage, error) {
	out, err := ask(ctx, c, opGetRevokeUsage, usageIn{q})
	return out.Usage, err
}

var opGetRoleUsage = declare(Operation{Op: "getRoleUsage", Kind: Read, Method: "GetRoleUsage", Requires: FeatureMetrics,
	Tag: "metrics", Summary: "Tell how often roles decided", Notes: withoutMetrics, Answer: "Ascending by `rowId`; unused rows are absent."},
	func(ctx context.Context, to Provider, in *usageIn) (rowUsageOut, error) {
		found, err := to.GetRoleUsage(ctx, in.Query)
		return rowUsageOut{orNone(found)}, err
	})

func (c Calls) GetRoleUsage(ctx context.Context, q UsageQuery) ([]RowUsage, error) {
	out, err := ask(ctx, c, opGetRoleUsage, usageIn{q})
	return out.Usage, err
}

var opGetPermissionUsage = declare(Operation{Op: "getPermissionUsage", Kind: Read, Method: "GetPermissionUsage", Requires: FeatureMetrics,
	Tag: "metrics", Summary: "Tell how often permissions were asked for", Notes: withoutMetrics, Answer: "Ascending by `permission`; unused ones are absent."},
	func(ctx context.Context, to Provider, in *usageIn) (permissionUsageOut, error) {
		found, err := to.GetPermissionUsage(ctx, in.Query)
		return permissionUsageOut{orNone(found)}, err
	})

func (c Calls) GetPermissionUsage(ctx context.Context, q UsageQuery) ([]PermissionUsage, error) {
	out, err := ask(ctx, c, opGetPermissionUsage, usageIn{q})
	return out.Usage, err
}

var opGetScopeTypeUsage = declare(Operation{Op: "getScopeTypeUsage", Kind: Read, Method: "GetScopeTypeUsage", Requires: FeatureMetrics,
	Tag: "metrics", Summary: "Tell how often each type of scope was asked about", Notes: withoutMetrics, Answer: "Ascending by `permission`; unused ones are absent."},
	func(ctx context.Context, to Provider, in *usageIn) (permissionUsageOut, error) {
		found, err := to.GetScopeTypeUsage(ctx, in.Query)
		return permissionUsageOut{orNone(found)}, err
	})

func (c Calls) GetScopeTypeUsage(ctx context.Context, q UsageQuery) ([]PermissionUsage, error) {
	out, err := ask(ctx, c, opGetScopeTypeUsage, usageIn{q})
	return out.Usage, err
}
