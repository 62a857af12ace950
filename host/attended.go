package host

import (
	"cmp"
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
func (a attended) Explain(ctx context.Context, q *provider.Explain) (access.Explained, error) {
	return a.around(ctx, a.byPeople, q)
}

// explained is an explanation of which a denial also names the rows that have expired,
// which no supply holds.
func (a *Application) explained(ctx context.Context, c *client.Client, p authz.Principal, key, scope string) (access.Explanation, error) {
	e, err := c.Explain(ctx, p, key, scope)
	if err != nil || !e.Denied() {
		return e, err
	}
	rows, err := a.withExpired(ctx, p)
	if err != nil {
		return access.Explanation{}, err
	}
	all, err := c.ExplainRows(ctx, &rows, key, scope)
	e.Expired = all.Expired
	return e, err
}

func (a *Application) withExpired(ctx context.Context, p authz.Principal) (authz.SubjectAccess, error) {
	rows, err := a.GetSubjectAccess(ctx, p)
	if err != nil {
		return rows, err
	}
	return provider.WithExpired(ctx, a, rows)
}

// around is an explanation with what lies around it.
func (a *Application) around(ctx context.Context, c *client.Client, q *provider.Explain) (access.Explained, error) {
	scope := cmp.Or(q.Scope, authz.Global)
	if !q.Empty() {
		return a.ExplainSupposed(ctx, q.Principal, q.Key, q.Supposing, func(rows *authz.SubjectAccess) (access.Explanation, error) {
			return c.ExplainRows(ctx, rows, q.Key, scope)
		})
	}
	e, err := c.Explain(ctx, q.Principal, q.Key, scope)
	if err != nil {
		return access.Explained{}, err
	}
	rows, err := a.withExpired(ctx, q.Principal)
	if err != nil {
		return access.Explained{}, err
	}
	if e.Denied() {
		all, err := c.ExplainRows(ctx, &rows, q.Key, scope)
		if err != nil {
			return access.Explained{}, err
		}
		e.Expired = all.Expired
	}
	return a.Around(ctx, q.Principal, &rows, q.Key, e)
}

func (h *Host) localApplication(name string) (api.LocalBackend, bool) {
	a, ok := h.Application(name)
	return attended{a}, ok
}
