package authz

import (
	"context"
	"strings"

	"github.com/authzhost/authz/bench/workload"
	"github.com/authzhost/authz/sdk/authz"
)

// Who asks Client.WhoCan, every page of it.
func (h *held) Who(ctx context.Context, key string, at workload.ScopeID) (users []string, err error) {
	for holder, err := range h.client.WhoCan(ctx, key, scopeID(at)) {
		if err != nil {
			return nil, err
		}
		users = append(users, strings.TrimPrefix(holder.Subject, "user:"))
	}
	return users, nil
}

// Where asks Client.WhereCan, every page of it.
func (h *held) Where(ctx context.Context, user, key string) (scopes []workload.ScopeID, err error) {
	for held, err := range h.client.WhereCan(ctx, authz.UserPrincipal(user), key) {
		if err != nil {
			return nil, err
		}
		kind, id, _ := strings.Cut(held.Scope, ":")
		scopes = append(scopes, workload.ScopeID{Kind: kinds[kind], ID: id})
	}
	return scopes, nil
}

var kinds = map[string]workload.Kind{authz.Global: workload.Global, "docs.folder": workload.Folder, "docs.doc": workload.Document}
