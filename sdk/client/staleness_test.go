package client_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/internal/compiled"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
	"pgregory.net/rapid"
)

var (
	staleUsers      = []string{"u1", "u2", "u3"}
	staleGroups     = []string{"g1", "g2"}
	staleRoles      = []string{"r1", "r2"}
	staleSubjects   = []string{"user:u1", "user:u2", "user:u3", "group:g1", "group:g2", "service:s1", "everyone", "directs:u1", "orgof:u1"}
	stalePatterns   = []string{"docs.files.read", "docs.files.*", "*"}
	staleScopes     = []string{"*", "docs.folder:1", "docs.folder:2", "docs.doc:1", "docs.doc:2"}
	stalePrincipals = []authz.Principal{authz.UserPrincipal("u1"), authz.UserPrincipal("u2"), authz.UserPrincipal("u3"), authz.ServicePrincipal("s1")}
)

const staleCatalog = `{"namespaces":["docs"],"includeAuthzInternal":false,
	"scopeTypes":{"docs.folder":{"parent":"docs.folder"},"docs.doc":{"parent":"docs.folder"}},
	"permissions":{"docs.files.read":{"scopes":["docs.folder","docs.doc"]},"docs.files.delete":{"scopes":["docs.doc"]}}}`

// moment is what every table held after a step.
type moment struct {
	reading int64 // of the clock
	failing bool  // the log could not be read
	rows    map[authz.Principal]authz.SubjectAccess
	chains  map[string]*compiled.Chain
}

// process is one application over the common tables with a client of its own.
type process struct {
	*counted
	client *client.Client

	heard []authz.Event // of its last write

	// The moments before which this process may not answer: its own last write
	// that changed the rows, or the chain.
	rowsSince   map[authz.Principal]int
	chainsSince map[string]int
}

// named reports whether the last write's events name the principal, whatever this
// process believes its groups and roles to be.
func (p *process) named(who authz.Principal) bool {
	return slices.ContainsFunc(p.heard, func(e authz.Event) bool {
		return e.Type == authz.EventCatalog || e.Type == authz.EventUser && e.UserID == who.UserID ||
			e.Type == authz.EventSubject && (e.Subject == who.Subject() || e.Subject == authz.Everyone)
	})
}

// staleWorld is two processes over one store, and everything that ever was.
type staleWorld struct {
	*rapid.T
	now        atomic.Int64
	mu         sync.Mutex
	parents    map[string][]string
	store      storage.Store
	truth      *application.Application // reads the tables, caches nothing
	vocabulary *compiled.Vocabulary
	document   []byte
	processes  [2]*process
	moments    []moment

	revalidating          bool
	window, subject, objs int64 // the bounds: W, S, O
	steppedBack, tiered   bool
	failing               bool

	// The log was unreadable before anybody had read it. No position vouches for what
	// was cached until the first contact, which is kept for its TTL.
	late         bool
	contacted    int64 // 0: not yet
	stale, asked *atomic.Int64
}

func (w *staleWorld) ancestors(_ context.Context, scope string) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return compiled.NewChain(scope, slices.Concat(w.parents[scope], w.above(w.parents[scope]))).Scopes()[1:], nil
}

func (w *staleWorld) above(scopes []string) (all []string) {
	for _, s := range scopes {
		all = append(all, w.parents[s]...)
	}
	return all
}

func newStaleWorld(t *rapid.T, cleanup func(func())) *staleWorld {
	ctx := context.Background()
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	w := &staleWorld{T: t, parents: map[string][]string{"docs.doc:1": {"docs.folder:1"}, "docs.folder:1": {"docs.folder:2"}}}
	w.now.Store(start)
	in, err := catalog.ParseJSON([]byte(staleCatalog))
	check(err)
	cat, err := catalog.Build(in)
	check(err)
	w.document, err = cat.Document()
	check(err)
	w.vocabulary = compiled.NewVocabulary(cat)
	driver := memory.New(memory.Options{Clock: w.now.Load})
	cleanup(func() { _ = driver.Close() })
	w.store, err = driver.Open(ctx, "")
	check(err)

	persist := rapid.IntRange(0, 3).Draw(t, "without a log") > 0
	open := func(topology time.Duration) *application.Application {
		app, err := application.New(ctx, application.Options{Catalog: cat, Store: w.store, PersistEvents: &persist, Clock: w.now.Load,
			GroupTopologyTTL: topology, Ancestry: application.AncestryFunc(w.ancestors)})
		check(err)
		cleanup(func() { _ = app.Close() })
		return app
	}
	w.truth = open(-1)
	topology := time.Duration(0)
	if !persist {
		topology = -1 // the map of groups has a bound of its own then
	}
	seconds := func(label string, of ...int) time.Duration {
		return time.Duration(rapid.SampledFrom(of).Draw(t, label)) * time.Second
	}
	subject, object, window := seconds("subject TTL", 30, 7, 0), seconds("object TTL", 60, 9, 0), seconds("window", 5, 0, 12, -1)
	w.subject, w.objs, w.window = subject.Milliseconds(), object.Milliseconds(), window.Milliseconds()
	w.revalidating = persist && window >= 0
	bound := rapid.SampledFrom([]int{10000, 10000, 2, 0}).Draw(t, "entries")
	var store client.CacheStore
	switch rapid.SampledFrom([]string{"none", "good", "bad"}).Draw(t, "store") {
	case "good":
		store = newMapStore()
	case "bad":
		store = &hostileStore{entries: map[string][]string{}}
	}
	w.tiered = store != nil
	for i := range w.processes {
		p := &process{counted: &counted{Application: open(topology)}, rowsSince: map[authz.Principal]int{}, chainsSince: map[string]int{}}
		p.client, err = client.New(client.Options{Provider: p, Catalog: cat, Clock: w.now.Load, SubjectCacheTTL: &subject, ObjectCacheTTL: &object,
			MaxSubjectCacheEntries: &bound, MaxObjectCacheEntries: &bound, RevalidateAfter: &window, CacheStore: store})
		check(err)
		cleanup(p.client.Close)
		cleanup(p.OnInvalidate(func(e authz.Event) { p.heard = append(p.heard, e) }))
		w.processes[i] = p
	}
	w.seed(check)
	w.record(nil)
	return w
}

// seed has everybody allowed by another kind of row, so that single writes change
// answers.
func (w *staleWorld) seed(check func(error)) {
	ctx, by := context.Background(), authz.AdminProvenance("root")
	for _, id := range staleGroups {
		_, err := w.truth.CreateGroup(ctx, provider.GroupInput{ID: &id, Name: id}, by)
		check(err)
	}
	_, err := w.truth.CreateRole(ctx, provider.RoleInput{ID: &staleRoles[0], Name: "r1", Patterns: []string{"docs.files.*"}}, by)
	check(err)
	check(w.truth.SetGroupMembership(ctx, "u3", []string{"g1"}, by))
	for _, in := range []provider.GrantInput{
		{Subject: "user:u1", Pattern: "docs.files.read", Scope: "docs.folder:1"},
		{Subject: "user:u2", RoleID: "r1", Scope: "docs.folder:2"},
		{Subject: "group:g1", RoleID: "r1", Scope: "docs.folder:1"},
		{Subject: "service:s1", Pattern: "docs.files.*"},
	} {
		_, err := w.truth.CreateGrant(ctx, in, by)
		check(err)
	}
}

// record notes what the tables hold after a step of a process, and from when on
// that process must know it.
func (w *staleWorld) record(by *process) {
	ctx := context.Background()
	m := moment{reading: w.now.Load(), failing: w.failing, rows: map[authz.Principal]authz.SubjectAccess{}, chains: map[string]*compiled.Chain{}}
	for _, p := range stalePrincipals {
		rows, err := w.truth.GetSubjectAccess(ctx, p)
		if err != nil {
			w.Fatal(err)
		}
		m.rows[p] = rows
	}
	for _, scope := range staleScopes {
		ancestors, err := w.ancestors(ctx, scope)
		if err != nil {
			w.Fatal(err)
		}
		m.chains[scope] = compiled.NewChain(scope, ancestors)
	}
	if by != nil {
		// What a write changes can depend on one of another process that this
		// process need not know of yet: a grant to a group, on who is in it.
		last := w.moments[len(w.moments)-1]
		subjectBound, objectBound := w.bounds()
		for p, rows := range m.rows {
			since := by.rowsSince[p]
			current := func(i int) bool {
				return !w.within(i, subjectBound, since) || reflect.DeepEqual(w.moments[i].rows[p], last.rows[p])
			}
			if !reflect.DeepEqual(rows, last.rows[p]) && (by.named(p) || w.every(current)) {
				by.rowsSince[p] = len(w.moments)
			}
		}
		for scope, chain := range m.chains {
			since := by.chainsSince[scope]
			current := func(i int) bool {
				return !w.within(i, objectBound, since) || slices.Equal(w.moments[i].chains[scope].Scopes(), last.chains[scope].Scopes())
			}
			moved := slices.Contains(by.heard, authz.ScopeEvent(scope))
			if !slices.Equal(chain.Scopes(), last.chains[scope].Scopes()) && (moved || w.every(current)) {
				by.chainsSince[scope] = len(w.moments)
			}
		}
	}
	w.moments = append(w.moments, m)
}

// bounds are those stated (spec: caching §14) for this configuration, at this
// moment.
func (w *staleWorld) bounds() (subject, object int64) {
	if !w.revalidating {
		return w.subject, w.objs
	}
	now := w.now.Load()
	if since := now - w.contacted; w.late && (w.contacted == 0 || max(since, -since) <= max(w.subject, w.objs)+max(w.window, 0)) {
		return max(w.window, w.subject), max(w.window, w.objs)
	}
	for _, m := range w.moments {
		if m.failing && now-m.reading <= w.window && m.reading-now <= w.window {
			return max(w.window, w.subject), max(w.window, w.objs)
		}
	}
	return w.window, w.window
}

// within reports whether state of a moment may be served now, by a process that
// wrote at moment since.
func (w *staleWorld) within(i int, bound int64, since int) bool {
	// A clock that stepped back makes what another process shared look younger
	// than it is; on TTL alone nothing else tells its age.
	deceived := w.tiered && !w.revalidating && w.steppedBack
	age := w.now.Load() - w.moments[i].reading
	return age >= 0 && age <= bound && (i >= since || deceived)
}

func (w *staleWorld) every(holds func(moment int) bool) bool {
	for i := range w.moments {
		if !holds(i) {
			return false
		}
	}
	return true
}

func (w *staleWorld) decide(rows authz.SubjectAccess, chain *compiled.Chain, key string) bool {
	a := compiled.Compile(w.vocabulary, &rows, w.now.Load())
	k, _ := w.vocabulary.Lookup(key)
	allowed, _ := a.Decide(k, chain)
	return allowed && a.Active()
}

// ask asks one process in one way. Its answer must be what a fresh evaluation
// answers, or what one over state within the bounds does; in the process that
// wrote last, over state since its write.
func (w *staleWorld) ask(n int, p authz.Principal, key, scope, shape string) {
	ctx, by := context.Background(), w.processes[n]
	var got bool
	var err error
	switch shape {
	case "can":
		got, err = by.client.Can(ctx, p, key, scope)
	case "fresh":
		got, err = by.client.CanFresh(ctx, p, key, scope)
	case "snapshot":
		var s *client.Snapshot
		if s, err = by.client.Snapshot(ctx, p, client.SnapshotOptions{Scopes: []string{scope}}); err == nil {
			got, err = s.Can(key, scope)
		}
	}
	if err != nil {
		if by.subjectFail.Load() && errors.Is(err, errSwitchedOff) {
			return
		}
		w.Fatalf("process %d, %s %v %s at %s: %v", n, shape, p, key, scope, err)
	}
	w.asked.Add(1)
	last := w.moments[len(w.moments)-1]
	if got == w.decide(last.rows[p], last.chains[scope], key) {
		return
	}
	w.stale.Add(1)
	subjectBound, objectBound := w.bounds()
	if shape == "fresh" {
		subjectBound, objectBound = -1, -1
	}
	for i := range w.moments {
		if !w.within(i, subjectBound, by.rowsSince[p]) {
			continue
		}
		for j := range w.moments {
			if w.within(j, objectBound, by.chainsSince[scope]) && got == w.decide(w.moments[i].rows[p], w.moments[j].chains[scope], key) {
				return
			}
		}
	}
	w.Fatalf("process %d, %s %v %s at %s: answered %v; no state within the bounds %d ms, %d ms does", n, shape, p, key, scope, got, subjectBound, objectBound)
}

func TestCachedEqualsUncachedWithinTheStatedBounds(t *testing.T) {
	var stale, asked atomic.Int64
	rapid.Check(t, func(r *rapid.T) {
		var ends []func()
		defer func() {
			for _, end := range slices.Backward(ends) {
				end()
			}
		}()
		w := newStaleWorld(r, func(end func()) { ends = append(ends, end) })
		w.stale, w.asked = &stale, &asked
		for range rapid.IntRange(5, 40).Draw(r, "steps") {
			w.step()
		}
	})
	t.Logf("%d of %d answers were older than the tables, all within the bounds", stale.Load(), asked.Load())
	if stale.Load() == 0 {
		t.Error("no answer ever came from a cache: this proves nothing")
	}
}
