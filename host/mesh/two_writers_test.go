package mesh_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/plugins/sqlite/sqlite"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// shared is a partition into which its owner and a neighbour write, each by a driver of
// its own.
type shared struct {
	*world
	process func() storage.Driver
	catalog *catalog.Catalog

	writes atomic.Int64
	mu     sync.Mutex
	acked  map[string]bool // subjects of grants
	fates  map[string]int
}

// owner is the application of the partition, in a process that ends with the fuse.
func (s *shared) owner(f *fuse) (provider.Provider, func()) {
	d := s.process()
	store, err := f.opening(d)(s.Context(), "docs")
	if err != nil {
		s.Fatal(err)
	}
	app, err := application.New(s.Context(), application.Options{Name: "docs", Catalog: s.catalog, Store: store, HashChain: true})
	if err != nil {
		s.Fatal(err)
	}
	return app, func() { _, _ = app.Close(), d.Close() }
}

// neighbour is a peer of the partition, likewise.
func (s *shared) neighbour(f *fuse) (provider.Provider, func()) {
	d := s.process()
	c, err := mesh.Connect(mesh.Options{Partition: "hq", Driver: s.info, Open: f.opening(d)})
	if err != nil {
		s.Fatal(err)
	}
	return s.open(c, "docs", mesh.PeerOptions{Mode: authz.MeshWrite}), func() { _, _ = c.Close(), d.Close() }
}

const groupsShared = 6

// write makes changes until its process ends; each is a grant of its own or an edge
// between two groups, of which those of both writers together would make cycles.
func (s *shared) write(p provider.Provider, random *rand.Rand, n int) {
	for range n {
		if random.IntN(2) == 0 {
			subject := fmt.Sprint("service:w", s.writes.Add(1))
			_, err := p.CreateGrant(context.Background(), provider.GrantInput{Subject: subject, Pattern: "docs.files.read", Scope: "*"}, admin)
			s.note(subject, err)
		} else {
			from, to := random.IntN(groupsShared), random.IntN(groupsShared)
			_, err := p.SetGroupParents(context.Background(), fmt.Sprint("g", from), []string{fmt.Sprint("g", to)}, admin)
			s.note("", err)
		}
	}
}

func (s *shared) note(subject string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var down *authz.UnavailableError
	switch {
	case err == nil && subject != "":
		s.acked[subject] = true
		s.fates["grant"]++
	case err == nil:
		s.fates["edge"]++
	case authz.CodeOf(err) == authz.CodeGraphCycle:
		s.fates["cycle"]++
	case errors.As(err, &down):
		s.fates["unavailable"]++
	default:
		s.Errorf("%q: %v", subject, err)
	}
}

// round has both write, and ends one of them at some call.
func (s *shared) round(random *rand.Rand, victimOwns bool, how ending) {
	victim, other := newFuse(1<<30, how), newFuse(0, untouched)
	open := func(f *fuse, owns bool) (provider.Provider, func()) {
		if owns {
			return s.owner(f)
		}
		return s.neighbour(f)
	}
	a, closeA := open(victim, victimOwns)
	defer func() { closeA() }()
	b, closeB := open(other, !victimOwns)
	defer closeB()
	victim.mu.Lock()
	victim.at = victim.calls + 1 + random.IntN(20)
	victim.mu.Unlock()

	seedA, seedB := random.Uint64(), random.Uint64()
	var writers sync.WaitGroup
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		s.write(a, rand.New(rand.NewPCG(seedA, 0)), 12)
	}()
	writers.Go(func() { s.write(b, rand.New(rand.NewPCG(seedB, 1)), 12) })
	select {
	case <-victim.stood:
		writers.Wait()
		s.write(b, rand.New(rand.NewPCG(seedB, 2)), 3) // by now it has every section that it wants
		for range 2 {
			if _, err := b.CreateGrant(s.Context(), provider.GrantInput{Subject: "service:late", Pattern: "docs.files.read", Scope: "*"}, admin); err != nil {
				s.Fatal(err)
			}
		}
		close(victim.goOn)
	case <-gone:
		closeA() // its handles go with the process
		closeA = func() {}
	}
	<-gone
	writers.Wait()
	if how == stops && victim.burnt() {
		victim.mu.Lock()
		defer victim.mu.Unlock()
		if victim.stoodIn != "" && storage.CodeOf(victim.late) != storage.CodeStaleFence {
			s.Errorf("a commit that came late was answered %v", victim.late)
		}
		s.fates["late "+victim.stoodIn]++
	}
}

// judge looks at what both left.
func (s *shared) judge() {
	d := s.process()
	defer d.Close()
	store, err := d.Open(s.Context(), "docs")
	if err != nil {
		s.Fatal(err)
	}
	report, err := authz.VerifyHashChain(store.ListAudit(s.Context(), storage.AuditFilter{}), "")
	if err != nil || !report.OK {
		s.Errorf("the chain of the log: %+v %v", report, err)
	}
	audited := map[string]bool{}
	for e, err := range store.ListAudit(s.Context(), storage.AuditFilter{}) {
		if err != nil {
			s.Fatal(err)
		}
		audited[e.Target] = true
	}
	parents := map[string][]string{}
	for g, err := range store.ListGroups(s.Context(), storage.Page{}) {
		if err != nil {
			s.Fatal(err)
		}
		parents[g.ID] = g.Parents
	}
	for id := range parents {
		seen := map[string]bool{}
		for above := parents[id]; len(above) > 0; above = above[1:] {
			if above[0] == id {
				s.Fatalf("group %s lies in itself: %v", id, parents)
			}
			if !seen[above[0]] {
				seen[above[0]] = true
				above = append(above, parents[above[0]]...)
			}
		}
	}
	head, err := store.Head(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	told := map[string]bool{}
	at, events := authz.Position{}, int64(0)
	for at.Seq < head.Seq {
		page, err := store.EventsSince(s.Context(), at, 500)
		if err != nil || len(page.Events) == 0 || page.UpTo.Seq != at.Seq+int64(len(page.Events)) {
			s.Fatalf("%d events to %v after %v, the head is %v: %v", len(page.Events), page.UpTo, at, head, err)
		}
		for _, e := range page.Events {
			told[e.Subject] = true
		}
		at, events = page.UpTo, events+int64(len(page.Events))
	}
	if events != head.Seq {
		s.Errorf("%d events, the head is %v", events, head)
	}
	stored := map[string]string{}
	for g, err := range store.ListGrants(s.Context(), storage.GrantFilter{}, storage.Page{}) {
		if err != nil {
			s.Fatal(err)
		}
		stored[g.Subject] = g.ID
		if !told[g.Subject] || !audited[g.ID] {
			s.Errorf("the grant of %s: told %v, audited %v", g.Subject, told[g.Subject], audited[g.ID])
		}
	}
	for subject := range s.acked {
		if stored[subject] == "" {
			s.Errorf("the grant of %s was acknowledged and is lost", subject)
		}
	}
	s.Logf("%d events, %d entries, fates %v", head.Seq, report.Hashed, s.fates)
	for _, fate := range []string{"grant", "edge", "cycle", "unavailable"} {
		if s.fates[fate] == 0 {
			s.Errorf("nothing ended as %s", fate)
		}
	}
}

func TestTwoWritersOfAPartitionOfWhomOneIsBrokenOff(t *testing.T) {
	for name, of := range map[string]struct {
		rounds  int
		process func(t *testing.T) func() storage.Driver
	}{
		"memory": {30, func(*testing.T) func() storage.Driver {
			return memory.NewBackend(memory.Options{Lease: 60 * time.Millisecond}).Driver
		}},
		"sqlite": {9, func(t *testing.T) func() storage.Driver {
			path := filepath.Join(t.TempDir(), "authz.db")
			return func() storage.Driver {
				d, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Lease: 300 * time.Millisecond})
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			process := of.process(t)
			w := &world{T: t, driver: process(), info: storage.DriverInfo{Name: name, CrossProcess: true}}
			t.Cleanup(func() { _ = w.driver.Close() })
			s := &shared{world: w, process: process, catalog: w.declare(docsCatalog), acked: map[string]bool{}, fates: map[string]int{}}
			docs := w.application("docs", s.catalog)
			for i := range groupsShared {
				if _, err := docs.CreateGroup(t.Context(), provider.GroupInput{ID: ptr(fmt.Sprint("g", i)), Name: "g"}, admin); err != nil {
					t.Fatal(err)
				}
			}
			w.put(w.connect("hq"), three())
			if err := w.connect("docs").PublishSettings(t.Context(), mesh.Settings{HashChain: true}); err != nil {
				t.Fatal(err)
			}
			random := rand.New(rand.NewPCG(22, 8))
			for round := range of.rounds {
				s.round(random, round%2 == 0, []ending{diesBefore, diesAfter, stops}[round%3])
			}
			s.judge()
		})
	}
}
