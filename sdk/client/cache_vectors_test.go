package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/authzhost/authz/conformance/vectors"
	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
	"github.com/google/go-cmp/cmp"
)

// cacheCase is one line of cache.jsonl.
type cacheCase struct {
	Catalog       json.RawMessage        `json:"catalog"`
	Start         int64                  `json:"start"`
	ScopeParents  map[string][]string    `json:"scopeParents"`
	Clients       map[string]cacheClient `json:"clients"`
	PersistEvents *bool                  `json:"persistEvents"`
	Steps         []cacheStep            `json:"steps"`
}

type cacheClient struct {
	CacheStore             bool   `json:"cacheStore"`
	Strict                 bool   `json:"strict"`
	CacheKeyPrefix         string `json:"cacheKeyPrefix"`
	CacheStoreTTLMs        int    `json:"cacheStoreTtlMs"`
	SubjectCacheTTLMs      *int   `json:"subjectCacheTtlMs"`
	ObjectCacheTTLMs       *int   `json:"objectCacheTtlMs"`
	MaxSubjectCacheEntries *int   `json:"maxSubjectCacheEntries"`
	MaxObjectCacheEntries  *int   `json:"maxObjectCacheEntries"`
	RevalidateAfterMs      any    `json:"revalidateAfterMs"`
}

// UnmarshalJSON refuses options that no client has.
func (c *cacheClient) UnmarshalJSON(raw []byte) error {
	type plain cacheClient
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode((*plain)(c))
}

type cacheStep struct {
	Op            string          `json:"op"`
	Ms            int64           `json:"ms"`
	Write         string          `json:"write"`
	Args          json.RawMessage `json:"args"`
	Remote        bool            `json:"remote"`
	Scope         string          `json:"scope"`
	Parents       []string        `json:"parents"`
	Notify        bool            `json:"notify"`
	Value         bool            `json:"value"`
	KeepRows      int64           `json:"keepRows"`
	Client        string          `json:"client"`
	Principal     authz.Principal `json:"principal"`
	Key           string          `json:"key"`
	Fresh         bool            `json:"fresh"`
	FreshSnapshot bool            `json:"freshSnapshot"`
	Shape         string          `json:"shape"`
	Checks        []cacheStep     `json:"checks"`
	Expect        json.RawMessage `json:"expect"`
	Calls         *cacheCalls     `json:"calls"`
	L2            *cacheTraffic   `json:"l2"`
}

// cacheCalls counts calls of a provider.
type cacheCalls struct {
	Subject, Ancestors, Head, Since int64
}

var errSwitchedOff = errors.New("switched off by the case")

// counted counts what a client asks of an application, and can be made to fail.
type counted struct {
	*application.Application
	subject, ancestors, head, since atomic.Int64
	epochFail, subjectFail          atomic.Bool
}

func (c *counted) take() cacheCalls {
	return cacheCalls{c.subject.Swap(0), c.ancestors.Swap(0), c.head.Swap(0), c.since.Swap(0)}
}

func (c *counted) GetSubjectAccess(ctx context.Context, p authz.Principal) (authz.SubjectAccess, error) {
	c.subject.Add(1)
	if c.subjectFail.Load() {
		return authz.SubjectAccess{}, errSwitchedOff
	}
	return c.Application.GetSubjectAccess(ctx, p)
}

func (c *counted) ResolveAncestors(ctx context.Context, scope string) ([]string, error) {
	c.ancestors.Add(1)
	return c.Application.ResolveAncestors(ctx, scope)
}

func (c *counted) Epoch() provider.Epoch {
	if c.Application.Epoch() == nil {
		return nil
	}
	return countedEpoch{c}
}

type countedEpoch struct{ *counted }

func (e countedEpoch) Head(ctx context.Context) (provider.EpochHead, error) {
	e.head.Add(1)
	if e.epochFail.Load() {
		return provider.EpochHead{}, errSwitchedOff
	}
	return e.Application.Epoch().Head(ctx)
}

func (e countedEpoch) Since(ctx context.Context, seq int64, limit int) (provider.EpochPage, error) {
	e.since.Add(1)
	if e.epochFail.Load() {
		return provider.EpochPage{}, errSwitchedOff
	}
	return e.Application.Epoch().Since(ctx, seq, limit)
}

// cacheBench is a case in progress.
type cacheBench struct {
	now           atomic.Int64
	mu            sync.Mutex
	parents       map[string][]string
	store         storage.Store
	local, remote *application.Application
	source        *counted
	shared        *mapStore
	clients       map[string]*client.Client
	document      json.RawMessage
}

func TestVectorsCache(t *testing.T) {
	vectors.Replay(t, "cache.jsonl", nil, func(t *testing.T, c cacheCase) {
		b := newCacheBench(t, c)
		for i, s := range c.Steps {
			b.step(t, i, s)
		}
	})
}

func newCacheBench(t *testing.T, c cacheCase) *cacheBench {
	ctx := context.Background()
	b := &cacheBench{parents: maps.Clone(c.ScopeParents), clients: map[string]*client.Client{}, shared: newMapStore()}
	b.now.Store(c.Start)
	in, err := catalog.ParseJSON(c.Catalog)
	if err != nil {
		t.Fatal(err)
	}
	cat, err := catalog.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	if b.document, err = cat.Document(); err != nil {
		t.Fatal(err)
	}
	driver := memory.New(memory.Options{Clock: b.now.Load})
	t.Cleanup(func() { driver.Close() })
	if b.store, err = driver.Open(ctx, ""); err != nil {
		t.Fatal(err)
	}
	open := func() *application.Application {
		app, err := application.New(ctx, application.Options{Catalog: cat, Store: b.store, PersistEvents: c.PersistEvents,
			Clock: b.now.Load, GroupTopologyTTL: -1, Ancestry: application.AncestryFunc(b.ancestors)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { app.Close() })
		return app
	}
	b.local, b.remote = open(), open()
	b.source = &counted{Application: b.local}
	millis := func(ms int) *time.Duration { return new(time.Duration(ms) * time.Millisecond) }
	for name, o := range c.Clients {
		options := client.Options{Provider: b.source, Catalog: cat, Clock: b.now.Load, Strict: o.Strict, CacheKeyPrefix: o.CacheKeyPrefix,
			CacheStoreTTL: time.Duration(o.CacheStoreTTLMs) * time.Millisecond, MaxSubjectCacheEntries: o.MaxSubjectCacheEntries, MaxObjectCacheEntries: o.MaxObjectCacheEntries}
		if o.CacheStore {
			options.CacheStore = b.shared
		}
		if o.SubjectCacheTTLMs != nil {
			options.SubjectCacheTTL = millis(*o.SubjectCacheTTLMs)
		}
		if o.ObjectCacheTTLMs != nil {
			options.ObjectCacheTTL = millis(*o.ObjectCacheTTLMs)
		}
		switch after := o.RevalidateAfterMs.(type) {
		case bool:
			options.RevalidateAfter = millis(-1)
		case float64:
			options.RevalidateAfter = millis(int(after))
		}
		if b.clients[name], err = client.New(options); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.clients[name].Close)
	}
	return b
}

func (b *cacheBench) ancestors(_ context.Context, scope string) ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return vectors.World{ScopeParents: b.parents}.Ancestors(scope), nil
}

func (b *cacheBench) step(t *testing.T, n int, s cacheStep) {
	t.Helper()
	app := b.local
	if s.Remote {
		app = b.remote
	}
	switch s.Op {
	case "advance":
		b.now.Add(s.Ms)
	case "write":
		if err := b.write(app, s); err != nil {
			t.Fatalf("step %d %s: %v", n, s.Write, err)
		}
	case "move":
		b.mu.Lock()
		b.parents[s.Scope] = s.Parents
		b.mu.Unlock()
		if s.Notify {
			if err := app.NotifyScopeMoved(context.Background(), s.Scope); err != nil {
				t.Fatalf("step %d: %v", n, err)
			}
		}
	case "epochFail":
		b.source.epochFail.Store(s.Value)
	case "subjectFail":
		b.source.subjectFail.Store(s.Value)
	case "l2Fail":
		b.shared.fail.Store(s.Value)
	case "prune":
		if _, err := b.store.PruneEvents(context.Background(), storage.PruneEvents{KeepRows: &s.KeepRows}); err != nil {
			t.Fatalf("step %d: %v", n, err)
		}
	case "check":
		b.check(t, n, s)
	case "checkMany":
		var all sync.WaitGroup
		var expect []json.RawMessage
		if err := json.Unmarshal(s.Expect, &expect); err != nil || len(expect) != len(s.Checks) {
			t.Fatalf("step %d: expect %s", n, s.Expect)
		}
		for i, c := range s.Checks {
			c.Expect = expect[i]
			all.Go(func() { b.ask(t, n, c) })
		}
		all.Wait()
		b.compareCalls(t, n, s)
	default:
		t.Fatalf("step %d: unknown operation %s", n, s.Op)
	}
}

func (b *cacheBench) check(t *testing.T, n int, s cacheStep) {
	t.Helper()
	b.ask(t, n, s)
	b.compareCalls(t, n, s)
}

func (b *cacheBench) compareCalls(t *testing.T, n int, s cacheStep) {
	t.Helper()
	if got := b.source.take(); s.Calls != nil {
		if diff := cmp.Diff(*s.Calls, got); diff != "" {
			t.Errorf("step %d: provider calls (-want +got)\n%s", n, diff)
		}
	}
	if s.L2 != nil {
		b.shared.await(s.L2.Sets)
		if diff := cmp.Diff(*s.L2, b.shared.take()); diff != "" {
			t.Errorf("step %d: traffic of the shared store (-want +got)\n%s", n, diff)
		}
	}
}

func (b *cacheBench) ask(t *testing.T, n int, s cacheStep) {
	name := s.Client
	if name == "" {
		name = "A"
	}
	c, ctx := b.clients[name], context.Background()
	var got bool
	var err error
	switch {
	case s.Shape == "snapshot":
		var snapshot *client.Snapshot
		snapshot, err = c.Snapshot(ctx, s.Principal, client.SnapshotOptions{Scopes: []string{s.Scope}, Fresh: s.FreshSnapshot})
		if err == nil {
			got, err = snapshot.Can(s.Key, s.Scope)
		}
	case s.Fresh:
		got, err = c.Fresh(ctx, s.Principal, s.Key, s.Scope)
	default:
		got, err = c.Can(ctx, s.Principal, s.Key, s.Scope)
	}
	switch want := string(s.Expect); want {
	case "true", "false":
		if err != nil || got != (want == "true") {
			t.Errorf("step %d: %v, %v, want %s", n, got, err, want)
		}
	default:
		if err == nil {
			t.Errorf("step %d: answered %v, want an error", n, got)
		}
	}
}

func (b *cacheBench) write(app *application.Application, s cacheStep) error {
	ctx, by := context.Background(), authz.AdminProvenance("root")
	var a struct {
		provider.GrantInput
		UserID   string   `json:"userId"`
		ID       *string  `json:"id"`
		RoleID   string   `json:"roleId"`
		Name     string   `json:"name"`
		Parents  []string `json:"parents"`
		Patterns []string `json:"patterns"`
		GroupIDs []string `json:"groupIds"`
		GroupID  string   `json:"groupId"`
		Manager  string   `json:"managerUserId"`
		Active   bool     `json:"active"`
		Input    struct {
			ID       *string  `json:"id"`
			Name     string   `json:"name"`
			Parents  []string `json:"parents"`
			Patterns []string `json:"patterns"`
		} `json:"input"`
	}
	if len(s.Args) > 0 {
		if err := json.Unmarshal(s.Args, &a); err != nil {
			return err
		}
	}
	if a.ID == nil {
		a.ID = a.Input.ID
	}
	if a.Name == "" {
		a.Name = a.Input.Name
	}
	if a.Patterns == nil {
		a.Patterns = a.Input.Patterns
	}
	if a.Parents == nil {
		a.Parents = a.Input.Parents
	}
	var err error
	switch s.Write {
	case "createGrant":
		a.GrantInput.RoleID = a.RoleID
		_, err = app.CreateGrant(ctx, a.GrantInput, by)
	case "createRevoke":
		_, err = app.CreateRevoke(ctx, provider.RevokeInput{UserID: a.UserID, Pattern: a.Pattern, Scope: a.GrantInput.Scope}, by)
	case "createGroup":
		_, err = app.CreateGroup(ctx, provider.GroupInput{ID: a.ID, Name: a.Name, Parents: a.Parents}, by)
	case "setGroupMembership":
		err = app.SetGroupMembership(ctx, a.UserID, a.GroupIDs, by)
	case "setUserActive":
		err = app.SetUserActive(ctx, a.UserID, a.Active, by)
	case "setGroupParents":
		_, err = app.SetGroupParents(ctx, a.GroupID, a.Parents, by)
	case "deleteGroup":
		err = app.DeleteGroup(ctx, a.GroupID, by)
	case "setReportingEdge":
		err = app.SetReportingEdge(ctx, a.UserID, a.Manager, by)
	case "deleteSubject":
		_, err = app.DeleteSubject(ctx, a.Subject, by)
	case "deleteScope":
		_, err = app.DeleteScope(ctx, a.GrantInput.Scope, by)
	case "deleteRole":
		err = app.DeleteRole(ctx, a.RoleID, by)
	case "createRole":
		_, err = app.CreateRole(ctx, provider.RoleInput{ID: a.ID, Name: a.Name, Patterns: a.Patterns}, by)
	case "updateRole":
		_, err = app.UpdateRole(ctx, a.RoleID, provider.RoleUpdate{Patterns: &a.Patterns}, by)
	case "publish":
		_, err = app.PublishCatalog(ctx, b.document, by)
	default:
		return errors.New("unknown write " + s.Write)
	}
	return err
}
