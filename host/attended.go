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
// which no supply holds: all is then every row of the principal, else nil.
func (a *Application) explained(ctx context.Context, c *client.Client, p authz.Principal, key, scope string) (e access.Explanation, all *authz.SubjectAccess, err error) {
	if e, err = c.Explain(ctx, p, key, scope); err != nil || !e.Denied() {
		return e, nil, err
	}
	rows, err := a.GetSubjectAccess(ctx, p)
	if err != nil {
		return e, nil, err
	}
	if rows, err = provider.WithExpired(ctx, a, rows); err != nil {
		return e, nil, err
	}
	told, err := c.ExplainRows(ctx, &rows, key, scope)
	e.Expired = told.Expired
	return e, &rows, err
}

// around is an explanation with what lies around it.
func (a *Application) around(ctx context.Context, c *client.Client, q *provider.Explain) (access.Explained, error) {
	scope := cmp.Or(q.Scope, authz.Global)
	if !q.Empty() {
		return a.ExplainSupposed(ctx, q.Principal, q.Key, q.Supposing, func(rows *authz.SubjectAccess) (access.Explanation, error) {
			return c.ExplainRows(ctx, rows, q.Key, scope)
		})
	}
	e, rows, err := a.explained(ctx, c, q.Principal, q.Key, scope)
	if err != nil {
		return access.Explained{}, err
	}
	if rows == nil {
		supplied, err := a.GetSubjectAccess(ctx, q.Principal)
		if err != nil {
			return access.Explained{}, err
		}
		rows = &supplied
	}
	return a.Around(ctx, q.Principal, rows, q.Key, e)
}

func (h *Host) localApplication(name string) (api.LocalBackend, bool) {
	a, ok := h.Application(name)
	return attended{a}, ok
}
