package store_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/authzhost/authz/host/store"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

var errTaken = storage.Lost(authz.OutcomeNotApplied, nil, "the file was removed")

// take has the driver say that its content was taken away, at every opening too.
func (w *world) take(op string, outcome authz.Outcome) {
	w.driver.strike(op, fault{before: func(context.Context) error {
		w.driver.refuse(errTaken)
		return storage.Lost(outcome, nil, "the file was removed")
	}})
}

func TestContentThatIsTakenAwayIsLostWithoutACall(t *testing.T) {
	for _, old := range []bool{false, true} {
		t.Run(fmt.Sprintf("a plugin from before the capabilities: %v", old), func(t *testing.T) { isTakenAway(t, old) })
	}
}

func isTakenAway(t *testing.T, old bool) {
	lost := 0
	in(t, store.Options{CompareEvery: time.Hour, OnLost: func() { lost++ }}, func(w *world) {
		if w.driver.old = old; old {
			w.driver.kill(nil)
			if err := w.store.Reopen(w.Context()); err != nil || w.store.Info().Capabilities.Has(storage.CapHealth) {
				w.Fatal(err, w.store.Info().Capabilities)
			}
		}
		w.commit(insert("g1"))
		before := w.store.Info().Incarnation
		w.take("Health", "")
		time.Sleep(time.Second)
		synctest.Wait()
		w.state(store.StateLost)
		if got := w.store.Status(); got.Reason != "the file was removed" || lost != 1 {
			w.Errorf("%+v, OnLost %d times", got, lost)
		}
		asked := time.Now()
		w.wants(readAccess(w.Context(), w.store), storage.CodeUnavailable, "")
		w.wants(listGrants(w.Context(), w.store), storage.CodeUnavailable, "")
		w.wants(commitG1(w.Context(), w.store), storage.CodeUnavailable, authz.OutcomeNotApplied)
		if waited := time.Since(asked); waited > 0 { // of the bubble's clock
			w.Errorf("a call waited %v for what takes an operator", waited)
		}
		if w.store.Accept() {
			w.Error("content that is not there was accepted")
		}
		w.state(store.StateLost)

		// What comes back under the same name may be an older copy.
		w.driver.refuse(nil)
		if err := w.store.Reopen(w.Context()); err != nil {
			w.Fatal(err)
		}
		w.state(store.StateLost)
		if w.store.Info().Incarnation == before {
			w.Error("other hosts would take it for what they knew")
		}
		w.wants(readAccess(w.Context(), w.store), storage.CodeUnavailable, "")
		w.commit(insert("g2"))
		if !w.store.Accept() {
			w.Error("nothing accepted")
		}
		w.state(store.StateReady)
		if err := readAccess(w.Context(), w.store); err != nil {
			w.Error(err)
		}
	})
}

func TestACommitToContentThatIsTakenAwayIsNotSentAgain(t *testing.T) {
	for _, outcome := range []authz.Outcome{authz.OutcomeNotApplied, authz.OutcomeUnknown} {
		in(t, store.Options{CompareEvery: time.Hour, HealthEvery: time.Hour}, func(w *world) {
			w.take("Commit", outcome)
			w.driver.strike("GetCommit", fault{before: func(context.Context) error { return errTaken }}) // what the probe finds
			asked := time.Now()
			w.wants(commitG1(w.Context(), w.store), storage.CodeUnavailable, outcome)
			if waited := time.Since(asked); waited > 0 || w.driver.count("Commit") != 1 {
				w.Errorf("sent %d times within %v", w.driver.count("Commit"), waited)
			}
			w.state(store.StateLost)
		})
	}
}

// A loss can be seen before caches are emptied of it. Nothing is accepted until they are.
func TestAnAcceptanceWaitsUntilTheLossIsTold(t *testing.T) {
	for how, c := range map[string]struct {
		telling int32 // the call of OnLost that takes its time
		lose    func(*world)
		come    func(*world) // while OnLost runs
		sure    bool         // that an acceptance then finds content
	}{
		"lost events": {1, func(w *world) {
			go w.store.LostPosition(w.Context(), w.store.Info().Incarnation, authz.Position{Seq: 9})
		}, func(*world) {}, true},
		"taken away, and back as the same life": {1, func(w *world) {
			w.driver.strike("Renew", fault{before: func(context.Context) error { return storage.Errorf(storage.CodeUnsupported, "") }})
			w.take("Health", "")
		}, (*world).putBack, false},
		"back as another life": {2, func(w *world) {
			w.take("Health", "")
			time.Sleep(2 * time.Second)
			w.putBack()
		}, func(*world) {}, true},
	} {
		t.Run(how, func(t *testing.T) {
			var calls atomic.Int32
			var told atomic.Bool
			var entered, release chan struct{}
			onLost := func() {
				if calls.Add(1) == c.telling {
					close(entered)
					<-release
					told.Store(true)
				}
			}
			in(t, store.Options{CompareEvery: time.Hour, HealthEvery: time.Second, OnLost: onLost}, func(w *world) {
				entered, release = make(chan struct{}), make(chan struct{})
				c.lose(w)
				<-entered
				c.come(w)
				yield()
				type answer struct{ accepted, told bool }
				answers := make(chan answer, 1)
				var begun atomic.Bool
				go func() {
					begun.Store(true)
					answers <- answer{w.store.Accept(), told.Load()}
				}()
				for !begun.Load() {
					runtime.Gosched()
				}
				yield()
				close(release)
				if got := <-answers; got.accepted && !got.told || c.sure && !got.accepted {
					w.Errorf("%+v", got)
				}
			})
		})
	}
}

// putBack has the driver open its content again, and the store told of it.
func (w *world) putBack() {
	w.driver.refuse(nil)
	go func() { _ = w.store.Reopen(w.Context()) }()
}

// yield lets the other goroutines go on as far as they can: synctest waits for none
// that is at a mutex.
func yield() {
	for range 20_000 {
		runtime.Gosched()
	}
}
