package changes_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/authzhost/authz/host/service/changes"
)

// world is what lies at the places; -1 cannot be looked at.
type world struct {
	account, org atomic.Int64
	looks        atomic.Int64
}

func (w *world) look(_ context.Context, at changes.Place, _ string) (string, error) {
	w.looks.Add(1)
	n := map[string]*atomic.Int64{changes.Account: &w.account, changes.Root: &w.org}[at.Name].Load()
	if n < 0 {
		return "", errors.New("an outage")
	}
	return fmt.Sprint(n), nil
}

func told(t *testing.T, one *changes.Waiter, want ...string) {
	t.Helper()
	synctest.Wait()
	select {
	case <-one.Ready:
	default:
	}
	if got, _ := one.Changed(); !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
}

func TestWhoWaitsIsToldWhereSomethingWasWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		watcher := changes.New(w.look, 0)
		one := watcher.Wait("acme", changes.Account, changes.Root)
		told(t, one, changes.Account, changes.Root) // something may have been written before the look
		other := watcher.Wait("acme", changes.Root)
		time.Sleep(10 * changes.Every)
		told(t, one)
		told(t, other)

		w.org.Add(1)
		w.account.Add(1)
		time.Sleep(changes.Every)
		told(t, one, changes.Account, changes.Root)
		told(t, other, changes.Root)

		w.org.Store(-1) // an outage tells nothing, and loses nothing
		time.Sleep(10 * changes.Every)
		told(t, other)
		w.org.Store(2)
		time.Sleep(changes.Every)
		told(t, other, changes.Root)
		w.org.Store(-1)
		time.Sleep(changes.Every)
		w.org.Store(2)
		time.Sleep(changes.Every)
		told(t, other)

		before := w.looks.Load()
		time.Sleep(10 * changes.Every)
		if n := w.looks.Load() - before; n < 16 || n > 20 {
			t.Errorf("%d looks at two places in ten times; two who wait cost no more than one", n)
		}
		one.Close()
		other.Close()
		synctest.Wait()
		before = w.looks.Load()
		time.Sleep(10 * changes.Every)
		if n := w.looks.Load() - before; n != 0 {
			t.Errorf("%d looks, and nobody waits", n)
		}
		watcher.Close()
	})
}

func TestClosingEndsAllWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		watcher := changes.New(w.look, 0)
		one := watcher.Wait("acme", changes.Account)
		watcher.Close()
		for _, waiter := range []*changes.Waiter{one, watcher.Wait("acme", changes.Account)} {
			<-waiter.Ready
			if _, over := waiter.Changed(); !over {
				t.Error("still waiting")
			}
			waiter.Close()
		}
	})
}
