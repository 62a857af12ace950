package client

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
)

// crowdSource knows everybody: each user is in a group and has a role of its own.
type crowdSource struct{}

func (crowdSource) GetSubjectAccess(_ context.Context, p authz.Principal) (authz.SubjectAccess, error) {
	id := p.UserID
	return authz.SubjectAccess{UserID: &id, Active: true, Closure: []string{"user:" + id, "group:of-" + id, "everyone"},
		Grants: []authz.Grant{{ID: "g-" + id, Subject: "user:" + id, RoleID: "r-" + id, Scope: authz.Global}},
		Roles:  []authz.Role{{ID: "r-" + id, Patterns: []string{"docs.files.read"}}}}, nil
}

func (crowdSource) ResolveAncestors(_ context.Context, scope string) ([]string, error) {
	return []string{scope + "-parent", authz.Global}, nil
}

func (crowdSource) ListRoles(context.Context, provider.Paging) iter.Seq2[authz.Role, error] {
	return func(func(authz.Role, error) bool) {}
}

func (crowdSource) OnInvalidate(func(authz.Event)) func() { return func() {} }
func (crowdSource) EventLog() provider.EventLog           { return nil }

func (c *cache[V]) sizes() (entries, members, references, flights int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, keys := range c.index {
		references += len(keys)
	}
	return c.table.count, len(c.index), references, len(c.flights) + len(c.running)
}

// Two hundred thousand principals, and a third as many scopes, pass through caches
// of a thousand; fewer where the race detector makes each cost ten times as much.
func TestCachesStayWithinTheirBoundsHoweverManyPass(t *testing.T) {
	const bound = 1000
	passing := 200_000
	if underRace || testing.Short() {
		passing = 4_000
	}
	in, err := catalog.ParseJSON([]byte(`{"namespaces":["docs"],"includeAuthzInternal":false,
		"scopeTypes":{"docs.folder":{},"docs.doc":{"parent":"docs.folder"}},"permissions":{"docs.files.read":{"scopes":["docs.doc"]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	cat, err := catalog.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Options{Provider: crowdSource{}, Catalog: cat, MaxSubjectCacheEntries: new(bound), MaxObjectCacheEntries: new(bound)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var early uint64
	for i := range passing {
		ok, err := c.Can(t.Context(), authz.UserPrincipal(fmt.Sprint("u", i)), "docs.files.read", fmt.Sprint("docs.doc:", i/3))
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		if i == 2*bound {
			early = heap()
		}
	}
	late := heap()
	for side, sizes := range map[string][4]int{"closures": sizesOf(c.subjects), "chains": sizesOf(c.chains)} {
		entries, members, references, flights := sizes[0], sizes[1], sizes[2], sizes[3]
		if entries != bound || flights != 0 {
			t.Errorf("%s: %d entries, %d fetches under way", side, entries, flights)
		}
		// "everyone" or "*" is common, the others are each entry's own.
		if perEntry := references / bound; references%bound != 0 || members != (perEntry-1)*bound+1 {
			t.Errorf("%s: %d entries are indexed by %d members with %d references", side, entries, members, references)
		}
	}
	t.Logf("heap %d KiB once full, %d KiB at the end", early>>10, late>>10)
	if late > early+early/2+1<<20 {
		t.Errorf("the heap grew from %d to %d bytes", early, late)
	}
}

func sizesOf[V any](c *cache[V]) [4]int {
	entries, members, references, flights := c.sizes()
	return [4]int{entries, members, references, flights}
}
