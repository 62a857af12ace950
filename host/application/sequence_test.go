package application_test

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// sequence is an application under a drawn sequence of operations, with a client
// that learns of writes by events alone.
type sequence struct {
	*rapid.T
	t      *testing.T
	store  storage.Store
	app    *application.Application
	oracle *application.Application // reads the closure by the driver's own expansion
	now    atomic.Int64             // pruning reads it in the background
	heard  []authz.Event
	cached *client.Client
	log    *logged
	usage  map[string]int64 // reported, by grant
}

func newSequence(t *testing.T, draw *rapid.T) *sequence {
	q := &sequence{T: draw, t: t, store: openStore(t), log: newLogged(), usage: map[string]int64{}}
	q.now.Store(now)
	clock := q.now.Load
	store := q.store
	if q.sometimes("without expand") {
		store = withoutExpand(store)
	}
	built := testCatalogBuilt(t)
	q.app = newApp(t, application.Options{Catalog: built, Store: store, Ancestry: application.Stored(store), Clock: clock, IDs: ascending(), HashChain: true, Metrics: &application.Metrics{}})
	q.oracle = newApp(t, application.Options{Catalog: built, Store: q.store, Ancestry: application.Stored(q.store), Clock: clock})
	q.app.OnInvalidate(func(e authz.Event) { q.heard = append(q.heard, e) })
	day := 24 * time.Hour
	var err error
	q.cached, err = client.New(client.Options{Provider: q.app, Catalog: built, Clock: clock,
		SubjectCacheTTL: &day, ObjectCacheTTL: &day, RevalidateAfter: ptr(-time.Second)})
	must(t, err)
	return q
}

// settle fills the world through the application, so that most operations meet
// rows whose loss or change moves an answer.
func (q *sequence) settle(ctx context.Context) {
	for _, do := range []func(context.Context, *application.Application) error{
		createRole(provider.RoleInput{ID: ptr("r1"), Name: "R", Patterns: []string{"docs.files.*"}, Requestable: &authz.Requestable{Stages: stages(met)}}),
		createGroup(provider.GroupInput{ID: ptr("g1"), Name: "G"}),
		createGroup(provider.GroupInput{ID: ptr("g2"), Name: "G", Parents: []string{"g1"}}),
		func(ctx context.Context, a *application.Application) error {
			return a.SetReportingEdge(ctx, "u1", "u2", root)
		},
		func(ctx context.Context, a *application.Application) error {
			return a.SetReportingEdge(ctx, "u2", "boss", root)
		},
		func(ctx context.Context, a *application.Application) error {
			return a.SetGroupMembership(ctx, "u1", []string{"g2"}, root)
		},
		createRole(provider.RoleInput{ID: ptr("led"), Name: "L", Patterns: []string{"docs.files.*"}, Requestable: &authz.Requestable{Stages: stages(management(1), management(2))}}),
		asking(provider.RequestInput{RequesterUserID: "u1", RoleID: "led"}),
		asking(provider.RequestInput{RequesterUserID: "u1", RoleID: "led", Scope: "docs.folder:2"}),
		setScopeParents(under("docs.folder:1"), under("docs.folder:2", "docs.folder:1"), under("docs.doc:1", "docs.folder:2")),
		createRevoke(provider.RevokeInput{UserID: "u1", Pattern: "docs.files.delete", Scope: "docs.doc:1"}),
		createRevoke(provider.RevokeInput{UserID: "u2", Pattern: "docs.files.read", Scope: "docs.folder:2"}),
		func(ctx context.Context, a *application.Application) error {
			_, err := a.CreateGrants(ctx, []provider.GrantInput{
				{Subject: "user:u1", Pattern: "docs.admin.read"}, {Subject: "group:g1", RoleID: "r1", Scope: "docs.doc:1"},
				{Subject: "directs:u2", Pattern: "docs.files.read", Scope: "docs.folder:2"}, {Subject: "orgof:boss", Pattern: "docs.files.read", Scope: "docs.folder:1"},
				{Subject: "service:s", RoleID: "r1"},
			}, root)
			return err
		},
	} {
		must(q.t, do(ctx, q.app))
	}
	for _, e := range rows(q.t, q.store.ListAudit(ctx, storage.AuditFilter{})) {
		q.log.apply(q.T, e)
	}
}

// answer is what a check says, or what a key is held at.
type answer struct {
	Allowed bool
	At      access.GrantedScopes
	Refused string
}

// ask puts every question of the small world.
func (q *sequence) ask(ctx context.Context, c *client.Client) map[string]answer {
	principals := []authz.Principal{authz.ServicePrincipal("s")}
	for _, u := range seqUsers {
		principals = append(principals, authz.UserPrincipal(u))
	}
	answers := map[string]answer{}
	for _, p := range principals {
		for _, key := range []string{"docs.files.read", "docs.files.delete", "docs.admin.read"} {
			at, err := c.GrantedScopes(ctx, p, key)
			must(q.t, err)
			answers[p.Subject()+" "+key] = answer{At: at}
			for _, scope := range seqScopes {
				allowed, err := c.Can(ctx, p, key, scope)
				a := answer{Allowed: allowed}
				if err != nil {
					a.Refused = err.Error()
				}
				answers[p.Subject()+" "+key+" "+scope] = a
			}
		}
	}
	return answers
}

// step performs one operation and judges what it left.
func (q *sequence) step(op string) {
	ctx := q.t.Context()
	before := everything(q.t, q.store)
	told := len(q.heard)
	if err := sequenceWrites[op](ctx, q); err != nil {
		if authz.CodeOf(err) == "" {
			q.Fatalf("%s: %v", op, err)
		}
		if diff := cmp.Diff(before, everything(q.t, q.store), unexported); diff != "" || len(q.heard) > told {
			q.Fatalf("%s was refused (%v), told %v and left:\n%s", op, err, q.heard[told:], diff)
		}
		return
	}
	for _, e := range rows(q.t, q.store.ListAudit(ctx, storage.AuditFilter{}))[len(before["audit"].([]authz.AuditEntry)):] {
		q.log.apply(q.T, e)
	}
	switch op {
	case "importDirectory":
		q.log.resync(q.t, q.store)
	case "applyOrgSnapshot":
		q.log.resyncOrg(q.t, q.store)
	}
	if diff := cmp.Diff(q.usage, grantUsage(q.t, q.app, provider.UsageQuery{})); diff != "" {
		q.Fatalf("%s: other usage is stored than was reported (-reported +stored):\n%s", op, diff)
	}
	if diff := cmp.Diff(q.log.shown(), q.log.stored(q.t, q.store)); diff != "" {
		q.Fatalf("%s: the log replays to other rows than are stored (-log +stored):\n%s", op, diff)
	}
	fresh, err := client.New(client.Options{Provider: q.oracle, Catalog: q.oracle.Catalog(), Clock: q.now.Load})
	must(q.t, err)
	defer fresh.Close()
	if diff := cmp.Diff(q.ask(ctx, fresh), q.ask(ctx, q.cached)); diff != "" {
		q.Fatalf("%s told %v, and caches answer otherwise than fresh rows (-fresh +cached):\n%s", op, q.heard[told:], diff)
	}
}

// After any sequence of operations: the audit log replays to the rows, so that
// every row has its entry; what was told is what the event log holds; and whoever
// heard it answers as one who reads afresh.
func TestAnySequenceOfOperationsIsLoggedAndTold(t *testing.T) {
	rehearsed(t, sequenceWrites)
	all := slices.Sorted(maps.Keys(sequenceWrites))
	succeeded := map[string]int{}
	never := func() []string {
		return slices.DeleteFunc(slices.Clone(all), func(op string) bool { return succeeded[op] > 0 })
	}
	drawn(t, all, succeeded)
	if missed := never(); len(missed) > 0 { // few of a thousand steps are of one operation
		drawn(t, missed, succeeded)
	}
	for _, op := range never() {
		t.Errorf("%s never succeeded", op)
	}
}

// drawn judges sequences of the given operations, and counts those that did something.
func drawn(t *testing.T, ops []string, succeeded map[string]int) {
	t.Helper()
	rapid.Check(t, func(draw *rapid.T) {
		q := newSequence(t, draw)
		defer q.cached.Close()
		q.settle(t.Context())
		q.ask(t.Context(), q.cached) // a cold cache would hide what was not told
		for range rapid.IntRange(1, 20).Draw(draw, "steps") {
			op := rapid.SampledFrom(ops).Draw(draw, "op")
			entries := q.log.entries
			q.step(op)
			if q.log.entries > entries || op == "notifyScopeMoved" || op == "reportMetrics" {
				succeeded[op]++
			}
			q.now.Add(rapid.SampledFrom([]int64{0, 1, 700, 4000}).Draw(draw, "later"))
		}
		page, err := q.store.EventsSince(t.Context(), authz.Position{}, 1<<20)
		must(t, err)
		if diff := cmp.Diff(q.heard, page.Events); len(q.heard)+len(page.Events) > 0 && diff != "" {
			draw.Fatalf("what was told is not what the log holds (-told +log):\n%s", diff)
		}
		if report, err := q.oracle.VerifyAuditChain(t.Context(), ""); err != nil || !report.OK {
			draw.Fatalf("the chain: %+v, %v", report, err)
		}
	})
}
