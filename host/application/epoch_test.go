package application_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

func TestTheEpochNumbersTheEventsOfWrites(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store})
	head := func(want int64) {
		t.Helper()
		got, err := app.Epoch().Head(t.Context())
		must(t, err)
		if diff := cmp.Diff(provider.EpochHead{Seq: want, Log: store.Info().Incarnation}, got); diff != "" {
			t.Error(diff)
		}
	}
	head(0)
	must(t, createGrant(provider.GrantInput{Subject: "user:u", Pattern: "docs.*"})(t.Context(), app))
	must(t, app.SetUserActive(t.Context(), "v", true, root))
	head(3)
	for _, c := range []struct {
		seq  int64
		take int
		want provider.EpochPage
	}{
		{0, 0, provider.EpochPage{UpTo: 3, Events: []authz.Event{authz.SubjectEvent("user:u"), authz.UserEvent("u"), authz.UserEvent("v")}}},
		{1, 1, provider.EpochPage{UpTo: 2, Events: []authz.Event{authz.UserEvent("u")}}},
		{2, -5, provider.EpochPage{UpTo: 3, Events: []authz.Event{authz.UserEvent("v")}}},
		{2, 1 << 40, provider.EpochPage{UpTo: 3, Events: []authz.Event{authz.UserEvent("v")}}},
	} {
		got, err := app.Epoch().Since(t.Context(), c.seq, c.take)
		must(t, err)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("since %d, limit %d:\n%s", c.seq, c.take, diff)
		}
	}
	ahead, err := app.Epoch().Since(t.Context(), 9, 1)
	must(t, err)
	if ahead.UpTo != 9 || len(ahead.Events) != 0 || ahead.Gap {
		t.Errorf("ahead of the head: %+v", ahead)
	}
	_, err = store.PruneEvents(t.Context(), storage.PruneEvents{KeepRows: ptr(int64(1))})
	must(t, err)
	gap, err := app.Epoch().Since(t.Context(), 1, 1)
	must(t, err)
	if !gap.Gap {
		t.Errorf("pruned: %+v", gap)
	}
}

func TestWhatOwnWritesDeliveredNeedsNoReading(t *testing.T) {
	store := openStore(t)
	app, other := newApp(t, application.Options{Store: store}), newApp(t, application.Options{Store: store})
	log := store.Info().Incarnation
	write := func(by *application.Application, user string) {
		t.Helper()
		must(t, by.SetUserActive(t.Context(), user, true, root))
	}
	write(app, "a")   // 1
	write(app, "b")   // 2
	write(other, "c") // 3
	for after, want := range []int64{2, 2, 2, 3, 4} {
		if got := app.Delivered(log, int64(after)); got != want {
			t.Errorf("after %d: delivered up to %d, want %d", after, got, want)
		}
	}
	write(app, "d") // 4
	for after, want := range []int64{0, 1, 2, 4, 4, 5} {
		if got := app.Delivered(log, int64(after)); got != want {
			t.Errorf("behind another's write, after %d: delivered up to %d, want %d", after, got, want)
		}
	}
	if got := app.Delivered("another log", 3); got != 3 {
		t.Errorf("of another log: %d", got)
	}
}

// replaced is a store whose content becomes another while its head is read.
type replaced struct {
	storage.Store
	lives []string // the present one first
}

func (s *replaced) Info() storage.StoreInfo {
	info := s.Store.Info()
	info.Incarnation = s.lives[0]
	return info
}

func (s *replaced) HeadSeq(context.Context) (int64, error) {
	head := int64(100 * len(s.lives)) // of this life
	if len(s.lives) > 1 {
		s.lives = s.lives[1:]
	}
	return head, nil
}

func TestAHeadIsNeverGivenForTheNumberOfAnotherLog(t *testing.T) {
	app := func(lives ...string) *application.Application {
		return newApp(t, application.Options{Store: &replaced{openStore(t), lives}})
	}
	got, err := app("old", "new").Epoch().Head(t.Context())
	must(t, err)
	if diff := cmp.Diff(provider.EpochHead{Seq: 100, Log: "new"}, got); diff != "" {
		t.Error(diff)
	}
	var outage *authz.UnavailableError
	if got, err := app("a", "b", "c").Epoch().Head(t.Context()); !errors.As(err, &outage) {
		t.Errorf("content that does not settle: %+v, %v", got, err)
	}
}

func TestWithPersistenceOffThereIsNoEpoch(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store, PersistEvents: ptr(false)})
	heard := 0
	app.OnInvalidate(func(authz.Event) { heard++ })
	must(t, app.SetUserActive(t.Context(), "u", true, root))
	must(t, app.NotifyScopeMoved(t.Context(), "docs.doc:1"))
	head, err := store.HeadSeq(t.Context())
	must(t, err)
	if app.Epoch() != nil || head != 0 || heard != 2 {
		t.Errorf("epoch %v, head %d, heard %d", app.Epoch(), head, heard)
	}
}

func TestTheLogIsPrunedNowAndThen(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store, EventRetention: application.EventRetention{MaxRows: 5}})
	for i := range 32 {
		must(t, app.SetUserActive(t.Context(), fmt.Sprintf("u%d", i), true, root))
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		page, err := app.Epoch().Since(t.Context(), 0, 1)
		must(t, err)
		if page.Gap {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("never pruned")
		}
		time.Sleep(time.Millisecond)
	}
	page, err := app.Epoch().Since(t.Context(), 27, 100)
	must(t, err)
	if len(page.Events) != 5 {
		t.Errorf("kept %d events, want the newest 5", len(page.Events))
	}
	if entries := rows(t, app.ListAuditEvents(t.Context(), provider.AuditQuery{})); len(entries) != 32 {
		t.Errorf("%d audit entries, want all", len(entries))
	}
}
