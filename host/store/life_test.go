package store_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/authzhost/authz/host/store"
	"github.com/authzhost/authz/plugins/memory/memory"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func TestAnotherLifeIsLostUntilAccepted(t *testing.T) {
	in(t, store.Options{}, func(w *world) {
		w.commit(insert("g1"))
		before := w.store.Info().Incarnation
		if w.store.Accept() {
			w.Error("there is nothing to accept")
		}
		w.driver.kill(other())
		w.wants(readAccess(w.Context(), w.store), storage.CodeUnavailable, "")
		w.state(store.StateLost)
		if w.store.Info().Incarnation == before {
			w.Error("the incarnation is that of the new content")
		}

		asked := w.driver.count("ReadAccess")
		w.wants(readAccess(w.Context(), w.store), storage.CodeUnavailable, "")
		w.wants(scopeParents(w.Context(), w.store), storage.CodeUnavailable, "")
		if w.driver.count("ReadAccess") != asked {
			w.Error("the driver is not even asked")
		}
		if got := w.ids(); got != "" {
			w.Errorf("lists go on against the new content: %q", got)
		}
		w.commit(insert("g2"))
		if got := w.ids(); got != "g2" {
			w.Errorf("writes go on: %q", got)
		}

		writing := w.store.ForWrites()
		for name, read := range map[string]func(context.Context) error{
			"scopes": func(ctx context.Context) error {
				_, err := writing.GetScopeParents(ctx, []string{"docs.doc:1"})
				return err
			},
			"sod:u": func(ctx context.Context) error {
				_, err := writing.ReadAccess(ctx, storage.AccessQuery{UserID: "u1"})
				return err
			},
		} {
			err := storage.RunExclusive(w.Context(), w.store, name, func(ctx context.Context) error {
				w.wants(readAccess(ctx, w.store), storage.CodeUnavailable, "")
				w.wants(scopeParents(ctx, w.store), storage.CodeUnavailable, "")
				return read(ctx)
			})
			if err != nil {
				w.Errorf("a write judges itself by %s: %v", name, err)
			}
		}

		log := w.log.String()
		for _, want := range []string{"[ERROR]", "STORAGE LOST", before, w.store.Info().Incarnation, "p1", "authz storage accept acme"} {
			if !strings.Contains(log, want) {
				w.Errorf("%q is not in the log:\n%s", want, log)
			}
		}
		if n := strings.Count(log, "[ERROR]"); n != 1 {
			w.Errorf("%d errors logged", n)
		}
		status := w.store.Status()
		if status.State != store.StateLost || !strings.Contains(status.Reason, `partition "p1"`) || status.Incarnation == before {
			w.Errorf("%+v", status)
		}

		if !w.store.Accept() {
			w.Error("nothing accepted")
		}
		w.state(store.StateReady)
		if err := readAccess(w.Context(), w.store); err != nil {
			w.Error(err)
		}
		if err := scopeParents(w.Context(), w.store); err != nil {
			w.Error(err)
		}
	})
}

func TestTheSameLifeIsNotLost(t *testing.T) {
	in(t, store.Options{OnLost: func() { t.Error("OnLost") }}, func(w *world) {
		for range 3 {
			w.driver.kill(nil)
			if err := readAccess(w.Context(), w.store); err != nil {
				w.Error(err)
			}
			w.state(store.StateReady)
		}
	})
}

func TestOnLostIsCalledBeforeAnythingIsAnswered(t *testing.T) {
	calls, proceed := 0, make(chan struct{})
	var w *world
	onLost := func() {
		calls++
		if got := w.store.State().State; got != store.StateLost {
			t.Errorf("state %s while OnLost runs", got)
		}
		time.Sleep(time.Second)
		close(proceed)
	}
	in(t, store.Options{OnLost: onLost}, func(in *world) {
		w = in
		proceed = make(chan struct{})
		w.driver.kill(other())
		var asking sync.WaitGroup
		for _, call := range []func() error{
			func() error { return getGrant(w.Context(), w.store) },
			func() error { return listGrants(w.Context(), w.store) },
			func() error { return commitG1(w.Context(), w.store) },
			func() error { return readAccess(w.Context(), w.store) },
			func() error { return acquire(w.Context(), w.store) },
			func() error { _, err := w.store.Head(w.Context()); return err },
		} {
			asking.Go(func() {
				_ = getGrant(w.Context(), w.store)
				_ = call()
				select {
				case <-proceed:
				default:
					w.Error("answered before OnLost returned")
				}
			})
		}
		asking.Wait()
		if calls != 1 {
			w.Errorf("called %d times", calls)
		}
	})
}

func TestTheLogTellsOfALossOnceNothingAnswersFromBefore(t *testing.T) {
	for how, strike := range map[string]func(*world){
		"another life": func(w *world) { w.driver.kill(other()); _ = getGrant(w.Context(), w.store) },
		"taken away":   func(w *world) { w.take("Health", "") },
		"lost events": func(w *world) {
			w.store.LostPosition(w.Context(), w.store.Info().Incarnation, authz.Position{Seq: 9})
		},
	} {
		t.Run(how, func(t *testing.T) {
			var w *world
			calls := 0
			told := func() bool { return strings.Contains(w.log.String(), "STORAGE LOST") }
			onLost := func() {
				if calls++; calls == 1 && told() {
					t.Error("the log tells that checks are unavailable while caches answer")
				}
			}
			in(t, store.Options{OnLost: onLost}, func(in *world) {
				w = in
				strike(w)
				time.Sleep(time.Second)
				synctest.Wait()
				if calls == 0 || !told() {
					t.Errorf("OnLost %d times, the log: %s", calls, w.log)
				}
			})
		})
	}
}

func TestCloseDuringOnLostWaitsForIt(t *testing.T) {
	returned := false
	onLost := func() {
		time.Sleep(time.Second)
		returned = true
	}
	in(t, store.Options{OnLost: onLost}, func(w *world) {
		w.driver.kill(other())
		go func() { w.wants(getGrant(w.Context(), w.store), storage.CodeUnavailable, "") }()
		synctest.Wait()
		if err := w.store.Close(); err != nil || !returned {
			w.Errorf("%v, OnLost returned: %v", err, returned)
		}
		for i, h := range w.driver.handles {
			if !h.closed {
				w.Errorf("handle %d is open", i)
			}
		}
	})
}

func TestACommitInFlightIsNotSentToAnotherLife(t *testing.T) {
	for name, strike := range map[string]func(*world) fault{
		"died before it was applied": func(w *world) fault { return fault{before: w.driver.dying(other())} },
		"died after it was applied":  func(w *world) fault { return fault{after: w.driver.dying(other())} },
	} {
		t.Run(name, func(t *testing.T) {
			in(t, store.Options{}, func(w *world) {
				w.driver.strike("Commit", strike(w))
				w.wants(commitG1(w.Context(), w.store), storage.CodeUnavailable, authz.OutcomeUnknown)
				if w.driver.count("Commit") != 1 || w.ids() != "" {
					w.Errorf("sent %d times, rows %q", w.driver.count("Commit"), w.ids())
				}
				w.commit(insert("g2")) // judged after the new content was there
			})
		})
	}
	in(t, store.Options{}, func(w *world) { // one that waited for the reopening
		w.driver.refuse(errGone)
		w.driver.kill(other())
		w.wants(getGrant(w.Context(), w.store), storage.CodeUnavailable, "")
		var waiting sync.WaitGroup
		waiting.Go(func() {
			w.wants(commitG1(w.Context(), w.store), storage.CodeUnavailable, authz.OutcomeNotApplied)
		})
		synctest.Wait()
		w.driver.refuse(nil)
		if err := w.store.Reopen(w.Context()); err != nil {
			w.Error(err)
		}
		waiting.Wait()
		if w.ids() != "" {
			w.Error(w.ids())
		}
	})
}

func TestASectionOfAnotherLifeIsStaleWhateverItsNumber(t *testing.T) {
	// Backends with one frozen clock hand out the same fences, as a database
	// restored from a backup may.
	frozen := memory.Options{Clock: func() int64 { return 1000 }}
	in(t, store.Options{}, func(w *world) {
		w.driver.backend = memory.NewBackend(frozen)
		w.driver.kill(nil)
		_ = w.store.Reopen(w.Context())
		old, err := w.store.Acquire(w.Context(), "groups")
		if err != nil {
			w.Fatal(err)
		}
		w.driver.kill(memory.NewBackend(frozen))
		_ = w.store.Reopen(w.Context())
		direct, err := w.driver.handles[len(w.driver.handles)-1].Acquire(w.Context(), "groups")
		if err != nil || direct.Fence() != old.Fence() {
			w.Fatalf("%+v, %v: the case needs equal fences", direct, err)
		}
		c := insert("g1")
		c.Fences = []storage.Fence{old.Fence()}
		_, err = w.store.Commit(w.Context(), c)
		w.wants(err, storage.CodeStaleFence, "")
		w.wants(old.Renew(w.Context()), storage.CodeStaleFence, "")
		_ = old.Release(w.Context())
		if w.ids() != "" {
			w.Error(w.ids())
		}
	})
}

func TestAnAnswerFromBeforeTheLossIsNotGiven(t *testing.T) {
	for name, accept := range map[string]bool{"still lost": false, "accepted meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			in(t, store.Options{}, func(w *world) {
				w.commit(insert("g1"))
				setDead := func(dead bool) {
					w.driver.mu.Lock()
					defer w.driver.mu.Unlock()
					w.driver.handles[0].dead = dead
				}
				next := other()
				w.driver.strike("ReadAccess", fault{after: func(ctx context.Context) error {
					// The answer is there; before it is given the content is lost.
					w.driver.kill(next)
					err := w.store.Reopen(ctx)
					setDead(false)
					if accept {
						w.store.Accept()
					}
					return err
				}})
				w.wants(readAccess(w.Context(), w.store), storage.CodeUnavailable, "")
				if w.driver.count("ReadAccess") != 1 {
					w.Error("asked twice")
				}
			})
		})
	}
}

func TestLostTwice(t *testing.T) {
	calls := 0
	in(t, store.Options{OnLost: func() { calls++ }}, func(w *world) {
		for range 2 {
			w.driver.kill(other())
			if err := getGrant(w.Context(), w.store); err != nil {
				w.Error(err)
			}
			w.state(store.StateLost)
		}
		w.driver.refuse(errGone)
		w.driver.kill(nil)
		w.wants(readAccess(w.Context(), w.store), storage.CodeUnavailable, "")
		_ = getGrant(w.Context(), w.store)
		w.state(store.StateLost)
		w.store.Accept()
		w.state(store.StateReopening) // accepted, but not there
		w.driver.refuse(nil)
		if err := w.store.Reopen(w.Context()); err != nil {
			w.Error(err)
		}
		w.state(store.StateReady)
		w.driver.kill(other())
		_ = getGrant(w.Context(), w.store)
		w.state(store.StateLost)
		if calls != 3 || strings.Count(w.log.String(), "[ERROR]") != 3 {
			w.Errorf("OnLost %d times", calls)
		}
	})
}

// renewedElsewhere gives the content a new incarnation behind the store's back.
func (w *world) renewedElsewhere(ctx context.Context) error {
	elsewhere, err := w.driver.backend.Driver().Open(ctx, "p1")
	if err == nil {
		_, err = elsewhere.Renew(ctx, "")
	}
	return err
}

func TestContentThatWasRenewedElsewhereIsNoticed(t *testing.T) {
	in(t, store.Options{CompareEvery: time.Second}, func(w *world) {
		w.commit(insert("g1"))
		time.Sleep(10 * time.Second)
		if w.state(store.StateReady); w.driver.gaveUp() {
			w.Error("a handle of the same life was given up")
		}
		if err := w.renewedElsewhere(w.Context()); err != nil {
			w.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		w.state(store.StateLost)
		w.wants(readAccess(w.Context(), w.store), storage.CodeUnavailable, "")
	})
}

func TestACommitInFlightIsNotSentToContentRenewedElsewhere(t *testing.T) {
	in(t, store.Options{CompareEvery: time.Hour}, func(w *world) {
		w.driver.strike("Commit", fault{before: func(ctx context.Context) error {
			if err := w.renewedElsewhere(ctx); err != nil {
				w.Error(err)
			}
			return gone(ctx)
		}})
		w.wants(commitG1(w.Context(), w.store), storage.CodeUnavailable, authz.OutcomeUnknown)
		if w.driver.count("Commit") != 1 || w.ids() != "" {
			w.Errorf("sent %d times, rows %q", w.driver.count("Commit"), w.ids())
		}
	})
}

func TestARenewalOfUnknownFateOpensTheContentAnew(t *testing.T) {
	in(t, store.Options{CompareEvery: time.Hour}, func(w *world) {
		w.driver.strike("Renew", fault{after: gone})
		_, err := w.store.Renew(w.Context(), "")
		w.wants(err, storage.CodeUnavailable, authz.OutcomeUnknown)
		if err := w.store.Reopen(w.Context()); err != nil {
			w.Error(err)
		}
		w.state(store.StateLost)
	})
}

// The content that answers may be the same rows under another name: what was out may
// have been applied.
func TestACommitThatWasAppliedBeforeARenewalIsNeverCalledNotApplied(t *testing.T) {
	in(t, store.Options{CompareEvery: time.Hour}, func(w *world) {
		w.driver.strike("Commit", fault{after: func(ctx context.Context) error {
			if err := w.renewedElsewhere(ctx); err != nil {
				w.Error(err)
			}
			return gone(ctx)
		}})
		w.wants(commitG1(w.Context(), w.store), storage.CodeUnavailable, authz.OutcomeUnknown)
	})
}

// Whoever sends a commit later, or once more, says what it was judged against.
func TestACommitGoesOnlyToTheContentThatItWasJudgedAgainst(t *testing.T) {
	in(t, store.Options{}, func(w *world) {
		w.driver.refuse(errGone)
		w.driver.strike("Commit", fault{before: w.driver.dying(other())})
		ctx, cancel := context.WithTimeout(w.Context(), 90*time.Second)
		defer cancel()
		commit := insert("g1")
		commit.Incarnation = w.store.Info().Incarnation
		time.AfterFunc(40*time.Second, func() { w.driver.refuse(nil) }) // as another content
		for ctx.Err() == nil {
			if _, err := w.store.Commit(ctx, commit); storage.CodeOf(err) != storage.CodeUnavailable {
				w.Fatalf("it was answered by another content: %v", err)
			}
			time.Sleep(time.Second)
		}
		if w.ids() != "" {
			w.Errorf("rows %q", w.ids())
		}
	})
}
