package mongo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// shortTurn is the turn's lease where a test waits for it to run out.
const shortTurn = 300 * time.Millisecond

var layouts = []layout.Kind{layout.Collections, layout.Rows}

// eachLayout runs a test on a fresh database in either layout.
func eachLayout(t *testing.T, test func(t *testing.T, d *database)) {
	needServer(t)
	for _, kind := range layouts {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			d := freshDatabase(kind)
			t.Cleanup(func() { _ = d.Close() })
			test(t, d)
		})
	}
}

// open connects as a process of its own.
func (d *database) open(t *testing.T) *store { return d.openAs(t, nil) }

// openAs lets the test adjust the process before it does anything.
func (d *database) openAs(t *testing.T, tune func(*driver)) *store {
	t.Helper()
	made, err := d.connect()
	if err != nil {
		t.Fatal(err)
	}
	if tune != nil {
		tune(made)
	}
	t.Cleanup(func() { _ = made.Close() })
	s, err := made.Open(t.Context(), "app")
	if err != nil {
		t.Fatal(err)
	}
	return s.(*store)
}

func grant(id string) authz.Grant {
	return authz.Grant{ID: id, Subject: "user:u", Pattern: "docs.read", Scope: "*", Provenance: authz.AdminProvenance("a"), CreatedAt: 1}
}

// sample touches every kind of row, and what the base holds.
func sample(id string) storage.Commit {
	return storage.Commit{ID: id, At: 7,
		Changes: []storage.Change{
			storage.InsertGrant{Grant: grant("new-1")}, storage.InsertGrant{Grant: grant("new-2")}, storage.DeleteGrant{ID: "old-1", MustExist: true},
			storage.InsertRevoke{Revoke: authz.Revoke{ID: "rev-2", UserID: "u", Pattern: "docs.read", Scope: "*"}}, storage.DeleteRevoke{ID: "rev-1", MustExist: true},
			storage.UpsertRole{Role: authz.Role{ID: "role", Name: "new"}}, storage.UpsertUser{User: authz.User{UserID: "u", Active: true, GroupIDs: []string{"g"}}},
			storage.PutCatalog{Version: 2, Document: []byte(`{"v":2}`)},
		},
		Audit:  []authz.AuditEntry{{ID: "audit", At: 7, Actor: "a", Action: "x", Target: "y"}},
		Events: []authz.Event{authz.UserEvent("u"), authz.RoleEvent("role")},
	}
}

func base() storage.Commit {
	return storage.Commit{ID: "base", At: 1, Changes: []storage.Change{
		storage.InsertGrant{Grant: grant("old-1")}, storage.InsertRevoke{Revoke: authz.Revoke{ID: "rev-1", UserID: "u", Pattern: "x", Scope: "*"}},
		storage.UpsertRole{Role: authz.Role{ID: "role", Name: "old"}}}, Events: []authz.Event{authz.UserEvent("u")}}
}

func mustCommit(t *testing.T, s storage.Store, c storage.Commit) storage.CommitResult {
	t.Helper()
	r, err := s.Commit(t.Context(), c)
	if err != nil {
		t.Fatalf("commit %s: %v (%v)", c.ID, err, errors.Unwrap(err))
	}
	return r
}

// extent says whether sample is there: all, none, or in part.
func extent(t *testing.T, s storage.Store) string {
	t.Helper()
	ctx := t.Context()
	_, first, err1 := s.GetGrant(ctx, "new-1")
	_, second, err2 := s.GetGrant(ctx, "new-2")
	_, old, err3 := s.GetGrant(ctx, "old-1")
	_, revoked, err4 := s.GetRevoke(ctx, "rev-2")
	role, _, err5 := s.GetRole(ctx, "role")
	catalog, _, err6 := s.GetCatalog(ctx)
	head, err7 := s.Head(ctx)
	page, err8 := s.EventsSince(ctx, authz.Position{Seq: 1}, 10)
	n := 0
	for _, err := range s.ListAudit(ctx, storage.AuditFilter{}) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(first, second, !old, revoked, role.Name == "new", catalog.Version == 2, head.Seq == 3, len(page.Events) == 2, n == 1)
	switch got {
	case "true true true true true true true true true":
		return "all"
	case "false false false false false false false false false":
		return "none"
	}
	return got
}

// stopAt ends the writer at the nth statement of a name, as SIGKILL would.
func stopAt(name string, n int32) func(*driver) {
	var seen atomic.Int32
	var dead atomic.Bool
	return func(d *driver) {
		d.turnLease = shortTurn
		d.pause = func(step string) error {
			if step == name && seen.Add(1) == n || dead.Load() {
				dead.Store(true)
				return errStopped
			}
			return nil
		}
	}
}

// statements are how many statements step 5 of sample has: one for each
// collection and kind of write, and the head.
const statements = 11

func TestD05ACommitStoppedAnywhereIsFinishedOrForgottenBeforeTheFirstRead(t *testing.T) {
	eachLayout(t, func(t *testing.T, d *database) {
		_ = d
		type point struct {
			step string
			n    int32
			want string
		}
		points := []point{{"journal", 1, "none"}, {"decide", 1, "none"}, {"settle", 1, "all"}}
		for n := int32(1); n <= statements; n++ {
			points = append(points, point{"apply", n, "all"})
		}
		for _, p := range points {
			t.Run(fmt.Sprint(p.step, p.n), func(t *testing.T) {
				fresh := freshDatabase(d.layout)
				defer fresh.Close()
				mustCommit(t, fresh.open(t), base())
				writer := fresh.openAs(t, stopAt(p.step, p.n))
				if _, err := writer.Commit(t.Context(), sample("c")); err == nil {
					t.Fatalf("the writer was not stopped at %s %d", p.step, p.n)
				}
				next := fresh.open(t)
				if got := extent(t, next); got != p.want {
					t.Fatalf("after a stop at %s %d: %s, want %s", p.step, p.n, got, p.want)
				}
				_, found, err := next.GetCommit(t.Context(), "c")
				if err != nil || found != (p.want == "all") {
					t.Fatalf("recorded %v, %v", found, err)
				}
				again := mustCommit(t, next, sample("c"))
				if again.Replayed != (p.want == "all") || again.UpTo.Seq != 3 || again.Results[2].Grant == nil {
					t.Fatalf("sent again: %+v", again)
				}
				if got := extent(t, next); got != "all" {
					t.Fatal(got)
				}
			})
		}
	})
}

func TestD06AnOpenStoreFinishesWhatADeadWriterDecidedWithinFiveSeconds(t *testing.T) {
	eachLayout(t, func(t *testing.T, d *database) {
		mustCommit(t, d.open(t), base())
		witness := d.open(t)
		writer := d.openAs(t, func(w *driver) { stopAt("apply", 1)(w); w.turnLease = turnLease })
		writer.partition.stop() // its own second look is dead too
		if _, err := writer.Commit(t.Context(), sample("c")); err == nil {
			t.Fatal("the writer was not stopped")
		}
		until := time.Now().Add(30 * time.Second)
		for {
			page, err := witness.EventsSince(t.Context(), authz.Position{Seq: 1}, 10)
			if err != nil {
				t.Fatal(err)
			}
			if len(page.Events) == 2 {
				break
			}
			if time.Now().After(until) {
				t.Fatal("the event stays missing")
			}
			time.Sleep(20 * time.Millisecond)
		}
		if got := extent(t, witness); got != "all" {
			t.Fatal(got)
		}
	})
}

func TestD07SeveralMayFinishOneCommitAtOnce(t *testing.T) {
	eachLayout(t, func(t *testing.T, d *database) {
		mustCommit(t, d.open(t), base())
		helpers := []*store{d.open(t), d.open(t), d.open(t)}
		writer := d.openAs(t, stopAt("apply", 3))
		if _, err := writer.Commit(t.Context(), sample("c")); err == nil {
			t.Fatal("the writer was not stopped")
		}
		var all sync.WaitGroup
		for _, h := range helpers {
			all.Go(func() {
				if err := h.partition.finish(t.Context(), "c"); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		l, err := helpers[0].partition.look(t.Context())
		if err != nil || l.Done != 2 || l.pending() != "" {
			t.Fatalf("%+v, %v: want two commits done and none pending", l, err)
		}
		if got := extent(t, helpers[1]); got != "all" {
			t.Fatal(got)
		}
		if r := mustCommit(t, helpers[2], sample("c")); !r.Replayed {
			t.Fatalf("applied again: %+v", r)
		}
	})
}

// held is a writer that stops at one statement until it is let go, and whose turn
// nobody renews meanwhile.
type held struct {
	at, goOn chan struct{}
	once     sync.Once
}

func holdAt(name string, n int32) (*held, func(*driver)) {
	h := &held{at: make(chan struct{}), goOn: make(chan struct{})}
	var seen atomic.Int32
	return h, func(d *driver) {
		d.turnLease = shortTurn
		d.pause = func(step string) error {
			if step == "renew" {
				return errStopped
			}
			if step == name && seen.Add(1) == n {
				h.once.Do(func() { close(h.at) })
				<-h.goOn
			}
			return nil
		}
	}
}

func TestD08AWriterThatWasHeldUpOverwritesNothing(t *testing.T) {
	eachLayout(t, func(t *testing.T, d *database) {
		for n := int32(1); n <= statements; n++ {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				fresh := freshDatabase(d.layout)
				defer fresh.Close()
				other := fresh.open(t)
				mustCommit(t, other, base())
				h, tune := holdAt("apply", n)
				writer := fresh.openAs(t, tune)
				var result storage.CommitResult
				var err error
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					result, err = writer.Commit(t.Context(), sample("c"))
				}()
				<-h.at
				time.Sleep(shortTurn)
				mustCommit(t, other, storage.Commit{ID: "later", At: 9, Changes: []storage.Change{
					storage.DeleteGrant{ID: "new-1", MustExist: true}, storage.UpsertRole{Role: authz.Role{ID: "role", Name: "later"}},
					storage.InsertGrant{Grant: grant("old-1")}, storage.DeleteRevoke{ID: "rev-2", MustExist: true},
				}, Events: []authz.Event{authz.UserEvent("v")}})
				close(h.goOn)
				<-ended
				if err != nil || result.UpTo.Seq != 3 || result.Replayed || result.Results[2].Grant == nil {
					t.Fatalf("the writer answered %+v, %v", result, err)
				}
				ctx := t.Context()
				_, first, _ := other.GetGrant(ctx, "new-1")
				_, second, _ := other.GetGrant(ctx, "new-2")
				_, old, _ := other.GetGrant(ctx, "old-1")
				_, revoked, _ := other.GetRevoke(ctx, "rev-2")
				role, _, _ := other.GetRole(ctx, "role")
				head, _ := other.Head(ctx)
				page, _ := other.EventsSince(ctx, authz.Position{}, 10)
				if first || !second || !old || revoked || role.Name != "later" || head.Seq != 4 || len(page.Events) != 4 {
					t.Fatalf("new-1 %v, new-2 %v, old-1 %v, rev-2 %v, role %q, head %s, %d events", first, second, old, revoked, role.Name, head, len(page.Events))
				}
			})
		}
	})
}

func TestD09ARobbedWriterCannotDecide(t *testing.T) {
	eachLayout(t, func(t *testing.T, d *database) {
		d.lease = shortTurn
		thief := d.open(t)
		mustCommit(t, thief, base())
		h, tune := holdAt("decide", 1)
		writer := d.openAs(t, tune)
		section, err := writer.Acquire(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		c := sample("c")
		c.Fences = []storage.Fence{section.Fence()}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, err = writer.Commit(t.Context(), c)
		}()
		<-h.at
		stolen, thieving := thief.Acquire(t.Context(), "k")
		if thieving != nil {
			t.Fatal(thieving)
		}
		if stolen.Fence().Fence <= section.Fence().Fence {
			t.Fatalf("fence %d after %d", stolen.Fence().Fence, section.Fence().Fence)
		}
		before := extent(t, thief)
		close(h.goOn)
		<-ended
		if storage.CodeOf(err) != storage.CodeStaleFence || before != "none" || extent(t, thief) != "none" {
			t.Fatalf("%v; rows %s, then %s", err, before, extent(t, thief))
		}
		if storage.CodeOf(section.Renew(t.Context())) != storage.CodeStaleFence {
			t.Fatal("a section that was stolen was renewed")
		}
	})
}

func TestD10ReadAccessSeesASlowCommitWholeOrNot(t *testing.T) {
	eachLayout(t, func(t *testing.T, d *database) {
		reader := d.open(t)
		mustCommit(t, reader, base())
		writer := d.openAs(t, func(w *driver) {
			w.pause = func(step string) error {
				if step == "apply" {
					time.Sleep(100 * time.Millisecond)
				}
				return nil
			}
		})
		var done atomic.Bool
		go func() {
			defer done.Store(true)
			if _, err := writer.Commit(t.Context(), sample("c")); err != nil {
				t.Error(err)
			}
		}()
		want := map[string]bool{"1 1 rev-1 1 false": true, "2 1 rev-2 3 true": true}
		for last := false; ; {
			a, err := reader.ReadAccess(t.Context(), storage.AccessQuery{UserID: "u", Subjects: []string{"user:u"}})
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(len(a.Grants), len(a.Revokes), " ", a.Revokes[0].ID, " ", a.Head.Seq, a.User != nil); !want[got] {
				t.Fatalf("a mixture: %s", got)
			}
			if last {
				return
			}
			last = done.Load()
		}
	})
}

func TestACallerWhoLeavesLearnsWhatIsKnown(t *testing.T) {
	eachLayout(t, func(t *testing.T, d *database) {
		for _, c := range []struct {
			step    string
			outcome authz.Outcome
		}{{"decide", authz.OutcomeNotApplied}, {"apply", authz.OutcomeUnknown}} {
			fresh := freshDatabase(d.layout)
			defer fresh.Close()
			mustCommit(t, fresh.open(t), base())
			h, tune := holdAt(c.step, 1)
			writer := fresh.openAs(t, tune)
			ctx, leave := context.WithCancel(t.Context())
			go func() {
				<-h.at
				leave()
			}()
			_, err := writer.Commit(ctx, sample("c"))
			var failure *storage.Error
			if !errors.As(err, &failure) || failure.Code != storage.CodeUnavailable || failure.Outcome != c.outcome {
				t.Fatalf("left at %s: %v", c.step, err)
			}
			close(h.goOn)
			again := mustCommit(t, fresh.open(t), sample("c"))
			if again.Replayed != (c.outcome == authz.OutcomeUnknown) {
				t.Fatalf("left at %s, sent again: %+v", c.step, again)
			}
		}
	})
}

func TestBatchesRoundTripThroughTheJournal(t *testing.T) {
	b := &batch{commit: "c"}
	for i := range 3 {
		members, err := grants.to(grant(fmt.Sprint(i)))
		if err == nil {
			err = b.add(layout.Grants, fmt.Sprint(i), opKind(i), members)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	event, _ := eventMembers(authz.UserEvent("u"), 3, "identity")
	if err := b.add(layout.Events, int64(9), opNew, event); err != nil {
		t.Fatal(err)
	}
	stream, err := b.encode()
	if err != nil {
		t.Fatal(err)
	}
	ops, err := decodeOps(stream)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.ops, ops); diff != "" {
		t.Fatal(diff)
	}
	for cut := 1; cut < 40; cut++ {
		if _, err := decodeOps(stream[:len(stream)-cut]); err == nil {
			t.Fatalf("a journal that lacks its last %d bytes was read", cut)
		}
	}
}

func TestLargeResultsAreKeptCompressed(t *testing.T) {
	want := storage.CommitResult{UpTo: authz.Position{Seq: 3, Identity: "identity"}}
	for i := range 2000 {
		g := grant(fmt.Sprint(i))
		want.Results = append(want.Results, storage.ChangeResult{Grant: &g, Version: int64(i)})
	}
	for _, n := range []int{1, 2000} {
		some := storage.CommitResult{UpTo: want.UpTo, Results: want.Results[:n]}
		members, err := commitMembers(storage.Digest{}, some, 1)
		if err != nil {
			t.Fatal(err)
		}
		got := readBack(t, members)
		if diff := cmp.Diff(some, got, cmp.Comparer(func(a, b authz.Expiry) bool { return a == b })); diff != "" {
			t.Fatal(diff)
		}
	}
}
