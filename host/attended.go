package host

import (
	"context"

	"github.com/authzhost/authz/host/api"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// attended is an application as people ask it, over the administration socket: whatever is
// configured for programs, a mistyped scope is told and not answered.
type attended struct{ *Application }

// Check serves the operation check.
func (a attended) Check(ctx context.Context, p authz.Principal, keys []string, scope string, fresh bool) (bool, error) {
	return a.answer(ctx, a.byPeople, p, keys, scope, fresh)
}

// Explain serves the operation explain.
func (a attended) Explain(ctx context.Context, q *provider.Explain) (access.Explained, error) {
	return a.checks(a.byPeople).Explain(ctx, q)
}

func (h *Host) localApplication(name string) (api.LocalBackend, bool) {
	a, ok := h.Application(name)
	return attended{a}, ok
}
