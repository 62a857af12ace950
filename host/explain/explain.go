package explain

import (
	"cmp"
	"context"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

// Checks are the checks that a client answers over an application.
type Checks struct {
	Application *application.Application
	Client      *client.Client
}

// rows is an explanation of which a denial also names the rows that have expired, which
// no supply holds: all is then every row of the principal, else nil.
func (c Checks) rows(ctx context.Context, p authz.Principal, key, scope string) (e access.Explanation, all *authz.SubjectAccess, err error) {
	if e, err = c.Client.Explain(ctx, p, key, scope); err != nil || !e.Denied() {
		return e, nil, err
	}
	rows, err := c.Application.GetSubjectAccess(ctx, p)
	if err != nil {
		return e, nil, err
	}
	if rows, err = provider.WithExpired(ctx, c.Application, rows); err != nil {
		return e, nil, err
	}
	told, err := c.Client.ExplainRows(ctx, &rows, key, scope)
	e.Expired = told.Expired
	return e, &rows, err
}

// Explain is an explanation with what lies around it.
func (c Checks) Explain(ctx context.Context, q *provider.Explain) (access.Explained, error) {
	scope := cmp.Or(q.Scope, authz.Global)
	if !q.Empty() {
		return c.Application.ExplainSupposed(ctx, q.Principal, q.Key, q.Supposing, func(rows *authz.SubjectAccess) (access.Explanation, error) {
			return c.Client.ExplainRows(ctx, rows, q.Key, scope)
		})
	}
	e, rows, err := c.rows(ctx, q.Principal, q.Key, scope)
	if err != nil {
		return access.Explained{}, err
	}
	if rows == nil {
		supplied, err := c.Application.GetSubjectAccess(ctx, q.Principal)
		if err != nil {
			return access.Explained{}, err
		}
		rows = &supplied
	}
	return c.Application.Around(ctx, q.Principal, rows, q.Key, e)
}
