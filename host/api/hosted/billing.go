package hosted

import (
	"context"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/billing"
	"github.com/authzhost/authz/host/service/cloud"
)

type setCap struct {
	inOrg
	Dimension string          `path:"dimension"`
	Cap       Nullable[int64] `json:"cap" min:"0"`
}

func (in setCap) Check() error { return required("cap", in.Cap.Set) }

func billingRows(t *table) {
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/billing/usage", Summary: "Every meter of the org", Gate: service.Cloud(cloud.BillingRead)},
		func(ctx context.Context, c *Call, in inOrg) (billing.Usage, error) {
			return c.api.o.Services.Meters.Usage(ctx, in.Org)
		})
	add(t, endpoint{Method: "PUT", Path: "/orgs/{org}/billing/caps/{dimension}", Summary: "Set a cap, or with null take it away", Gate: service.Cloud(cloud.ManageCaps),
		Own: []string{"dimension_not_found"}, Audit: []string{"A: billing.set_cap"}},
		func(ctx context.Context, c *Call, in setCap) (billing.Dimension, error) {
			return c.api.o.Services.Meters.SetCap(ctx, c.Caller.Actor(), in.Org, in.Dimension, in.Cap.Value)
		})
}
