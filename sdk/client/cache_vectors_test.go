package client_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
	gocmp "github.com/google/go-cmp/cmp"
)

// cacheCase is one line of cache.jsonl.
type cacheCase struct {
	Catalog       json.RawMessage        `json:"catalog"`
	Start         int64                  `json:"start"`
	ScopeParents  map[string][]string    `json:"scopeParents"`
	Clients       map[string]cacheClient `json:"clients"`
	UsesStore     bool                   `json:"usesStore"` // says what the clients say
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

// AccessAt counts as the two calls that it stands for.
func (c *counted) AccessAt(ctx context.Context, p authz.Principal, scope string) (provider.AccessAt, error) {
	c.subject.Add(1)
	if c.subjectFail.Load() {
		return provider.AccessAt{}, errSwitchedOff
	}
	c.ancestors.Add(1)
	return c.Application.AccessAt(ctx, p, scope)
}

func (c *counted) ResolveAncestors(ctx context.Context, scope string) ([]string, error) {
	c.ancestors.Add(1)
	return c.Application.ResolveAncestors(ctx, scope)
}

func (c *counted) EventLog() provider.EventLog {
	if c.Application.EventLog() == nil {
		return nil
	}
	return countedLog{c}
}

type countedLog struct{ *counted }

func (e countedLog) Head(ctx context.Context) (provider.EventLogHead, error) {
	e.head.Add(1)
	if e.epochFail.Load() {
		return provider.EventLogHead{}, errSwitchedOff
	}
	return e.Application.EventLog().Head(ctx)
}

func (e countedLog) Since(ctx context.Context, after authz.Position, limit int) (provider.EventLogPage, error) {
	e.since.Add(1)
	if e.epochFail.Load() {
		return provider.EventLogPage{}, errSwitchedOff
	}
	return e.Application.EventLog().Since(ctx, after, limit)
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
	rows          map[string]string // ids by symbol
	made          map[string]int    // rows by kind
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
	b := &cacheBench{parents: maps.Clone(c.ScopeParents), clients: map[string]*client.Client{}, shared: newMapStore(),
		rows: map[string]string{}, made: map[string]int{}}
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
		if diff := gocmp.Diff(*s.Calls, got); diff != "" {
			t.Errorf("step %d: provider calls (-want +got)\n%s", n, diff)
		}
	}
	if s.L2 != nil {
		b.shared.await(s.L2.Sets)
		if diff := gocmp.Diff(*s.L2, b.shared.take()); diff != "" {
			t.Errorf("step %d: traffic of the shared store (-want +got)\n%s", n, diff)
		}
	}
}

func (b *cacheBench) ask(t *testing.T, n int, s cacheStep) {
	c, ctx := b.clients[cmp.Or(s.Client, "A")], context.Background()
	var got bool
	var err error
	switch {
	case c == nil || s.Shape != "" && s.Shape != "snapshot":
		t.Errorf("step %d: no client %q, or no shape %q", n, s.Client, s.Shape)
		return
	case s.Shape == "snapshot":
		var snapshot *client.Snapshot
		snapshot, err = c.Snapshot(ctx, s.Principal, client.SnapshotOptions{Scopes: []string{s.Scope}, Fresh: s.FreshSnapshot})
		if err == nil {
			got, err = snapshot.Can(s.Key, s.Scope)
		}
	case s.Fresh:
		got, err = c.CanFresh(ctx, s.Principal, s.Key, s.Scope)
	default:
		got, err = c.Can(ctx, s.Principal, s.Key, s.Scope)
	}
	switch want := string(s.Expect); want {
	case "true", "false":
		if err != nil || got != (want == "true") {
			t.Errorf("step %d: %v, %v, want %s", n, got, err, want)
		}
	default:
		var wanted struct {
			Error json.RawMessage `json:"error"`
		}
		if json.Unmarshal(s.Expect, &wanted) != nil || wanted.Error == nil {
			t.Errorf("step %d: nothing to expect: %s", n, want)
		} else if err == nil {
			t.Errorf("step %d: answered %v, want an error", n, got)
		}
	}
}

// write carries out an operation. Its arguments are the members of its input, or are
// named as in the provider API; rows that it made are named G1, G2 and R1, R2.
func (b *cacheBench) write(app *application.Application, s cacheStep) error {
	ctx, by := context.Background(), authz.AdminProvenance("root")
	args, err := b.args(s.Args)
	if err != nil {
		return err
	}
	switch s.Write {
	case "createGrant":
		var in provider.GrantInput
		if err := args.into(&in); err != nil {
			return err
		}
		made, err := app.CreateGrant(ctx, in, by)
		b.named("G", made.ID)
		return err
	case "createGrants":
		var in struct{ Inputs []provider.GrantInput }
		if err := args.into(&in); err != nil {
			return err
		}
		made, err := app.CreateGrants(ctx, in.Inputs, by)
		for _, g := range made {
			b.named("G", g.ID)
		}
		return err
	case "createRevoke":
		var in provider.RevokeInput
		if err := args.into(&in); err != nil {
			return err
		}
		made, err := app.CreateRevoke(ctx, in, by)
		b.named("R", made.ID)
		return err
	case "createRole":
		var in provider.RoleInput
		if err := args.into(&in); err != nil {
			return err
		}
		_, err := app.CreateRole(ctx, in, by)
		return err
	case "updateRole":
		in := struct {
			RoleID string
			provider.RoleUpdate
		}{}
		if err := args.into(&in); err != nil {
			return err
		}
		_, err := app.UpdateRole(ctx, in.RoleID, in.RoleUpdate, by)
		return err
	case "createGroup":
		var in provider.GroupInput
		if err := args.into(&in); err != nil {
			return err
		}
		_, err := app.CreateGroup(ctx, in, by)
		return err
	case "updateGroup":
		in := struct {
			GroupID string
			provider.GroupUpdate
		}{}
		if err := args.into(&in); err != nil {
			return err
		}
		_, err := app.UpdateGroup(ctx, in.GroupID, in.GroupUpdate, by)
		return err
	case "importDirectory":
		var in struct {
			Snapshot directory.Snapshot
			Source   string
			Options  directory.Options
		}
		if err := args.into(&in); err != nil {
			return err
		}
		_, err := app.ImportDirectory(ctx, in.Snapshot, in.Source, in.Options)
		return err
	}
	var a struct {
		GrantID, RevokeID, RoleID, GroupID, UserID, ManagerUserID, Subject, Scope string
		Parents, GroupIDs                                                         []string
		Active                                                                    bool
		Document                                                                  json.RawMessage
	}
	if err := args.into(&a); err != nil {
		return err
	}
	switch s.Write {
	case "deleteGrant":
		err = app.DeleteGrant(ctx, a.GrantID, by)
	case "deleteRevoke":
		err = app.DeleteRevoke(ctx, a.RevokeID, by)
	case "deleteRole":
		err = app.DeleteRole(ctx, a.RoleID, by)
	case "setGroupParents":
		_, err = app.SetGroupParents(ctx, a.GroupID, a.Parents, by)
	case "deleteGroup":
		err = app.DeleteGroup(ctx, a.GroupID, by)
	case "setGroupMembership":
		err = app.SetGroupMembership(ctx, a.UserID, a.GroupIDs, by)
	case "dissolveVirtualParent":
		err = app.DissolveVirtualParent(ctx, a.GroupID, by)
	case "setUserActive":
		err = app.SetUserActive(ctx, a.UserID, a.Active, by)
	case "setReportingEdge":
		err = app.SetReportingEdge(ctx, a.UserID, a.ManagerUserID, by)
	case "deleteSubject":
		_, err = app.DeleteSubject(ctx, a.Subject, by)
	case "deleteScope":
		_, err = app.DeleteScope(ctx, a.Scope, by)
	case "notifyScopeMoved":
		err = app.NotifyScopeMoved(ctx, a.Scope)
	case "publish":
		_, err = app.PublishCatalog(ctx, b.document, by)
	case "publishCatalog":
		_, err = app.PublishCatalog(ctx, a.Document, by)
	default:
		err = errors.New("unknown write " + s.Write)
	}
	return err
}

// cacheArgs are the arguments of a write, by name.
type cacheArgs map[string]json.RawMessage

// args are those of a step, with the members of an input among them and rows by
// their ids.
func (b *cacheBench) args(raw json.RawMessage) (cacheArgs, error) {
	args := cacheArgs{}
	if len(raw) == 0 {
		return args, nil
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, err
	}
	if input, ok := args["input"]; ok {
		delete(args, "input")
		if err := json.Unmarshal(input, &args); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"grantId", "revokeId"} {
		var symbol string
		if json.Unmarshal(args[name], &symbol) == nil && b.rows[symbol] != "" {
			args[name], _ = json.Marshal(b.rows[symbol])
		}
	}
	return args, nil
}

// into decodes arguments, all of them.
func (a cacheArgs) into(v any) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// named remembers a row that a write made, in order of insertion.
func (b *cacheBench) named(kind, id string) {
	if id == "" {
		return // refused
	}
	b.made[kind]++
	b.rows[fmt.Sprintf("%s%d", kind, b.made[kind])] = id
}
