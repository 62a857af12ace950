package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/host/store"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// world is a store over a faulty driver, in a bubble with a clock of its own.
// The bubble ends only when every goroutine has: each test proves that none is
// left after Close.
type world struct {
	*testing.T
	driver *faulty
	store  *store.Store
	log    *bytes.Buffer
}

func in(t *testing.T, opts store.Options, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, driver: newFaulty(memory.Options{}), log: &bytes.Buffer{}}
		opts.Logger = hclog.New(&hclog.LoggerOptions{Output: w.log, Level: hclog.Info, Mutex: &sync.Mutex{}})
		if opts.Application == "" {
			opts.Application = "acme"
		}
		s, err := store.Open(t.Context(), w.driver, "p1", opts)
		if err != nil {
			t.Fatal(err)
		}
		w.store = s
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		f(w)
	})
}

func other() *memory.Backend { return memory.NewBackend(memory.Options{}) }

func grant(id string) authz.Grant {
	return authz.Grant{ID: id, Subject: "user:u1", Pattern: "docs.read", Scope: "*", Provenance: authz.Provenance{Kind: "system"}, CreatedAt: 1}
}

func insert(id string) storage.Commit {
	return storage.Commit{ID: "c-" + id, At: 1, Changes: []storage.Change{storage.InsertGrant{Grant: grant(id)}}, Events: []authz.Event{authz.UserEvent("u1")}}
}

func (w *world) commit(c storage.Commit) {
	w.Helper()
	if _, err := w.store.Commit(w.Context(), c); err != nil {
		w.Fatal(err)
	}
}

func (w *world) ids() string {
	w.Helper()
	var ids []string
	for g, err := range w.store.ListGrants(w.Context(), storage.GrantFilter{}, storage.Page{}) {
		if err != nil {
			w.Fatal(err)
		}
		ids = append(ids, g.ID)
	}
	return strings.Join(ids, " ")
}

// wants checks the class, code and outcome of an error.
func (w *world) wants(err error, code storage.Code, outcome authz.Outcome) {
	w.Helper()
	e, ok := err.(*storage.Error)
	if !ok || e.Code != code || e.Outcome != outcome {
		w.Errorf("error %#v, want a *storage.Error %s/%s", err, code, outcome)
	}
}

func (w *world) state(want store.State) {
	w.Helper()
	if got := w.store.State(); got.State != want {
		w.Fatalf("state %+v, want %s", got, want)
	}
}

func TestAReadIsRepeatedOnceWhenTheHandleDied(t *testing.T) {
	reads := map[string]func(context.Context, *store.Store) error{"GetGrant": getGrant, "ReadAccess": readAccess, "GetScopeParents": scopeParents, "ListGrants": listGrants}
	for op, call := range reads {
		t.Run(op, func(t *testing.T) {
			in(t, store.Options{}, func(w *world) {
				w.commit(insert("g1"))
				w.driver.strike(op, fault{before: w.driver.dying(nil)})
				if err := call(w.Context(), w.store); err != nil {
					w.Fatal(err)
				}
				if w.driver.count(op) != 2 || w.driver.opened() != 2 {
					w.Errorf("%d calls over %d openings", w.driver.count(op), w.driver.opened())
				}
				w.driver.strike(op, fault{before: w.driver.dying(nil)})
				w.driver.strike(op, fault{before: w.driver.dying(nil)})
				w.wants(call(w.Context(), w.store), storage.CodeUnavailable, "")
			})
		})
	}
}

func TestALivingHandleIsNeitherAskedTwiceNorReplaced(t *testing.T) {
	in(t, store.Options{}, func(w *world) {
		w.driver.strike("GetGrant", fault{before: gone})
		w.wants(getGrant(w.Context(), w.store), storage.CodeUnavailable, "")
		w.driver.strike("RecordMetrics", fault{after: gone})
		w.wants(recordMetrics(w.Context(), w.store), storage.CodeUnavailable, authz.OutcomeUnknown)
		synctest.Wait()
		if w.driver.gaveUp() || w.driver.count("GetGrant") != 1 || w.driver.count("RecordMetrics") != 1 {
			w.Errorf("given up: %v, calls %v", w.driver.gaveUp(), w.driver.calls)
		}
	})
}

func TestHealthRecoversWithoutTraffic(t *testing.T) {
	in(t, store.Options{ReopenWait: time.Second, ReopenMax: 4 * time.Second}, func(w *world) {
		w.commit(insert("g1"))
		w.driver.refuse(storage.Unavailable("", nil, "the plugin is starting"))
		w.driver.kill(nil)
		start := time.Now()
		w.wants(getGrant(w.Context(), w.store), storage.CodeUnavailable, "")
		if waited := time.Since(start); waited != time.Second {
			w.Errorf("a read waits %v for a handle", waited)
		}
		c := w.store.State()
		if c.State != store.StateReopening || c.Reason != "the plugin is starting" || c.Since != start.UnixMilli() {
			w.Errorf("%+v", c)
		}
		start = time.Now()
		w.wants(commitG1(w.Context(), w.store), storage.CodeUnavailable, authz.OutcomeNotApplied)
		if waited := time.Since(start); waited != time.Second {
			w.Errorf("a commit that never left waits %v", waited)
		}
		time.Sleep(time.Minute)
		if n := w.driver.opened(); n < 15 || n > 60 {
			w.Errorf("%d attempts in a minute: the backoff ends at 4 s and is jittered down to half", n)
		}
		w.driver.refuse(nil)
		time.Sleep(4 * time.Second)
		w.state(store.StateReady)
		if w.ids() != "g1" {
			w.Error(w.ids())
		}
	})
}

func TestManyFailingCallsReopenOnce(t *testing.T) {
	in(t, store.Options{}, func(w *world) {
		w.commit(insert("g1"))
		w.driver.kill(nil)
		var calls sync.WaitGroup
		for range 200 {
			calls.Go(func() {
				if err := getGrant(w.Context(), w.store); err != nil {
					w.Error(err)
				}
			})
		}
		calls.Wait()
		if w.driver.opened() != 2 || w.driver.mostOpen != 1 {
			w.Errorf("%d openings, %d at once", w.driver.opened(), w.driver.mostOpen)
		}
	})
}

func TestReopenIsForWhoeverRestartedTheProcess(t *testing.T) {
	in(t, store.Options{ReopenMin: time.Hour, ReopenMax: time.Hour}, func(w *world) {
		if err := w.store.Reopen(w.Context()); err != nil || w.driver.gaveUp() {
			w.Errorf("a living handle stays: %v", err)
		}
		w.driver.kill(nil) // nobody noticed
		err := w.store.Reopen(w.Context())
		synctest.Wait()
		if err != nil || !w.driver.gaveUp() {
			w.Errorf("a dead one goes: %v", err)
		}
		w.driver.refuse(storage.Unavailable("", nil, "starting"))
		w.driver.kill(nil)
		w.wants(getGrant(w.Context(), w.store), storage.CodeUnavailable, "")
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		w.wants(w.store.Reopen(ctx), storage.CodeUnavailable, authz.OutcomeNotApplied)
		w.driver.refuse(nil)
		start := time.Now()
		if err := w.store.Reopen(w.Context()); err != nil || time.Since(start) != 0 {
			w.Errorf("it does not wait out the backoff: %v after %v", err, time.Since(start))
		}
		w.state(store.StateReady)
	})
}

func TestAHandleIsClosedWhenItsLastUserLeaves(t *testing.T) {
	in(t, store.Options{}, func(w *world) {
		section, err := w.store.Acquire(w.Context(), "groups")
		if err != nil {
			w.Fatal(err)
		}
		first := w.driver.handles[0]
		w.driver.kill(nil)
		if err := getGrant(w.Context(), w.store); err != nil {
			w.Fatal(err)
		}
		synctest.Wait()
		if first.closed {
			w.Error("a section still hangs on it")
		}
		_ = section.Release(w.Context()) // its process is dead
		synctest.Wait()
		if !first.closed {
			w.Error("nobody uses it")
		}
	})
}

func TestWatchGoesOnAfterADeath(t *testing.T) {
	in(t, store.Options{}, func(w *world) {
		ctx, cancel := context.WithCancel(w.Context())
		var heads []int64
		var watching sync.WaitGroup
		w.driver.strike("Watch", fault{rows: 1, before: w.driver.dying(nil)})
		watching.Go(func() {
			for head, err := range w.store.Watch(ctx) {
				if err != nil {
					w.Error(err)
				}
				heads = append(heads, head)
			}
		})
		synctest.Wait()
		w.commit(insert("g1")) // the stream dies of it
		time.Sleep(time.Second)
		w.commit(insert("g2"))
		synctest.Wait()
		cancel()
		watching.Wait()
		if d := cmp.Diff([]int64{0, 1, 2}, heads); d != "" {
			w.Error(d)
		}
	})
}

func TestCloseEndsEverything(t *testing.T) {
	in(t, store.Options{}, func(w *world) {
		w.driver.strike("GetGrant", fault{before: hang})
		var flying sync.WaitGroup
		flying.Go(func() {
			for _, err := range w.store.Watch(w.Context()) {
				if err != nil {
					w.wants(err, storage.CodeUnavailable, "")
				}
			}
		})
		flying.Go(func() { w.wants(getGrant(w.Context(), w.store), storage.CodeUnavailable, "") })
		synctest.Wait()
		for range 2 {
			if err := w.store.Close(); err != nil {
				w.Error(err)
			}
		}
		flying.Wait()
		w.wants(commitG1(w.Context(), w.store), storage.CodeUnavailable, authz.OutcomeNotApplied)
		w.wants(acquire(w.Context(), w.store), storage.CodeUnavailable, authz.OutcomeNotApplied)
		w.wants(listGrants(w.Context(), w.store), storage.CodeUnavailable, "")
		if !w.driver.handles[0].closed {
			w.Error("the handle is open")
		}
	})
	in(t, store.Options{}, func(w *world) { // while reopening
		w.driver.refuse(errGone)
		w.driver.kill(nil)
		w.wants(getGrant(w.Context(), w.store), storage.CodeUnavailable, "")
	})
}

func TestAStoreThatCannotBeOpenedIsNotOpened(t *testing.T) {
	for name, err := range map[string]error{"typed": storage.Errorf(storage.CodeUnsupported, "version 1: migrate"), "untyped": errGone} {
		d := newFaulty(memory.Options{})
		d.refuse(err)
		s, err := store.Open(t.Context(), d, "p1", store.Options{})
		if e, ok := err.(*storage.Error); !ok || s != nil || d.opens != 1 {
			t.Errorf("%s: %v, %v after %d openings", name, s, e, d.opens)
		}
	}
	w := wrongPartition{newFaulty(memory.Options{})}
	if _, err := store.Open(t.Context(), w, "p1", store.Options{}); storage.CodeOf(err) != storage.CodeUnavailable || !w.handles[0].closed {
		t.Errorf("another partition than asked for: %v", err)
	}
}

type wrongPartition struct{ *faulty }

func (d wrongPartition) Open(ctx context.Context, _ string) (storage.Store, error) {
	return d.faulty.Open(ctx, "p2")
}

func TestStatus(t *testing.T) {
	in(t, store.Options{}, func(w *world) {
		got, err := json.Marshal(w.store.Status())
		if err != nil {
			w.Fatal(err)
		}
		info := w.store.Info()
		capabilities, err := json.Marshal(storage.AllCapabilities)
		if err != nil {
			w.Fatal(err)
		}
		want := fmt.Sprintf(`{"driverName":"faulty","durable":true,"crossProcess":false,"partition":"p1","incarnation":%q,"schemaVersion":6,`+
			`"capabilities":%s,"state":"ready","since":%d}`,
			info.Incarnation, capabilities, time.Now().UnixMilli())
		if d := cmp.Diff(want, string(got)); d != "" {
			w.Error(d)
		}
	})
}
