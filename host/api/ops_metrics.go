package api

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/provider"
)

// Stored metrics.

type usageResult[Usage any] struct {
	Usage []Usage `json:"usage"`
}

// reportMetrics lets the batch read itself: what it must hold is told where it is
// written.
func reportMetrics(c *call) action {
	var batch metrics.Batch
	raw := c.value("batch")
	if _, ok := c.objectOf(raw); !ok {
		c.refuse("batch", "an object")
		return nil
	}
	if err := json.Unmarshal(raw, &batch); err != nil {
		var refused *authz.WriteRejectedError
		if !errors.As(err, &refused) {
			refused = authz.Validation("batch is malformed")
		}
		c.problem.refuse(refused)
	}
	return func(ctx context.Context) (any, error) { return void{}, c.app.ReportMetrics(ctx, batch) }
}

func getGrantUsage(c *call) action  { return usage(c, c.app.GetGrantUsage) }
func getRevokeUsage(c *call) action { return usage(c, c.app.GetRevokeUsage) }
func getRoleUsage(c *call) action   { return usage(c, c.app.GetRoleUsage) }

func getPermissionUsage(c *call) action { return usage(c, c.app.GetPermissionUsage) }
func getScopeTypeUsage(c *call) action  { return usage(c, c.app.GetScopeTypeUsage) }

func usage[Usage any](c *call, get func(context.Context, provider.UsageQuery) ([]Usage, error)) action {
	o := c.nested("query")
	q := provider.UsageQuery{Since: o.optionalInteger("since"), Until: o.optionalInteger("until")}
	if o.has("ids") {
		ids := o.texts("ids")
		q.IDs = &ids
	}
	return func(ctx context.Context) (any, error) {
		found, err := get(ctx, q)
		return usageResult[Usage]{orEmpty(found)}, err
	}
}
