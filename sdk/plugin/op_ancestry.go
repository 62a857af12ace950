package plugin

import (
	"context"

	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

// Recorded parents of scopes.

func (s *storeClient) GetScopeParents(ctx context.Context, scopes []string) (map[string][]string, error) {
	a, err := read(ctx, s, s.rpc.GetScopeParents, &pluginv1.Keys{Store: s.handle, Keys: scopes})
	if err != nil {
		return nil, err
	}
	return decodeScopeParents(a), nil
}

func (s *storageServer) GetScopeParents(ctx context.Context, q *pluginv1.Keys) (*pluginv1.ScopeParents, error) {
	return answer(s, q, func(store storage.Store) (*pluginv1.ScopeParents, error) {
		parents, err := store.GetScopeParents(ctx, q.GetKeys())
		return encodeScopeParents(parents), err
	})
}
