package billing

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/plugins/memory/memory"
)

type world struct {
	store *account.Store
	now   int64
	seats int64
	*Meters
}

func newWorld(t *testing.T) *world {
	t.Helper()
	records, err := memory.New(memory.Options{}).Open(t.Context(), account.Partition)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{now: time.Date(2026, 2, 14, 12, 0, 0, 0, time.UTC).UnixMilli()}
	w.store = account.New(records, func() int64 { return w.now })
	w.Meters = New(Options{Store: w.store, Standing: map[string]Count{
		AdminSeats: func(_ context.Context, org string) (int64, error) {
			if org == "acme" {
				return w.seats, nil
			}
			return 0, nil
		}}})
	return w
}

func (w *world) add(t *testing.T, org, name, part string, n int64) {
	t.Helper()
	tx := w.store.Begin(t.Context())
	if err := w.Add(t.Context(), tx, org, name, part, n); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

func codeOf(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Code
	}
	return ""
}

func to[T any](v T) *T { return &v }

func TestUsageListsEveryDimensionOfTheChapter(t *testing.T) {
	w := newWorld(t)
	w.seats = 3
	w.add(t, "acme", RetainedAuditEvents, "docs", 40)
	w.add(t, "acme", RetainedAuditEvents, "docs", 2)
	w.add(t, "acme", RetainedAuditEvents, "mail", 5)
	w.add(t, "acme", CatalogPublishes, "docs", 1)
	w.add(t, "other", CatalogPublishes, "docs", 9)
	got, err := w.Usage(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	want := Usage{Org: "acme", GeneratedAt: w.now,
		PeriodStart: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC).UnixMilli(),
		PeriodEnd:   time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixMilli(),
		Dimensions: []Dimension{
			{Dimension: "admin_seats", Kind: "standing", Unit: "seat", Value: 3, State: "under"},
			{Dimension: "linked_applications", Kind: "standing", Unit: "application", State: "under"},
			{Dimension: "federated_applications", Kind: "standing", Unit: "application", State: "under"},
			{Dimension: "provisioned_connectors", Kind: "standing", Unit: "connector", State: "under"},
			{Dimension: "retained_audit_events", Kind: "counted", Unit: "event", Value: 47, State: "under"},
			{Dimension: "catalog_publishes", Kind: "guardrail", Unit: "publish", Value: 1, State: "under"},
			{Dimension: "read_model_syncs", Kind: "guardrail", Unit: "sync", State: "under"},
		}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	w.now = want.PeriodEnd
	if d, err := w.Read(t.Context(), "acme", RetainedAuditEvents); err != nil || d.Value != 0 {
		t.Errorf("a counted dimension in the next month: %d, %v", d.Value, err)
	}
}

func TestACapIsUnderReachedOrOver(t *testing.T) {
	w := newWorld(t)
	w.seats = 3
	for _, c := range []struct {
		limit    *int64
		state    State
		degraded *string
		code     string
	}{
		{nil, Under, nil, ""},
		{to[int64](4), Under, nil, ""},
		{to[int64](3), Reached, to("seat_activation"), "cap_reached"},
		{to[int64](2), Over, to("seat_activation"), "cap_reached"},
		{to[int64](0), Over, to("seat_activation"), "cap_reached"},
	} {
		got, err := w.SetCap(t.Context(), "u_1", "acme", AdminSeats, c.limit)
		if err != nil {
			t.Fatal(err)
		}
		want := Dimension{Dimension: AdminSeats, Kind: Standing, Unit: "seat", Value: 3, Cap: c.limit, State: c.state, Degraded: c.degraded}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		err = w.Check(t.Context(), "acme", AdminSeats)
		if codeOf(err) != c.code {
			t.Errorf("Check with the state %s: %v", c.state, err)
		}
		if c.code != "" {
			if diff := cmp.Diff(map[string]any{"dimension": AdminSeats, "cap": *c.limit, "value": int64(3)}, err.(*fault.Error).Fields); diff != "" {
				t.Error(diff)
			}
		}
		if err := w.Check(t.Context(), "other", AdminSeats); err != nil {
			t.Errorf("the cap of one org holds in another: %v", err)
		}
	}
}

func TestCapsThatAreRefusedChangeAndRecordNothing(t *testing.T) {
	w := newWorld(t)
	for code, set := range map[string]func() error{
		"dimension_not_found": func() error { _, err := w.SetCap(t.Context(), "u_1", "acme", "checks", to[int64](1)); return err },
		"invalid_request":     func() error { _, err := w.SetCap(t.Context(), "u_1", "acme", AdminSeats, to[int64](-1)); return err },
	} {
		if err := set(); codeOf(err) != code {
			t.Errorf("%v instead of %s", err, code)
		}
	}
	for row, err := range account.Log.All(t.Context(), w.store, "acme") {
		t.Errorf("an entry of the log: %v, %v", row.Value.Action, err)
	}
	if _, err := w.SetCap(t.Context(), "u_1", "acme", AdminSeats, to[int64](7)); err != nil {
		t.Fatal(err)
	}
	for row := range account.Log.All(t.Context(), w.store, "acme") {
		e := row.Value
		if e.Actor != "u_1" || e.Action != "billing.set_cap" || e.Target != AdminSeats || string(e.Detail) != `{"before":null,"cap":7}` {
			t.Errorf("the log has %+v with %s", e, e.Detail)
		}
	}
}

func TestPartsCountAtTheSameTime(t *testing.T) {
	w := newWorld(t)
	var all sync.WaitGroup
	for _, part := range []string{"a", "b", "c", "d"} {
		all.Go(func() {
			for range 25 {
				w.add(t, "acme", CatalogPublishes, part, 1)
			}
		})
	}
	all.Wait()
	if d, err := w.Read(t.Context(), "acme", CatalogPublishes); err != nil || d.Value != 100 {
		t.Errorf("100 publishes were counted as %d, %v", d.Value, err)
	}
}
