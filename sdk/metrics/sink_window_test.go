package metrics_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

func goodWindow() metrics.Window {
	return metrics.Window{Application: "docs", Origin: "host-1_a", Sequence: 1, Batch: metrics.Batch{
		InstanceID: "host", WindowStart: 1, WindowEnd: 2,
		Checks:  []metrics.CheckCounter{{Permission: strings.Repeat("p", 256) + "…", Decision: metrics.Allow, Shape: metrics.ShapeCan, Gate: true, ScopeType: "*", Observed: 3, Estimated: 6}},
		Grants:  []metrics.RowCounter{{RowID: strings.Repeat("g", 1024) + "…", Matched: 2, SoleMatch: 1, EstimatedMatched: 4, EstimatedSoleMatch: 2, RecentPrincipals: []string{"service:" + strings.Repeat("u", 1024) + "…"}}},
		Revokes: []metrics.RowCounter{}, Roles: []metrics.RowCounter{},
		Principals: metrics.PrincipalsCount{Distinct: 1}, Dropped: 1,
	}}
}

func TestAWindowThatNobodyMakesIsRefused(t *testing.T) {
	good := goodWindow()
	if err := good.Validate(); err != nil {
		t.Fatalf("a good window gave %v", err)
	}
	for name, spoil := range map[string]func(*metrics.Window){
		"no application":           func(w *metrics.Window) { w.Application = "" },
		"an application too long":  func(w *metrics.Window) { w.Application = strings.Repeat("a", 2000) },
		"no origin":                func(w *metrics.Window) { w.Origin = "" },
		"an origin too long":       func(w *metrics.Window) { w.Origin = strings.Repeat("a", 65) },
		"an origin with a slash":   func(w *metrics.Window) { w.Origin = "a/b" },
		"no sequence":              func(w *metrics.Window) { w.Sequence = 0 },
		"an instance not UTF-8":    func(w *metrics.Window) { w.InstanceID = "\xff" },
		"an end before its start":  func(w *metrics.Window) { w.WindowEnd = 0 },
		"negative principals":      func(w *metrics.Window) { w.Principals.Distinct = -1 },
		"negative drops":           func(w *metrics.Window) { w.Dropped = -1 },
		"a permission too long":    func(w *metrics.Window) { w.Checks[0].Permission = strings.Repeat("p", 300) },
		"a scope not UTF-8":        func(w *metrics.Window) { w.Checks[0].Scope = "\xff" },
		"a negative count":         func(w *metrics.Window) { w.Checks[0].Observed = -1 },
		"an estimate of NaN":       func(w *metrics.Window) { w.Checks[0].Estimated = math.NaN() },
		"an infinite estimate":     func(w *metrics.Window) { w.Grants[0].EstimatedMatched = math.Inf(1) },
		"a negative estimate":      func(w *metrics.Window) { w.Grants[0].EstimatedSoleMatch = -0.5 },
		"a row too long":           func(w *metrics.Window) { w.Grants[0].RowID = strings.Repeat("g", 1100) },
		"a negative sole match":    func(w *metrics.Window) { w.Grants[0].SoleMatch = -1 },
		"a principal not UTF-8":    func(w *metrics.Window) { w.Grants[0].RecentPrincipals[0] = "\xff" },
		"too many principals":      func(w *metrics.Window) { w.Grants[0].RecentPrincipals = make([]string, metrics.MaxRecentPrincipals+1) },
		"too many counters":        func(w *metrics.Window) { w.Roles = make([]metrics.RowCounter, metrics.MaxWindowCounters) },
		"a revoke with a bad text": func(w *metrics.Window) { w.Revokes = []metrics.RowCounter{{RowID: "\xff"}} },
	} {
		w := goodWindow()
		spoil(&w)
		if err := w.Validate(); authz.CodeOf(err) != authz.CodeValidation {
			t.Errorf("%s gave %v", name, err)
		}
	}
}

// A window must not take over the batch's own JSON, which knows nothing of its
// origin.
func TestAWindowIsTheSameAfterItsJSON(t *testing.T) {
	want := goodWindow()
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got metrics.Window
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if empty, err := json.Marshal(metrics.Window{}); err != nil || strings.Contains(string(empty), "null") {
		t.Errorf("an empty window is %s, %v", empty, err)
	}
	for _, incomplete := range []string{`{}`, `[]`, strings.Replace(string(b), `"origin"`, `"orgin"`, 1), strings.Replace(string(b), `"dropped"`, `"droped"`, 1)} {
		if err := json.Unmarshal([]byte(incomplete), &got); authz.CodeOf(err) != authz.CodeValidation {
			t.Errorf("%s gave %v", incomplete, err)
		}
	}
}
