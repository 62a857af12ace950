package host

import (
	"context"

	"github.com/authzhost/authz/host/explain"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

func (a *Application) checks(c *client.Client) explain.Checks {
	return explain.Checks{Application: a.Application, Client: c}
}

// Why serves the parameter reason of the operation check: in a word, why the check was
// answered as it was.
func (a *Application) Why(ctx context.Context, p authz.Principal, keys []string, scope string, allowed bool) (provider.Reason, error) {
	return a.checks(a.client).Why(ctx, p, keys, scope, allowed)
}

// Explain serves the operation explain.
func (a *Application) Explain(ctx context.Context, q *provider.Explain) (access.Explained, error) {
	return a.checks(a.client).Explain(ctx, q)
}
