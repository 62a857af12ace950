package application

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/lists"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// ListRecordedScopes lists scopes whose parents are recorded, by scope.
func (a *Application) ListRecordedScopes(ctx context.Context, q provider.RecordedScopeQuery) iter.Seq2[provider.RecordedScope, error] {
	var s shape
	s.text("prefix", q.Prefix, maxID)
	s.text("parent", q.Parent, maxID)
	s.page(q.Paging)
	if s.err == nil && (!a.HasStoredAncestry() || !a.caps.Has(storage.CapLookups)) {
		s.err = authz.Rejected(authz.CodeUnsupported, "recorded scopes can be listed where the storage driver records scope parents and has the capability %q", storage.CapLookups)
	}
	return listed(a, "listRecordedScopes", s.err, func() iter.Seq2[provider.RecordedScope, error] {
		return lists.Limited(a.recordedScopes(ctx, q), q.Limit)
	})
}

// recordedScopes are those that match, whatever the page's limit.
func (a *Application) recordedScopes(ctx context.Context, q provider.RecordedScopeQuery) iter.Seq2[provider.RecordedScope, error] {
	return func(yield func(provider.RecordedScope, error) bool) {
		for scopes, err := range lists.Pieces(a.scopesFrom(ctx, q), func() int { return chunkOf(min(q.Limit, storage.MaxScopes)) }) {
			if err != nil {
				yield(provider.RecordedScope{}, err)
				return
			}
			parents, err := a.store.GetScopeParents(ctx, scopes)
			if err != nil {
				yield(provider.RecordedScope{}, err)
				return
			}
			for _, scope := range scopes {
				of, recorded := parents[scope]
				if !recorded || q.Parent != "" && !slices.Contains(of, q.Parent) {
					continue
				}
				if !yield(provider.RecordedScope{Scope: scope, Parents: append([]string{}, of...)}, nil) {
					return
				}
			}
		}
	}
}

// scopesFrom are the scopes that may match. The prefix comes first, which may be a scope:
// lists go on after a place.
func (a *Application) scopesFrom(ctx context.Context, q provider.RecordedScopeQuery) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if q.After < q.Prefix && !yield(q.Prefix, nil) {
			return
		}
		after := max(q.After, q.Prefix)
		for scope, err := range a.scopesAfter(ctx, q.Parent, after) {
			if err != nil {
				yield("", err)
				return
			}
			if !strings.HasPrefix(scope, q.Prefix) || !yield(scope, nil) {
				return
			}
		}
	}
}

func (a *Application) scopesAfter(ctx context.Context, parent, after string) iter.Seq2[string, error] {
	if parent == "" {
		return a.store.ListScopes(ctx, storage.Page{After: after})
	}
	return func(yield func(string, error) bool) {
		for e, err := range a.store.ListEdges(ctx, storage.EdgeParent, []string{parent}, storage.EdgePage{AfterOf: parent, AfterFrom: after}) {
			if !yield(e.From, err) {
				return
			}
		}
	}
}
