package host

import (
	"context"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
)

// attended is an application as people ask it, over the administration socket: whatever is
// configured for programs, a mistyped scope is told and not answered.
type attended struct{ *Application }

// Check serves the operation check.
func (a attended) Check(ctx context.Context, p authz.Principal, keys []string, scope string, fresh bool) (bool, error) {
	return a.byPeople.Check(ctx, p, client.Gate{Keys: keys, Scope: scope, Fresh: fresh})
}

// CheckKey is Check of one key.
func (a attended) CheckKey(ctx context.Context, p authz.Principal, key, scope string, fresh bool) (bool, error) {
	if fresh {
		return a.byPeople.Fresh(ctx, p, key, scope)
	}
	return a.byPeople.Can(ctx, p, key, scope)
}

// Explain serves the operation explain.
func (a attended) Explain(ctx context.Context, p authz.Principal, key, scope string) (any, error) {
	return a.byPeople.Explain(ctx, p, key, scope)
}

func (h *Host) localApplication(name string) (api.LocalApplication, bool) {
	a, ok := h.Application(name)
	return attended{a}, ok
}
