package totals_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/plugins/internal/totals"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

func TestWindowsAddUp(t *testing.T) {
	w := window("o", 1, 2, "docs.read")
	w.Checks = append(w.Checks, metrics.CheckCounter{Permission: "docs.read", Decision: metrics.Deny, Shape: metrics.ShapeCanAny, ScopeType: "docs.file", Scope: "docs.file:1", Estimated: 2.5})
	w.Grants = []metrics.RowCounter{{RowID: "g1", Matched: 1, SoleMatch: 1, EstimatedMatched: 4, EstimatedSoleMatch: 3}, {RowID: "g2", EstimatedMatched: 1}}
	w.Revokes = []metrics.RowCounter{{RowID: "r1", EstimatedMatched: 5, EstimatedSoleMatch: 5}}
	w.Roles = []metrics.RowCounter{{RowID: "editor", EstimatedMatched: 6, EstimatedSoleMatch: 1}}
	w.Dropped = 7
	table := mustOpen(t, totals.Options{})
	mustWrite(t, table, w)
	w.Sequence = 4
	mustWrite(t, table, w)
	want := map[string]float64{"checks docs.read": 9, "grant.matched g1": 8, "grant.sole_match g1": 6, "grant.matched g2": 2,
		"revoke.matched r1": 10, "role.matched editor": 12, "dropped ": 14}
	if diff := cmp.Diff(want, told(table)); diff != "" {
		t.Error(diff)
	}
	rows := mustOpen(t, totals.Options{OmitRows: true})
	mustWrite(t, rows, w)
	if diff := cmp.Diff(map[string]float64{"checks docs.read": 4.5, "dropped ": 7}, told(rows)); diff != "" {
		t.Error("without rows:", diff)
	}
	for _, s := range table.Series() {
		if len(s.Values()) != len(s.Instrument.Labels()) {
			t.Errorf("%s has %d labels and %d values", s.Instrument, len(s.Instrument.Labels()), len(s.Values()))
		}
	}
}

func TestAWindowIsTakenOnce(t *testing.T) {
	table := mustOpen(t, totals.Options{})
	mustWrite(t, table, window("o", 1, 1, "a"), window("o", 1, 1, "a"), window("o", 5, 1, "a"), window("o", 5, 1, "a"), window("o", 4, 1, "a"))
	other := window("o", 1, 1, "a")
	other.Application = "shop"
	mustWrite(t, table, other, window("p", 1, 1, "a"))
	if got := told(table)["checks a"]; got != 4 {
		t.Errorf("%v checks, want 4", got)
	}
	if table.Taken() != 4 {
		t.Errorf("%d windows taken, want 4", table.Taken())
	}
}

func TestWindowsThatSayNoCountsAreRefusedWhole(t *testing.T) {
	table := mustOpen(t, totals.Options{})
	for name, change := range map[string]func(*metrics.Window){
		"no application":       func(w *metrics.Window) { w.Application = "" },
		"no origin":            func(w *metrics.Window) { w.Origin = "" },
		"an origin of slashes": func(w *metrics.Window) { w.Origin = "a/b" },
		"a long origin":        func(w *metrics.Window) { w.Origin = strings.Repeat("o", 65) },
		"no sequence":          func(w *metrics.Window) { w.Sequence = 0 },
		"time runs backwards":  func(w *metrics.Window) { w.WindowEnd = w.WindowStart - 1 },
		"not a number":         func(w *metrics.Window) { w.Checks[1].Estimated = math.NaN() },
		"infinite":             func(w *metrics.Window) { w.Checks[1].Estimated = math.Inf(1) },
		"negative":             func(w *metrics.Window) { w.Checks[1].Estimated = -1 },
		"a negative row":       func(w *metrics.Window) { w.Roles = []metrics.RowCounter{{RowID: "r", EstimatedMatched: -1}} },
		"negative drops":       func(w *metrics.Window) { w.Dropped = -1 },
		"not UTF-8":            func(w *metrics.Window) { w.Checks[1].Permission = "\xff" },
	} {
		w := window("o", 1, 1, "a", "b")
		change(&w)
		if err := table.Write(t.Context(), w); authz.CodeOf(err) != authz.CodeValidation {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := told(table); len(got) != 0 {
		t.Error("counted", got)
	}
}

func TestSeriesAreBoundedAndWhatIsRefusedIsCounted(t *testing.T) {
	clock := newClock()
	table := mustOpen(t, totals.Options{MaxSeries: 3, Clock: clock.Now})
	w := window("o", 1, 2, "a", "b", "c", "d", "e")
	w.Roles = []metrics.RowCounter{{RowID: "r", EstimatedMatched: 9}}
	mustWrite(t, table, w)
	want := map[string]float64{"checks a": 2, "checks b": 2, "checks c": 2, "sink.series_refused ": 3, "sink.checks_refused ": 4}
	if diff := cmp.Diff(want, told(table)); diff != "" {
		t.Error(diff)
	}
	clock.now = clock.now.Add(20 * time.Hour)
	mustWrite(t, table, window("o", 2, 1, "a"))
	clock.now = clock.now.Add(5 * time.Hour) // b and c have been still for a day
	mustWrite(t, table, window("o", 3, 1, "b", "d", "e"))
	// d made room: b was about to grow and stayed, c went; e found no room in the same minute.
	want = map[string]float64{"checks a": 3, "checks b": 3, "checks d": 1, "sink.series_refused ": 4, "sink.checks_refused ": 5}
	if diff := cmp.Diff(want, told(table)); diff != "" {
		t.Error(diff)
	}
	for _, s := range table.Series() {
		if s.Name == "d" && s.Started != clock.now.UnixMilli() {
			t.Error("d does not start when it came")
		}
	}
	clock.now = clock.now.Add(25 * time.Hour)
	mustWrite(t, table, window("o", 4, 1, "f", "b")) // f makes room before b has grown
	want = map[string]float64{"checks b": 4, "checks f": 1, "sink.series_refused ": 4, "sink.checks_refused ": 5}
	if diff := cmp.Diff(want, told(table)); diff != "" {
		t.Error("a series that the window grows fell back:", diff)
	}
}

func TestTotalsStayNumbers(t *testing.T) {
	o := totals.Options{Dir: t.TempDir()}
	table := mustOpen(t, o)
	mustWrite(t, table, window("o", 1, math.MaxFloat64, "a"), window("o", 2, math.MaxFloat64, "a"))
	if got := told(reopen(t, table, o))["checks a"]; got != math.MaxFloat64 {
		t.Errorf("%v checks", got)
	}
}

func TestConcurrentWritersAndReaders(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		table := mustOpen(t, totals.Options{Dir: dir})
		var all sync.WaitGroup
		const origins, windows = 8, 25
		for o := range origins {
			all.Go(func() {
				for i := range windows {
					if err := table.Write(t.Context(), window(fmt.Sprint("o", o), uint64(i+1), 1, "a", "b")); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Go(func() {
			for range 50 {
				m := told(table)
				if m["checks a"] != m["checks b"] {
					t.Errorf("a reader saw half a window: %v", m)
				}
			}
		})
		all.Wait()
		if got := told(table)["checks a"]; got != origins*windows {
			t.Errorf("%v checks, want %d", got, origins*windows)
		}
	}
}

func TestAClosedTableTakesNothing(t *testing.T) {
	table := mustOpen(t, totals.Options{})
	mustWrite(t, table, window("o", 1, 1, "a"))
	if err := table.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := table.Write(t.Context(), window("o", 2, 1, "a")); outcome(err) != authz.OutcomeNotApplied {
		t.Error(err)
	}
	if err := table.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if got := told(table)["checks a"]; got != 1 {
		t.Errorf("%v checks", got)
	}
}

func TestACloseThatHasNoTimeEndsTheTableAllTheSame(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range 20 {
		o := totals.Options{}
		if i%2 == 1 {
			o.Dir = t.TempDir()
		}
		table := mustOpen(t, o)
		if err := table.Close(ended); err != nil {
			t.Error(err)
		}
		if err := table.Write(t.Context(), window("o", 1, 1, "a")); outcome(err) != authz.OutcomeNotApplied {
			t.Fatalf("a closed table says %v of a window that nobody will send", err)
		}
	}
}

func TestACloseDoesNotWaitForTheDiskBeyondItsTime(t *testing.T) {
	o := totals.Options{Dir: t.TempDir()}
	table := mustOpen(t, o)
	resume := table.Stall() // as a disk that does not answer
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := table.Close(short); outcome(err) != authz.OutcomeUnknown {
		t.Errorf("closed while the state was being written: %v", err)
	}
	waiting := make(chan error, 1)
	go func() { waiting <- table.Write(t.Context(), window("o", 1, 1, "a")) }()
	resume()
	if err := <-waiting; outcome(err) != authz.OutcomeNotApplied {
		t.Errorf("a closed table says %v of a window", err)
	}
	mustOpen(t, o) // the directory is let go in the end
}
