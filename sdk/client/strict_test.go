package client_test

import (
	"context"
	"sync"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

// resolving counts how often each scope is resolved.
type resolving struct {
	client.Source
	mu    sync.Mutex
	times map[string]int
}

func (r *resolving) ResolveAncestors(_ context.Context, scope string) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times[scope]++
	return []string{authz.Global}, nil
}

// Nothing is cached under Strict; within one check a scope is asked for once all the
// same.
func TestAStrictCheckResolvesEachScopeOnce(t *testing.T) {
	r := &resolving{times: map[string]int{}}
	b := newCacheBench(t, cacheCase{Start: 1700000000000, Catalog: []byte(`{"namespaces":["docs"],"scopeTypes":{"docs.doc":{}},
		"permissions":{"docs.files.read":{"scopes":["docs.doc"]}}}`)})
	r.Source = b.local
	c, err := client.New(client.Options{Provider: r, Catalog: b.local.Catalog(), Clock: b.now.Load, Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for _, scope := range []string{"docs.doc:1", "docs.doc:2"} {
		if _, err := b.remote.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:u1", Pattern: olderKey, Scope: scope}, authz.AdminProvenance("root")); err != nil {
			t.Fatal(err)
		}
	}
	mustAnswer(t, "canAny", true)(c.CanAny(t.Context(), authz.UserPrincipal("u1"), olderKey))
	for scope, n := range r.times {
		if n != 1 {
			t.Errorf("%s was resolved %d times", scope, n)
		}
	}
	if len(r.times) != 2 {
		t.Errorf("resolved: %v", r.times)
	}
}
