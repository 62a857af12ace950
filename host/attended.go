package host

import (
	"context"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

// attended is an application as people ask it, over the administration socket: whatever is
// configured for programs, a mistyped scope is told and not answered.
type attended struct{ *Application }

// Check serves the operation check.
func (a attended) Check(ctx context.Context, p authz.Principal, keys []string, scope string, fresh bool) (bool, error) {
	return a.ask(ctx, a.byPeople, p, keys, scope, fresh)
}

// Explain serves the operation explain.
func (a attended) Explain(ctx context.Context, p authz.Principal, key, scope string) (access.Explanation, error) {
	return a.explained(ctx, a.byPeople, p, key, scope)
}

// explained is an explanation of which a denial also names the rows that have expired,
// which no supply holds.
func (a *Application) explained(ctx context.Context, c *client.Client, p authz.Principal, key, scope string) (access.Explanation, error) {
	e, err := c.Explain(ctx, p, key, scope)
	if err != nil || !e.Denied() {
		return e, err
	}
	supplied, err := a.GetSubjectAccess(ctx, p)
	if err != nil {
		return access.Explanation{}, err
	}
	if supplied, err = provider.WithExpired(ctx, a, supplied); err != nil {
		return access.Explanation{}, err
	}
	all, err := c.ExplainRows(ctx, &supplied, key, scope)
	e.Expired = all.Expired
	return e, err
}

func (h *Host) localApplication(name string) (api.LocalBackend, bool) {
	a, ok := h.Application(name)
	return attended{a}, ok
}
