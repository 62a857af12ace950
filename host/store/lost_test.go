package store_test

import (
	"context"
	"fmt"
	"runtime"
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

// A loss can be seen before caches are emptied of it. What is accepted then is the new
// content, once they are.
func TestAnAcceptanceWaitsUntilTheLossIsTold(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	var before string
	var w *world
	returned := false
	onLost := func() {
		if w.store.Info().Incarnation == before {
			return // that it was taken away
		}
		close(entered)
		<-release
		returned = true
	}
	in(t, store.Options{CompareEvery: time.Hour, HealthEvery: time.Second, OnLost: onLost}, func(in *world) {
		w = in
		before = w.store.Info().Incarnation
		w.take("Health", "")
		time.Sleep(2 * time.Second)
		w.driver.refuse(nil)
		go func() { _ = w.store.Reopen(w.Context()) }()
		<-entered
		accepted := make(chan bool, 1)
		go func() { accepted <- w.store.Accept() && returned }()
		for range 1000 { // a goroutine at a mutex is none that synctest waits for
			runtime.Gosched()
		}
		close(release)
		if !<-accepted {
			w.Error("refused, or accepted before OnLost returned")
		}
		w.state(store.StateReady)
		if err := readAccess(w.Context(), w.store); err != nil {
			w.Error(err)
		}
	})
}
