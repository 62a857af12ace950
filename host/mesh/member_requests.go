package mesh

import (
	"context"
	"iter"

	"github.com/authzhost/authz/internal/lists"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// Requests for global access are the organization's: those of the own partition are
// inert while it lives elsewhere.

func (m *Member) GetRequest(ctx context.Context, id string) (authz.Request, bool, error) {
	row, found, err := m.Store.GetRequest(ctx, id)
	if err != nil || !found || row.Scope != authz.Global {
		return row, found, err
	}
	org, err := m.org(ctx)
	if err != nil || org != nil {
		return authz.Request{}, false, err
	}
	return row, true, nil
}

func (m *Member) ListRequests(ctx context.Context, f storage.RequestFilter, p storage.RequestPage) iter.Seq2[authz.Request, error] {
	return func(yield func(authz.Request, error) bool) {
		org, err := m.org(ctx)
		switch {
		case err != nil:
			yield(authz.Request{}, err)
		case org == nil:
			m.Store.ListRequests(ctx, f, p)(yield)
		default:
			limit := p.Limit
			p.Limit = 0
			own := without(m.Store.ListRequests(ctx, f, p), func(r authz.Request) bool { return r.Scope == authz.Global })
			lists.Limited(own, limit)(yield)
		}
	}
}
