package eventlog_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/mesh/eventlog"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
	"pgregory.net/rapid"
)

const key = "docs.files.read"

// node is one process of the application `docs`, into whose closures the global rows of
// `billing` are merged. It counts what its client costs.
type node struct {
	*application.Application
	peer    *application.Application // the process of `billing`
	log     *eventlog.Log
	client  *client.Client
	fetches atomic.Int64
}

func (n *node) EventLog() provider.EventLog { return n.log }

func (n *node) Location() provider.Location {
	at := n.Application.Location()
	at.Composite = true
	return at
}

// GetSubjectAccess merges what the peer grants and takes away by patterns.
func (n *node) GetSubjectAccess(ctx context.Context, p authz.Principal) (authz.SubjectAccess, error) {
	n.fetches.Add(1)
	own, err := n.Application.GetSubjectAccess(ctx, p)
	if err != nil {
		return own, err
	}
	merged, err := n.peer.GetSubjectAccess(ctx, p)
	for _, g := range merged.Grants {
		if g.Pattern != "" {
			g.ID, g.Subject = "mesh:billing:"+g.ID, p.Subject()
			own.Grants = append(own.Grants, g)
		}
	}
	for _, r := range merged.Revokes {
		r.ID = "mesh:billing:" + r.ID
		own.Revokes = append(own.Revokes, r)
	}
	return own, err
}

// mesh is two processes over one backend, with clients over one shared tier, and a third
// that only reads.
type mesh struct {
	now   atomic.Int64
	tier  *tier
	nodes [2]*node
	truth *node
}

const window = int64(5000)

func newMesh(fatal func(...any), cleanup func(func())) *mesh {
	check := func(err error) {
		if err != nil {
			fatal(err)
		}
	}
	ctx := context.Background()
	in, err := catalog.ParseJSON([]byte(`{"namespaces":["docs"],"permissions":{"docs.files.read":true}}`))
	check(err)
	cat, err := catalog.Build(in)
	check(err)
	m := &mesh{tier: &tier{entries: map[string]string{}}}
	m.now.Store(1_700_000_000_000)
	driver := memory.New(memory.Options{Clock: m.now.Load})
	cleanup(func() { _ = driver.Close() })
	stores := map[string]storage.Store{}
	for _, partition := range []string{"docs", "billing"} {
		stores[partition], err = driver.Open(ctx, partition)
		check(err)
	}
	open := func(partition string) *application.Application {
		app, err := application.New(ctx, application.Options{Catalog: cat, Store: stores[partition], Clock: m.now.Load})
		check(err)
		cleanup(func() { _ = app.Close() })
		return app
	}
	m.truth = new(node)
	for i := range m.nodes {
		m.nodes[i] = new(node)
	}
	for _, n := range append(m.nodes[:], m.truth) {
		n.Application, n.peer = open("docs"), open("billing")
		n.log = eventlog.Compose(eventlog.Fixed(
			eventlog.Part{Kind: eventlog.Own, Partition: "docs", Log: n.Application.EventLog()},
			eventlog.Part{Kind: eventlog.Owner, Partition: "billing", Log: n.peer.EventLog()}))
		// However starved the machine is, a check waits for the look that it began.
		o := client.Options{Provider: n, Catalog: cat, Clock: m.now.Load, RevalidateTimeout: new(time.Minute)}
		if n != m.truth {
			o.CacheStore = m.tier
		}
		n.client, err = client.New(o)
		check(err)
		cleanup(n.client.Close)
	}
	return m
}

// tier is a CacheStore in memory that forgets nothing by itself.
type tier struct {
	mu      sync.Mutex
	entries map[string]string
	sets    int
}

func (s *tier) Get(_ context.Context, key string) (string, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.entries[key]
	return v, ok, nil
}

func (s *tier) Set(_ context.Context, key, value string, _ time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries[key] = value
	s.sets++
	return nil
}

func (s *tier) Delete(context.Context, string) error { return nil }

// await waits for writes, which no check waits for.
func (s *tier) await(t *testing.T, sets int) {
	t.Helper()
	for range 5000 {
		s.mu.Lock()
		arrived := s.sets >= sets
		s.mu.Unlock()
		if arrived {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("nothing was shared")
}

func (n *node) can(t interface{ Fatal(...any) }, p authz.Principal) bool {
	ok, err := n.client.Can(context.Background(), p, key, "")
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func grant(t interface{ Fatal(...any) }, app *application.Application, subject string) string {
	g, err := app.CreateGrant(context.Background(), provider.GrantInput{Subject: subject, Pattern: key}, authz.AdminProvenance("root"))
	if err != nil {
		t.Fatal(err)
	}
	return g.ID
}

func TestEntriesAreSharedInAMeshUntilAnyLogMoves(t *testing.T) {
	m := newMesh(t.Fatal, t.Cleanup)
	first, second, jane := m.nodes[0], m.nodes[1], authz.UserPrincipal("jane")
	id := grant(t, first.peer, "user:jane")
	if !first.can(t, jane) || first.fetches.Load() != 1 {
		t.Fatal("not granted by the peer")
	}
	m.tier.await(t, 1)
	if !second.can(t, jane) || second.fetches.Load() != 0 {
		t.Fatalf("the second process fetched %d times what the first one shared", second.fetches.Load())
	}
	// A write in either log, and both at once, of which the sum says nothing.
	sets := 1
	for name, write := range map[string]func(){
		"own":  func() { grant(t, second.Application, "user:joe") },
		"peer": func() { grant(t, second.peer, "user:joe") },
		"both": func() { grant(t, second.peer, "user:joe"); grant(t, first.Application, "user:joe") },
	} {
		write()
		m.now.Add(30_001) // past the TTL of the entries in memory
		first.fetches.Store(0)
		second.fetches.Store(0)
		if !first.can(t, jane) || first.fetches.Load() != 1 {
			t.Errorf("%s: an entry from before the write was served, %d fetches", name, first.fetches.Load())
		}
		sets++
		m.tier.await(t, sets)
		if !second.can(t, jane) || second.fetches.Load() != 0 {
			t.Errorf("%s: the entry from after the write was not shared, %d fetches", name, second.fetches.Load())
		}
	}
	if err := second.peer.DeleteGrant(t.Context(), id, authz.AdminProvenance("root")); err != nil {
		t.Fatal(err)
	}
	m.now.Add(window + 1)
	for i, n := range m.nodes {
		if n.can(t, jane) {
			t.Errorf("process %d allows what the peer took away", i)
		}
	}
}

// hooked is a log whose head is read between two calls.
type hooked struct {
	provider.EventLog
	before, after func()
}

func (h hooked) Head(ctx context.Context) (provider.EventLogHead, error) {
	h.before()
	defer h.after()
	return h.EventLog.Head(ctx)
}

// Heads that are read one after the other can add up to the sum of another state.
func TestAnEntryOfAnEqualSumIsNotServed(t *testing.T) {
	m := newMesh(t.Fatal, t.Cleanup)
	first, second, jane := m.nodes[0], m.nodes[1], authz.UserPrincipal("jane")
	var shared provider.EventLogHead
	read := make(chan struct{})
	meanwhile := sync.OnceFunc(func() {
		grant(t, first.Application, "user:joe") // two events
		shared = head(t, first.log)
		if first.can(t, jane) {
			t.Error("granted by nobody")
		}
		m.tier.await(t, 1)
		grant(t, second.peer, "user:jane") // two as well
		close(read)
	})
	second.log = eventlog.Compose(eventlog.Fixed(
		eventlog.Part{Kind: eventlog.Own, Partition: "docs", Log: hooked{second.Application.EventLog(), func() {}, meanwhile}},
		eventlog.Part{Kind: eventlog.Owner, Partition: "billing", Log: hooked{second.peer.EventLog(), func() { <-read }, func() {}}}))
	if !second.can(t, jane) || second.fetches.Load() != 1 {
		t.Errorf("the entry that lacks the peer's grant was served, %d fetches", second.fetches.Load())
	}
	now := head(t, second.log)
	if now.Seq != shared.Seq+2 || now.Log != shared.Log {
		t.Errorf("the sums were not equal: %v, %v", shared, now)
	}
}

// X32: writes in the logs of both partitions, by both processes; no answer is older than
// the window, and some come from what the other process shared.
func TestNoSharedEntryOutlivesAChangeInAnyPart(t *testing.T) {
	var asked, stale, passedOn atomic.Int64
	subjects := []string{"user:u1", "user:u2", "group:g1", "everyone"}
	principals := []authz.Principal{authz.UserPrincipal("u1"), authz.UserPrincipal("u2"), authz.ServicePrincipal("s1")}
	by := authz.AdminProvenance("root")
	rapid.Check(t, func(r *rapid.T) {
		var ends []func()
		defer func() {
			for _, end := range slices.Backward(ends) {
				end()
			}
		}()
		m := newMesh(r.Fatal, func(end func()) { ends = append(ends, end) })
		for _, app := range []*application.Application{m.nodes[0].Application, m.nodes[0].peer} {
			if _, err := app.CreateGroup(context.Background(), provider.GroupInput{ID: new("g1"), Name: "g1"}, by); err != nil {
				r.Fatal(err)
			}
		}
		type moment struct {
			at      int64
			answers map[authz.Principal]bool
		}
		var moments []moment
		fetched := map[*node][]authz.Principal{}
		record := func() {
			a := moment{m.now.Load(), map[authz.Principal]bool{}}
			for _, p := range principals {
				ok, err := m.truth.client.CanFresh(context.Background(), p, key, "")
				if err != nil {
					r.Fatal(err)
				}
				a.answers[p] = ok
			}
			moments = append(moments, a)
		}
		record()
		for range rapid.IntRange(5, 30).Draw(r, "steps") {
			n := rapid.SampledFrom(m.nodes[:]).Draw(r, "node")
			app := rapid.SampledFrom([]*application.Application{n.Application, n.peer}).Draw(r, "partition")
			var err error
			switch rapid.SampledFrom([]string{"grant", "ungrant", "member", "revoke", "clock", "ask", "ask", "ask", "ask"}).Draw(r, "step") {
			case "grant":
				grant(r, app, rapid.SampledFrom(subjects).Draw(r, "subject"))
			case "ungrant":
				for g, listed := range app.ListGrants(context.Background(), provider.GrantQuery{}) {
					if err = listed; err == nil {
						err = app.DeleteGrant(context.Background(), g.ID, by)
					}
					break
				}
			case "member":
				err = app.SetGroupMembership(context.Background(), rapid.SampledFrom([]string{"u1", "u2"}).Draw(r, "user"),
					rapid.SampledFrom([][]string{{}, {"g1"}}).Draw(r, "groups"), by)
			case "revoke":
				_, err = app.CreateRevoke(context.Background(), provider.RevokeInput{UserID: "u1", Pattern: key}, by)
			case "clock":
				m.now.Add(int64(rapid.IntRange(1, 12_000).Draw(r, "ms")))
			case "ask":
				p := rapid.SampledFrom(principals).Draw(r, "principal")
				before := n.fetches.Load()
				got := n.can(r, p)
				asked.Add(1)
				if n.fetches.Load() > before {
					fetched[n] = append(fetched[n], p)
				} else if !slices.Contains(fetched[n], p) {
					passedOn.Add(1)
				}
				if got != moments[len(moments)-1].answers[p] {
					stale.Add(1)
				}
				// The state that was in force a window ago, and all since.
				since := len(moments) - 1
				for since > 0 && moments[since].at >= m.now.Load()-window {
					since--
				}
				if !slices.ContainsFunc(moments[since:], func(a moment) bool { return a.answers[p] == got }) {
					r.Fatalf("%v = %v is older than the window", p, got)
				}
				continue
			}
			if err != nil {
				r.Fatal(err)
			}
			record()
		}
	})
	t.Logf("%d answers, %d from what only the other process fetched, %d older than the tables, all within the window", asked.Load(), passedOn.Load(), stale.Load())
	if passedOn.Load() == 0 || stale.Load() == 0 {
		t.Error("no answer ever came from a cache: this proves nothing")
	}
}
