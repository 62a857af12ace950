package relationaltest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// Fill commits three events and prunes the first.
func Fill(t *testing.T, s storage.Store) {
	t.Helper()
	keep := int64(2)
	_, err := s.Commit(t.Context(), storage.Commit{ID: "old", At: 1, Events: []authz.Event{authz.UserEvent("a"), authz.UserEvent("b"), authz.UserEvent("c")},
		Changes: []storage.Change{storage.UpsertRole{Role: authz.Role{ID: "r", Name: "R"}}}})
	if err == nil {
		_, err = s.PruneEvents(t.Context(), storage.PruneEvents{KeepRows: &keep})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// AfterVersionTwo expects what Fill left in a database of version 2, and a log that
// goes on from it: events of version 2 have no identity, and positions on them go by number.
func AfterVersionTwo(t *testing.T, s storage.Store) {
	t.Helper()
	ctx := t.Context()
	if head, err := s.Head(ctx); err != nil || (head != authz.Position{Seq: 3}) {
		t.Errorf("head %s, %v", head, err)
	}
	two, three := []authz.Event{authz.UserEvent("b"), authz.UserEvent("c")}, []authz.Event{authz.UserEvent("c")}
	for _, c := range []struct {
		after authz.Position
		want  storage.EventPage
	}{
		{authz.Position{}, storage.EventPage{Gap: true}},
		{authz.Position{Seq: 1}, storage.EventPage{UpTo: authz.Position{Seq: 3}, Events: two}},
		{authz.Position{Seq: 1, Identity: "any"}, storage.EventPage{UpTo: authz.Position{Seq: 3}, Events: two}}, // the mark
		{authz.Position{Seq: 2, Identity: "any"}, storage.EventPage{UpTo: authz.Position{Seq: 3}, Events: three}},
		{authz.Position{Seq: 3, Identity: "any"}, storage.EventPage{UpTo: authz.Position{Seq: 3, Identity: "any"}}},
		{authz.Position{Seq: 4, Identity: "any"}, storage.EventPage{Reset: true}},
	} {
		page, err := s.EventsSince(ctx, c.after, 10)
		if diff := cmp.Diff(c.want, page, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("after %s: %v (-want +got)\n%s", c.after, err, diff)
		}
	}
	if r, found, err := s.GetCommit(ctx, "old"); err != nil || !found || (r.UpTo != authz.Position{Seq: 3}) {
		t.Errorf("the commit of version 2 is kept as %+v, %v", r, err)
	}
	next := storage.Commit{ID: "next", Requires: []storage.Requirement{storage.RequireHead{Seq: 3, Identity: "any"}}, Events: []authz.Event{authz.UserEvent("d")}}
	want := authz.Position{Seq: 4, Identity: storage.Follow("", "next", 4)}
	if r, err := s.Commit(ctx, next); err != nil || r.UpTo != want {
		t.Errorf("the next event is at %s, %v, want %s", r.UpTo, err, want)
	}
	if page, err := s.EventsSince(ctx, authz.Position{Seq: 1}, 10); err != nil || page.UpTo != want || len(page.Events) != 3 {
		t.Errorf("with the next event: %+v, %v", page, err)
	}
}
