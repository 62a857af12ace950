package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/authzhost/authz/host/store"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func notApplied(context.Context) error {
	return storage.Unavailable(authz.OutcomeNotApplied, nil, "busy")
}

func TestACommitIsSentAgainUntilItsFateIsKnown(t *testing.T) {
	none := context.Background()
	cases := []struct {
		name   string
		faults func(*faulty) []fault
		sent   int
		err    *storage.Error // code and outcome; nil: applied
		there  bool
	}{
		{"cut before it was applied", func(d *faulty) []fault { return []fault{{before: gone}} }, 2, nil, true},
		{"cut after it was applied", func(d *faulty) []fault { return []fault{{after: gone}} }, 2, nil, true},
		{"the process died before", func(d *faulty) []fault { return []fault{{before: d.dying(nil)}} }, 2, nil, true},
		{"the process died after", func(d *faulty) []fault { return []fault{{after: d.dying(nil)}} }, 2, nil, true},
		{"the process died three times", func(d *faulty) []fault {
			return []fault{{before: d.dying(nil)}, {after: d.dying(nil)}, {before: d.dying(nil)}}
		}, 4, nil, true},
		{"not applied because the process died", func(d *faulty) []fault {
			return []fault{{before: func(ctx context.Context) error { d.kill(nil); return notApplied(none) }}}
		}, 2, nil, true},
		{"not applied by a driver that lives", func(d *faulty) []fault { return []fault{{before: notApplied}} }, 1,
			&storage.Error{Code: storage.CodeUnavailable, Outcome: authz.OutcomeNotApplied}, false},
		{"a refused repetition settles nothing", func(d *faulty) []fault { return []fault{{after: gone}, {before: notApplied}} }, 3, nil, true},
		{"a refusal settles it", func(d *faulty) []fault {
			return []fault{{before: gone}, {before: func(context.Context) error { return storage.Errorf(storage.CodeStaleFence, "moved on") }}}
		}, 2, &storage.Error{Code: storage.CodeStaleFence}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in(t, store.Options{}, func(w *world) {
				for _, f := range c.faults(w.driver) {
					w.driver.strike("Commit", f)
				}
				result, err := w.store.Commit(w.Context(), insert("g1"))
				if c.err != nil {
					w.wants(err, c.err.Code, c.err.Outcome)
				} else if err != nil || result.UpTo.Seq != 1 || len(result.Results) != 1 {
					w.Fatalf("%+v, %v", result, err)
				}
				if w.driver.count("Commit") != c.sent {
					w.Errorf("sent %d times, want %d", w.driver.count("Commit"), c.sent)
				}
				if there := w.ids() == "g1"; there != c.there {
					w.Errorf("rows %q", w.ids())
				}
				if head, err := w.store.Head(w.Context()); err != nil || head.Seq == 1 != c.there || head.Seq > 1 {
					w.Errorf("head %s, %v: applied once or not at all", head, err)
				}
			})
		})
	}
}

func TestTheFateIsUnknownOnlyWhenTimeIsOver(t *testing.T) {
	in(t, store.Options{CommitTimeout: 5 * time.Second}, func(w *world) {
		w.driver.refuse(storage.Unavailable("", nil, "starting"))
		w.driver.strike("Commit", fault{after: w.driver.dying(nil)})
		start := time.Now()
		w.wants(commitG1(w.Context(), w.store), storage.CodeUnavailable, authz.OutcomeUnknown)
		if took := time.Since(start); took != 20*time.Second {
			w.Errorf("gave up after %v", took)
		}
		w.driver.refuse(nil)
		if err := w.store.Reopen(w.Context()); err != nil {
			w.Fatal(err)
		}
		result, err := w.store.Commit(w.Context(), insert("g1")) // the caller settles it
		if err != nil || !result.Replayed {
			w.Errorf("%+v, %v", result, err)
		}
		for range 200 {
			w.driver.strike("Commit", fault{before: gone})
		}
		ctx, cancel := context.WithTimeout(w.Context(), 5*time.Second)
		defer cancel()
		_, err = w.store.Commit(ctx, insert("g2"))
		w.wants(err, storage.CodeUnavailable, authz.OutcomeUnknown)
		if n := w.driver.count("Commit"); n > 40 {
			w.Errorf("%d attempts through a living handle in 5 s", n)
		}
	})
}

// Whatever happens to a commit, what the caller is told is true.
func TestWhatACommitAnswersIsTrue(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		plan := rapid.SliceOfN(rapid.IntRange(0, 7), 0, 6).Draw(r, "faults")
		in(t, store.Options{CommitTimeout: 3 * time.Second}, func(w *world) {
			next := other()
			for _, p := range plan {
				w.driver.strike("Commit", []fault{
					{before: gone}, {after: gone}, {before: w.driver.dying(nil)}, {after: w.driver.dying(nil)}, {before: notApplied},
					{before: hang}, {after: hang}, {after: w.driver.dying(next)},
				}[p])
			}
			life := w.store.Info().Incarnation
			_, err := w.store.Commit(w.Context(), insert("g1"))
			if _, known := err.(*storage.Error); err != nil && !known {
				r.Fatalf("%v: %#v", plan, err)
			}
			w.driver.mu.Lock()
			w.driver.faults = map[string][]fault{}
			w.driver.mu.Unlock()
			if e, _ := err.(*storage.Error); e != nil && e.Outcome == authz.OutcomeUnknown {
				return // anything may be
			}
			there := w.ids() == "g1"
			same := w.store.Info().Incarnation == life
			if there != (err == nil) || there && !same {
				r.Fatalf("%v: answered %v, row there: %v, same life: %v", plan, err, there, same)
			}
		})
	})
}

func TestOtherWritesAreNotRepeated(t *testing.T) {
	in(t, store.Options{}, func(w *world) {
		w.driver.strike("RecordMetrics", fault{after: w.driver.dying(nil)})
		w.wants(recordMetrics(w.Context(), w.store), storage.CodeUnavailable, authz.OutcomeUnknown)
		time.Sleep(time.Second)
		w.state(store.StateReady)
		for b, err := range w.store.ReadMetrics(w.Context(), storage.MetricFilter{Dimension: "grant"}) {
			if err != nil || b.Count != 1 {
				w.Errorf("%+v, %v: counted once", b, err)
			}
		}
		n, err := w.store.PruneMetrics(w.Context(), 1)
		if err != nil || n != 1 {
			w.Error(n, err)
		}
		w.commit(insert("g1"))
		keep := int64(0)
		if n, err := w.store.PruneEvents(w.Context(), storage.PruneEvents{KeepRows: &keep}); err != nil || n != 1 {
			w.Error(n, err)
		}
	})
}

func TestSectionsStayWithTheirHandle(t *testing.T) {
	in(t, store.Options{}, func(w *world) {
		w.driver.strike("Acquire", fault{after: w.driver.dying(nil)})
		w.wants(acquire(w.Context(), w.store), storage.CodeUnavailable, authz.OutcomeNotApplied)
		if w.driver.count("Acquire") != 1 {
			w.Error("an acquisition was repeated")
		}
		time.Sleep(storage.DefaultLease) // nobody could release what it may have left
		section, err := w.store.Acquire(w.Context(), "groups")
		if err != nil {
			w.Fatal(err)
		}
		if err := section.Renew(w.Context()); err != nil {
			w.Error(err)
		}
		w.driver.kill(nil)
		w.wants(section.Renew(w.Context()), storage.CodeUnavailable, "")
		time.Sleep(time.Second)
		w.state(store.StateReady) // a failed renewal is noticed as well
		// Nobody took the section: a commit under its fence is as good as ever.
		c := insert("g1")
		c.Fences = []storage.Fence{section.Fence()}
		w.commit(c)
		next, err := w.store.Acquire(w.Context(), "groups") // after the lease
		if err != nil {
			w.Fatal(err)
		}
		c = insert("g2")
		c.Fences = []storage.Fence{section.Fence()}
		_, err = w.store.Commit(w.Context(), c)
		w.wants(err, storage.CodeStaleFence, "")
		for range 2 {
			if err := next.Release(w.Context()); err != nil {
				w.Error(err)
			}
		}
		w.wants(section.Release(w.Context()), storage.CodeUnavailable, "")
	})
}

func TestASectionRunsThroughTheStore(t *testing.T) {
	in(t, store.Options{}, func(w *world) {
		var bodies sync.WaitGroup
		for i := range 5 {
			bodies.Go(func() {
				err := storage.RunExclusive(w.Context(), w.store, "groups", func(ctx context.Context) error {
					time.Sleep(4 * time.Second) // renewals in between
					c := insert(fmt.Sprintf("g%d", i))
					c.Fences = storage.Held(ctx, w.store)
					_, err := w.store.Commit(ctx, c)
					return err
				})
				if err != nil {
					w.Error(err)
				}
			})
		}
		bodies.Wait()
		if w.ids() != "g0 g1 g2 g3 g4" {
			w.Error(w.ids())
		}
	})
}

func TestReadersAndWritersSurviveDeathsTogether(t *testing.T) {
	in(t, store.Options{}, func(w *world) {
		ctx, stop := context.WithCancel(w.Context())
		var killer, workers sync.WaitGroup
		killer.Go(func() {
			for ctx.Err() == nil {
				time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
				w.driver.kill(nil)
			}
		})
		for i := range 8 {
			workers.Go(func() {
				for n := range 25 {
					time.Sleep(time.Duration(rand.IntN(50)) * time.Millisecond)
					id := fmt.Sprintf("g%d-%d", i, n)
					if _, err := w.store.Commit(ctx, insert(id)); err != nil {
						w.Errorf("commit %s: %v", id, err)
					}
					if _, found, err := w.store.GetGrant(ctx, id); err == nil && !found {
						w.Errorf("%s is not there after its commit", id)
					}
					_ = listGrants(ctx, w.store)
					_ = readAccess(ctx, w.store)
					w.store.Status()
				}
			})
		}
		workers.Wait()
		stop()
		killer.Wait()
		time.Sleep(10 * time.Second)
		if err := w.store.Reopen(w.Context()); err != nil {
			w.Fatal(err)
		}
		n, err := w.store.CountGrants(w.Context(), storage.GrantFilter{})
		head, _ := w.store.Head(w.Context())
		if err != nil || n != 200 || head.Seq != 200 {
			w.Errorf("%d grants, head %s, %v", n, head, err)
		}
		if w.driver.mostOpen != 1 {
			w.Errorf("%d reopenings at once", w.driver.mostOpen)
		}
	})
}
