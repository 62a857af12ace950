package mesh_test

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

var companions = []authz.MeshMember{member("docs", "docs"), member("billing", "billing", "invoicing"), member("hq", "hq")}

// promotes moves organizations by a process of the partition that receives them.
func (w *world) promotes(in mesh.Promote) {
	w.Helper()
	c := w.connect(in.To)
	in.DryRun = true
	if _, err := c.PromoteOrgPartition(w.Context(), in, admin); err != nil {
		in.Resolutions, in.Fingerprint = accepting(w.T, err)
	}
	in.DryRun = false
	if _, err := c.PromoteOrgPartition(w.Context(), in, admin); err != nil {
		w.Fatal(err)
	}
}

// roots are the members that may write an organization.
func (w *world) roots() map[string]bool {
	w.Helper()
	roots := map[string]bool{}
	for _, m := range companions {
		held, err := application.ReadAuthority(w.Context(), w.store(m.Partition))
		if err != nil {
			w.Fatal(err)
		}
		if held == nil || held.OrgRoot {
			roots[m.Partition] = true
		}
	}
	return roots
}

// A process stands still at some call while others change the registry, and goes on
// without having heard of it.
func TestWhoeverStoodStillReleasesNobody(t *testing.T) {
	put := func(org string) func(*mesh.Connection, *world) error {
		return func(c *mesh.Connection, w *world) error {
			_, err := c.PutRegistry(w.Context(), mesh.Put{Members: companions, Org: &org, Expect: ptr(int64(1))}, admin)
			return err
		}
	}
	promote := func(c *mesh.Connection, w *world) error {
		in := mesh.Promote{To: "hq", From: []string{"docs"}, Expect: ptr(int64(1))}
		_, err := w.connect("hq").PromoteOrgPartition(w.Context(), mesh.Promote{To: "hq", From: in.From, DryRun: true}, admin)
		in.Resolutions, in.Fingerprint = accepting(w.T, err)
		_, err = c.PromoteOrgPartition(w.Context(), in, admin)
		return err
	}
	for name, of := range map[string]struct {
		late      func(*mesh.Connection, *world) error
		meanwhile func(*world)
	}{
		"another designation": {put("hq"), func(w *world) {
			var invalid *authz.MeshError // of a partition that was released in time
			if err := put("billing")(w.connect("billing"), w); err != nil && (!errors.As(err, &invalid) || invalid.Code != authz.MeshRegistryInvalid) {
				w.Fatal(err)
			}
		}},
		"no designation": {put("hq"), func(w *world) {
			w.put(w.connect("docs"), mesh.Put{Members: companions, Edges: []authz.MeshEdge{edge("docs", "billing", authz.MeshRead)}})
		}},
		"a promotion": {put("hq"), func(w *world) { w.promotes(mesh.Promote{To: "docs"}) }},
		"a promotion that others finish, and one on": {promote, func(w *world) {
			w.promotes(mesh.Promote{To: "hq", From: []string{"docs"}})
			w.promotes(mesh.Promote{To: "billing"})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // much of it waits for leases
			for at := 1; ; at++ {
				if !cameLate(t, at, of.late, of.meanwhile) {
					if at < 6 {
						t.Errorf("only %d calls", at-1)
					}
					return
				}
			}
		})
	}
}

// cameLate runs one call that stands still; it answers whether there was such a call.
func cameLate(t *testing.T, at int, late func(*mesh.Connection, *world) error, meanwhile func(*world)) bool {
	backend := memory.NewBackend(memory.Options{Lease: 60 * time.Millisecond})
	w := &world{T: t, driver: backend.Driver(), info: storage.DriverInfo{Name: "memory", CrossProcess: true}}
	t.Cleanup(func() { _ = w.driver.Close() })
	staffed(w)
	f := newFuse(at, stops)
	c, err := mesh.Connect(mesh.Options{Partition: "hq", Driver: w.info, Open: f.opening(backend.Driver())})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	first := make(chan error, 1)
	go func() { first <- late(c, w) }()
	select {
	case err := <-first:
		if err != nil {
			t.Fatal(err)
		}
		return false
	case <-f.stood:
	}
	meanwhile(w)
	before := w.roots()
	close(f.goOn)
	if err := <-first; err == nil {
		t.Errorf("at call %d: it went on to the end", at)
	}
	if after := w.roots(); !maps.Equal(before, after) {
		t.Errorf("at call %d: %v were org roots, then %v", at, before, after)
	}
	r, err := w.connect("docs").Registry(t.Context())
	if err != nil || r.Org != nil && !maps.Equal(w.roots(), map[string]bool{r.Org.Partition: true}) {
		t.Errorf("at call %d: %+v designates, and %v are org roots: %v", at, r, w.roots(), err)
	}
	return true
}
