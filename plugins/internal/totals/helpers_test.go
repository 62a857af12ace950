package totals_test

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/authzhost/authz/plugins/internal/totals"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

// clock is an instant that a test moves.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time { return c.now }

func quiet(o totals.Options) totals.Options {
	o.Log = slog.New(slog.DiscardHandler)
	return o
}

func mustOpen(t testing.TB, o totals.Options) *totals.Table {
	t.Helper()
	table, err := totals.Open(quiet(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close(t.Context()) })
	return table
}

func mustWrite(t testing.TB, table *totals.Table, windows ...metrics.Window) {
	t.Helper()
	for _, w := range windows {
		if err := table.Write(t.Context(), w); err != nil {
			t.Fatalf("%s %d: %v", w.Origin, w.Sequence, err)
		}
	}
}

// window counts checks of the permissions named, value times each.
func window(origin string, sequence uint64, value float64, permissions ...string) metrics.Window {
	w := metrics.Window{Application: "docs", Origin: origin, Sequence: sequence}
	w.InstanceID, w.WindowStart, w.WindowEnd = "host-1", 1000, 61000
	for _, p := range permissions {
		w.Checks = append(w.Checks, metrics.CheckCounter{Permission: p, Decision: metrics.Allow, Shape: metrics.ShapeCan, Gate: true,
			ScopeType: "*", Observed: 1, Estimated: value})
	}
	return w
}

// told is what the table says, zeros left out.
func told(table *totals.Table) map[string]float64 {
	m := map[string]float64{}
	for _, s := range table.Series() {
		if s.Total != 0 {
			m[fmt.Sprint(s.Instrument, " ", s.Name)] += s.Total
		}
	}
	return m
}

func outcome(err error) authz.Outcome {
	var down *authz.UnavailableError
	if errors.As(err, &down) {
		return down.Outcome
	}
	return ""
}
