package mesh_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/host/mesh"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// move is one promotion that is ended at every step, with writers and checks at every
// partition meanwhile.
type move struct {
	*world
	backend  *memory.Backend
	members  map[string]*running
	to       string
	from     []string
	start    *application.Authority // of to
	in       mesh.Promote
	promoted map[string]int // audit entries of the kind before this move

	written int
	kept    map[string][]string // ids of acknowledged writes, by partition
	seen    []string            // who accepted, at each look
}

var ownKey = map[string]string{"docs": "docs.files.read", "billing": "billing.invoices.read", "hq": "hq.people.read"}

// newMove is a company whose process looks at the registry before every answer.
func newMove(t *testing.T, lease time.Duration) *move {
	backend := memory.NewBackend(memory.Options{Lease: lease})
	var now atomic.Int64
	now.Store(time.Now().UnixMilli())
	w := &world{T: t, driver: backend.Driver(), info: storage.DriverInfo{Name: "memory", CrossProcess: true},
		clock: func() int64 { return now.Add(10_000) }}
	t.Cleanup(func() { _ = w.driver.Close() })
	docs, billing, hq, c := staffed(w)
	m := &move{world: w, backend: backend, members: map[string]*running{"docs": docs, "billing": billing, "hq": hq}, kept: map[string][]string{}}
	_, err := c.PromoteOrgPartition(t.Context(), mesh.Promote{DryRun: true}, admin)
	m.in.Resolutions, m.in.Fingerprint = accepting(t, err)
	m.goal("hq", "billing", "docs")
	return m
}

// goal says what the next promotion moves.
func (m *move) goal(to string, from ...string) {
	m.to, m.from, m.in.To = to, from, to
	if m.start != nil {
		m.in.Resolutions, m.in.Fingerprint = nil, "" // an organization's own rows widen nothing
	}
	r, err := m.connect(to).Registry(m.Context())
	if err != nil {
		m.Fatal(err)
	}
	m.in.Expect = &r.Version
	if m.start, err = application.ReadAuthority(m.Context(), m.store(to)); err != nil {
		m.Fatal(err)
	}
	m.promoted = m.counts()
}

// counts of the audit actions of moves, by partition and action.
func (m *move) counts() map[string]int {
	counts := map[string]int{}
	for _, partition := range append([]string{mesh.Partition}, slices.Sorted(keysOf(m.members))...) {
		for _, e := range log(m, m.store(partition)) {
			if strings.HasPrefix(e.Action, "org.authority") || e.Action == "mesh.org_promoted" {
				counts[partition+" "+e.Action+" "+strings.Split(e.Target, ":")[0]]++
			}
		}
	}
	return counts
}

// process is another process's connection of the partition that calls.
func (m *move) process(f *fuse) *mesh.Connection {
	m.Helper()
	c, err := mesh.Connect(mesh.Options{Partition: m.to, Driver: m.info, Open: f.opening(m.backend.Driver()), Clock: m.clock})
	if err != nil {
		m.Fatal(err)
	}
	return c
}

// look writes at every partition and checks that at most one of those concerned has the
// organization, and that every check is answered as before.
func (m *move) look() (accepting []string) {
	m.Helper()
	m.written++
	for _, partition := range slices.Sorted(keysOf(m.members)) {
		app, in := m.members[partition], provider.GrantInput{Subject: fmt.Sprint("user:w", m.written), Pattern: ownKey[partition], Scope: "*"}
		row, err := app.CreateGrant(m.Context(), in, admin) // by the authority that it knows
		if err != nil {
			if _, err := app.StoredOrgRoot(m.Context()); err != nil {
				m.Fatal(err)
			}
			row, err = app.CreateGrant(m.Context(), in, admin)
		}
		switch code := authz.CodeOf(err); {
		case err == nil:
			accepting = append(accepting, partition)
			m.kept[partition] = append(m.kept[partition], row.ID)
		case code != authz.CodeConflict && code != authz.CodeNotOrgRoot:
			m.Fatalf("a write at %s: %v", partition, err)
		}
	}
	m.seen = append(m.seen, strings.Join(accepting, "+"))
	if m.received() && slices.ContainsFunc(accepting, func(p string) bool { return p != m.to }) {
		m.Fatalf("two writers: %v accept after %s has received the organization (%v)", accepting, m.to, m.seen)
	}
	if m.start != nil && !m.start.OrgRoot && len(accepting) > 1 {
		m.Fatalf("two writers of one organization: %v", accepting)
	}
	if !m.can(m.members["docs"], "jane", "docs.files.read") || !m.can(m.members["billing"], "jane", "billing.invoices.read") || !m.can(m.members["hq"], "boss", "authz_internal.access.manage_grants") {
		m.Fatal("what everybody held is denied")
	}
	return accepting
}

func (m *move) received() bool {
	held, err := application.ReadAuthority(m.Context(), m.store(m.to))
	if err != nil {
		m.Fatal(err)
	}
	return held != nil && held.OrgRoot && strings.HasPrefix(held.Source, "mesh:") && (m.start == nil || held.Source != m.start.Source)
}

// finish promotes by another process, whatever the one before left.
func (m *move) finish() {
	m.Helper()
	c := m.process(newFuse(0, untouched))
	defer c.Close()
	for {
		_, err := c.PromoteOrgPartition(m.Context(), m.in, admin)
		if err == nil {
			return
		}
		e := refused(m, err, authz.MeshRegistryConflict)
		if m.received() {
			return // it was finished: the version has changed
		}
		if *e.Current == *m.in.Expect {
			m.Fatal(err)
		}
		m.in.Expect = e.Current // it was taken back
	}
}

// undo takes the move back by another process; it answers whether there was one.
func (m *move) undo() {
	m.Helper()
	c := m.process(newFuse(0, untouched))
	defer c.Close()
	_, err := c.UndoPromotion(m.Context(), admin)
	switch {
	case authz.CodeOf(err) == authz.CodeConflict: // none is under way, or it has arrived
	case err != nil:
		m.Fatal(err)
	}
	if !m.received() {
		r, err := c.Registry(m.Context())
		if err != nil || r.Promoting != nil {
			m.Fatalf("%+v %v", r, err)
		}
		// Whoever began before this looked at another registry.
		after := m.put(c, mesh.Put{Members: r.Members, Edges: r.Edges})
		m.in.Expect = &after.Version
	}
}

// judge looks at what is there in the end.
func (m *move) judge() {
	m.Helper()
	r, err := m.connect(m.to).Registry(m.Context())
	if err != nil || r.Org == nil || r.Org.Partition != m.to || r.Promoting != nil {
		m.Fatalf("%+v %v", r, err)
	}
	if got := m.look(); len(got) != 1 || got[0] != m.to {
		m.Fatalf("%v accept", got)
	}
	there := map[string]bool{}
	for _, g := range grants(m, m.members[m.to]) {
		there[g.ID] = true
	}
	for partition, ids := range m.kept {
		audited := map[string]int{}
		for _, e := range log(m, m.store(partition)) {
			audited[e.Target]++
		}
		for _, id := range ids {
			if !there[id] {
				m.Fatalf("a grant that %s acknowledged is lost", partition)
			}
			if audited[id] != 1 {
				m.Fatalf("a grant of %s has %d audit entries", partition, audited[id])
			}
		}
	}
	want := map[string]int{}
	for what, n := range m.promoted {
		want[what] = n
	}
	want[mesh.Partition+" mesh.org_promoted "+m.to]++
	want[m.to+" org.authority_received mesh"]++
	for _, from := range m.from {
		want[from+" org.authority_released mesh"]++
	}
	if got := m.counts(); fmt.Sprint(got) != fmt.Sprint(want) {
		m.Fatalf("audited %v, want %v", got, want)
	}
	entries := m.store(mesh.Partition).ListAudit(m.Context(), storage.AuditFilter{})
	if report, err := authz.VerifyHashChain(entries, ""); err != nil || !report.OK {
		m.Fatalf("%+v %v", report, err)
	}
}

// moves are the promotions that are ended: prepare brings the world before it.
var moves = map[string]struct {
	prepare func(*move)
	refuse  bool // the first call lacks resolutions
	back    bool // only with AUTHZ_FULL
}{
	"two organizations into a third":       {prepare: func(*move) {}},
	"refused for what nobody resolved":     {prepare: func(*move) {}, refuse: true},
	"the designation to another partition": {prepare: func(m *move) { m.finish(); m.goal("docs", "hq") }},
	"the designation back to where it was": {prepare: func(m *move) { m.finish(); m.goal("docs", "hq"); m.finish(); m.goal("hq", "docs") }, back: true},
}

func TestAPromotionThatEndsAtAnyStep(t *testing.T) {
	full := os.Getenv("AUTHZ_FULL") != ""
	for name, of := range moves {
		for _, how := range []ending{diesBefore, diesAfter, failsBefore, failsAfter, stops} {
			for _, undone := range []bool{false, true} {
				// Death before a call leaves what death after the one before does.
				if !full && (of.back || how == diesBefore || how == failsBefore || how == failsAfter && !of.refuse) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/undone %v", name, how, undone), func(t *testing.T) {
					t.Parallel() // much of it waits for leases
					for at := 1; ; at++ {
						if !endedAt(t, of.prepare, of.refuse, how, undone, at) {
							if at < 10 {
								t.Errorf("only %d calls", at-1)
							}
							return
						}
					}
				})
			}
		}
	}
}

// endedAt runs one promotion that ends at a call; it answers whether there was one.
func endedAt(t *testing.T, prepare func(*move), refuse bool, how ending, undone bool, at int) bool {
	lease := time.Minute
	if how == stops {
		lease = 60 * time.Millisecond
	}
	m := newMove(t, lease)
	defer func() {
		if t.Failed() {
			t.Logf("%s at call %d, undone %v: accepted %v", how, at, undone, m.seen)
		}
	}()
	prepare(m)
	f := newFuse(at, how)
	f.each = func() { m.look() }
	c := m.process(f)
	in := m.in
	if refuse {
		in.Resolutions, in.Fingerprint = nil, ""
	}
	first := make(chan error, 1)
	go func() {
		_, err := c.PromoteOrgPartition(t.Context(), in, admin)
		first <- err
	}()
	var err error
	select {
	case err = <-first:
		if f.burnt() && err == nil {
			t.Fatal("it went on after an outage that it did not hear of")
		}
		_ = c.Close()
	case <-f.stood:
		f.each = func() {}
	}
	if !f.burnt() && !refuse && err != nil {
		t.Fatal(err)
	}
	m.look()
	if undone {
		m.undo()
		if before := m.start == nil || m.start.OrgRoot; !m.received() && before != (len(m.look()) == 3) {
			t.Fatalf("taken back, and %s accept", m.seen[len(m.seen)-1])
		}
	} else {
		m.finish()
	}
	if how == stops && f.burnt() {
		before := m.look()
		close(f.goOn)
		if err := <-first; err == nil {
			t.Fatal("a process that stood still has gone on to the end")
		}
		_ = c.Close()
		if after := m.look(); !slices.Equal(before, after) {
			t.Fatalf("a process that stood still changed who writes: %v, then %v", before, after)
		}
	}
	m.finish()
	m.judge()
	return f.burnt()
}
