package store_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/authzhost/authz/host/store"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func TestALogThatLacksAPositionIsALostStore(t *testing.T) {
	lost := 0
	in(t, store.Options{OnLost: func() { lost++ }}, func(w *world) {
		lost = 0
		w.commit(insert("g1"))
		before := w.store.Info().Incarnation
		kept, err := w.store.Head(w.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, there := range []authz.Position{{}, kept, {Seq: kept.Seq}} {
			w.store.LostPosition(w.Context(), before, there)
		}
		w.store.LostPosition(w.Context(), "an earlier life", authz.Position{Seq: 1, Identity: "another"})
		if w.state(store.StateReady); lost != 0 || w.driver.count("Renew") != 0 {
			w.Error("a position that is there, or of content that is gone already, is no loss")
		}
		w.driver.strike("Renew", fault{before: gone}) // tried again at the next comparison
		w.store.LostPosition(w.Context(), before, authz.Position{Seq: 1, Identity: "another"})
		w.state(store.StateLost)
		w.wants(readAccess(w.Context(), w.store), storage.CodeUnavailable, "")
		time.Sleep(6 * time.Second)
		synctest.Wait()
		w.state(store.StateLost)
		if after := w.store.Info().Incarnation; after == before || w.driver.count("Renew") != 2 || lost < 1 {
			w.Errorf("incarnation %q after %q, renewed %d times, told %d times", after, before, w.driver.count("Renew"), lost)
		}
		if reason := w.store.State().Reason; !strings.Contains(reason, "lost event 1 (another)") {
			w.Errorf("the reason is %q", reason)
		}
		w.store.Accept()
		if err := readAccess(w.Context(), w.store); err != nil {
			w.Error(err)
		}
	})
}

func TestTheFirstWhoFindsALossRenewsAndTheOthersLearn(t *testing.T) {
	in(t, store.Options{}, func(w *world) {
		w.commit(insert("g1"))
		before := w.store.Info().Incarnation
		renewed, err := w.driver.handles[0].Renew(w.Context(), before) // another host
		if err != nil {
			t.Fatal(err)
		}
		w.store.LostPosition(w.Context(), before, authz.Position{Seq: 9})
		time.Sleep(time.Second)
		synctest.Wait()
		w.state(store.StateLost)
		if got := w.store.Info().Incarnation; got != renewed {
			w.Errorf("the second finder renewed again: %q, not %q", got, renewed)
		}
	})
}

func TestAPinnedIncarnationRefusesAnyOther(t *testing.T) {
	in(t, store.Options{}, func(w *world) {
		for _, pinned := range []string{"", w.store.Info().Incarnation} {
			s, err := store.Open(w.Context(), w.driver, "p1", store.Options{Incarnation: pinned})
			if err != nil {
				t.Fatal(err)
			}
			_ = s.Close()
		}
		_, err := store.Open(w.Context(), w.driver, "p1", store.Options{Incarnation: "another"})
		if err == nil || !strings.Contains(err.Error(), `not another, which storage.incarnation asks for`) {
			t.Errorf("%v", err)
		}
	})
}
