package api

import (
	"context"

	"github.com/authzhost/authz/sdk/provider"
)

// none is the input of operations without parameters.
type none struct{}

func ping(ctx context.Context, c *call, _ *none) (provider.Ping, error) {
	orgRoot, err := c.app.StoredOrgRoot(ctx)
	return provider.Ping{API: provider.APIVersion, Application: c.applicationID,
		OrgRoot: orgRoot, HasEventLog: c.app.HasEventLog(), AuditOptIn: c.auditOptIn}, err
}
