package relay

import (
	"context"

	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/provider"
)

// Counts of checks, which stay with the application that made them.

func (a *application) ReportMetrics(ctx context.Context, b metrics.Batch) error {
	return void(ctx, a, "reportMetrics", func(ctx context.Context, to Application) error { return to.ReportMetrics(ctx, b) })
}

func (a *application) GetGrantUsage(ctx context.Context, q provider.UsageQuery) ([]provider.RowUsage, error) {
	return one(ctx, a, "getGrantUsage", func(ctx context.Context, to Application) ([]provider.RowUsage, error) {
		return to.GetGrantUsage(ctx, q)
	})
}

func (a *application) GetRevokeUsage(ctx context.Context, q provider.UsageQuery) ([]provider.RowUsage, error) {
	return one(ctx, a, "getRevokeUsage", func(ctx context.Context, to Application) ([]provider.RowUsage, error) {
		return to.GetRevokeUsage(ctx, q)
	})
}

func (a *application) GetRoleUsage(ctx context.Context, q provider.UsageQuery) ([]provider.RowUsage, error) {
	return one(ctx, a, "getRoleUsage", func(ctx context.Context, to Application) ([]provider.RowUsage, error) { return to.GetRoleUsage(ctx, q) })
}

func (a *application) GetPermissionUsage(ctx context.Context, q provider.UsageQuery) ([]provider.PermissionUsage, error) {
	return one(ctx, a, "getPermissionUsage", func(ctx context.Context, to Application) ([]provider.PermissionUsage, error) {
		return to.GetPermissionUsage(ctx, q)
	})
}

func (a *application) GetScopeTypeUsage(ctx context.Context, q provider.UsageQuery) ([]provider.PermissionUsage, error) {
	return one(ctx, a, "getScopeTypeUsage", func(ctx context.Context, to Application) ([]provider.PermissionUsage, error) {
		return to.GetScopeTypeUsage(ctx, q)
	})
}
