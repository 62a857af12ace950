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

// position is that of an event with its identity, read from the store; 0 has none.
func position(t *testing.T, store storage.Store, seq int64) authz.Position {
	t.Helper()
	if seq == 0 {
		return authz.Position{}
	}
	page, err := store.EventsSince(t.Context(), authz.Position{Seq: seq - 1}, 1)
	must(t, err)
	if page.UpTo.Seq != seq || page.UpTo.Identity == "" {
		t.Fatalf("event %d is at %+v", seq, page.UpTo)
	}
	return page.UpTo
}

func TestTheEventLogNumbersTheEventsOfWrites(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store})
	head := func(want int64) {
		t.Helper()
		got, err := app.EventLog().Head(t.Context())
		must(t, err)
		if diff := cmp.Diff(provider.EventLogHead{Position: position(t, store, want), Log: store.Info().Incarnation}, got); diff != "" {
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
		want provider.EventLogPage
	}{
		{0, 0, provider.EventLogPage{UpTo: position(t, store, 3), Events: []authz.Event{authz.SubjectEvent("user:u"), authz.UserEvent("u"), authz.UserEvent("v")}}},
		{1, 1, provider.EventLogPage{UpTo: position(t, store, 2), Events: []authz.Event{authz.UserEvent("u")}}},
		{2, -5, provider.EventLogPage{UpTo: position(t, store, 3), Events: []authz.Event{authz.UserEvent("v")}}},
		{2, 1 << 40, provider.EventLogPage{UpTo: position(t, store, 3), Events: []authz.Event{authz.UserEvent("v")}}},
	} {
		got, err := app.EventLog().Since(t.Context(), authz.Position{Seq: c.seq}, c.take)
		must(t, err)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("since %d, limit %d:\n%s", c.seq, c.take, diff)
		}
	}
	ahead, err := app.EventLog().Since(t.Context(), authz.Position{Seq: 9}, 1)
	must(t, err)
	if (ahead.UpTo != authz.Position{Seq: 9}) || len(ahead.Events) != 0 || ahead.Gap || ahead.Reset {
		t.Errorf("ahead of the head: %+v", ahead)
	}
	for _, seq := range []int64{2, 3, 9} {
		reset, err := app.EventLog().Since(t.Context(), authz.Position{Seq: seq, Identity: "another"}, 1)
		must(t, err)
		if diff := cmp.Diff(provider.EventLogPage{Reset: true}, reset); diff != "" {
			t.Errorf("after another event %d:\n%s", seq, diff)
		}
	}
	_, err = store.PruneEvents(t.Context(), storage.PruneEvents{KeepRows: ptr(int64(1))})
	must(t, err)
	gap, err := app.EventLog().Since(t.Context(), authz.Position{Seq: 1}, 1)
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
	var at []authz.Position
	for seq := range int64(4) {
		at = append(at, position(t, store, seq))
	}
	at = append(at, authz.Position{Seq: 4, Identity: "not yet"})
	for after, want := range []int{2, 2, 2, 3, 4} {
		if got := app.Delivered(log, at[after]); got != at[want] {
			t.Errorf("after %d: delivered up to %s, want %d", after, got, want)
		}
	}
	write(app, "d") // 4
	at = append(at[:4], position(t, store, 4), authz.Position{Seq: 5, Identity: "not yet"})
	for after, want := range []int{0, 1, 2, 4, 4, 5} {
		if got := app.Delivered(log, at[after]); got != at[want] {
			t.Errorf("behind another's write, after %d: delivered up to %s, want %d", after, got, want)
		}
	}
	if got := app.Delivered("another log", at[3]); got != at[3] {
		t.Errorf("of another log: %s", got)
	}
	lost := authz.Position{Seq: 3, Identity: "another"} // its number was given again
	if got := app.Delivered(log, lost); got != lost {
		t.Errorf("of another event 3: %s", got)
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

func (s *replaced) Head(context.Context) (authz.Position, error) {
	head := authz.Position{Seq: int64(100 * len(s.lives)), Identity: s.lives[0]} // of this life
	if len(s.lives) > 1 {
		s.lives = s.lives[1:]
	}
	return head, nil
}

func TestAHeadIsNeverGivenForTheNumberOfAnotherLog(t *testing.T) {
	app := func(lives ...string) *application.Application {
		return newApp(t, application.Options{Store: &replaced{openStore(t), lives}})
	}
	got, err := app("old", "new").EventLog().Head(t.Context())
	must(t, err)
	if diff := cmp.Diff(provider.EventLogHead{Position: authz.Position{Seq: 100, Identity: "new"}, Log: "new"}, got); diff != "" {
		t.Error(diff)
	}
	var outage *authz.UnavailableError
	if got, err := app("a", "b", "c").EventLog().Head(t.Context()); !errors.As(err, &outage) {
		t.Errorf("content that does not settle: %+v, %v", got, err)
	}
}

func TestWithPersistenceOffThereIsNoEventLog(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store, PersistEvents: ptr(false)})
	heard := 0
	app.OnInvalidate(func(authz.Event) { heard++ })
	must(t, app.SetUserActive(t.Context(), "u", true, root))
	must(t, app.NotifyScopeMoved(t.Context(), "docs.doc:1"))
	head, err := store.Head(t.Context())
	must(t, err)
	if app.EventLog() != nil || (head != authz.Position{}) || heard != 2 {
		t.Errorf("event log %v, head %s, heard %d", app.EventLog(), head, heard)
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
		page, err := app.EventLog().Since(t.Context(), authz.Position{}, 1)
		must(t, err)
		if page.Gap {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("never pruned")
		}
		time.Sleep(time.Millisecond)
	}
	page, err := app.EventLog().Since(t.Context(), authz.Position{Seq: 27}, 100)
	must(t, err)
	if len(page.Events) != 5 {
		t.Errorf("kept %d events, want the newest 5", len(page.Events))
	}
	if entries := rows(t, app.ListAuditEvents(t.Context(), provider.AuditQuery{})); len(entries) != 32 {
		t.Errorf("%d audit entries, want all", len(entries))
	}
}
