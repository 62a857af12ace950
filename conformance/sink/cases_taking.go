package sink

import (
	"fmt"
	"slices"

	"github.com/authzhost/authz/sdk/metrics"
)

// The sizes of the largest window that an aggregator makes by default.
const (
	mostKeys   = 10_000 // check counters, and rows of each list
	mostRecent = 5      // principals of a row
)

var windowCases = []sinkCase{
	{ID: "W01", Rule: "Info names the sink and lists known capabilities, each once", Run: func(w *world) {
		info := w.sink.Info()
		if info.Name == "" {
			w.Want("a name", "none")
		}
		for i, c := range info.Capabilities {
			if !slices.Contains(metrics.SinkCapabilities(), c) || slices.Contains(info.Capabilities[:i], c) {
				w.Want(fmt.Sprintf("capabilities of %q, each once", metrics.SinkCapabilities()), "%q", info.Capabilities)
			}
		}
	}},
	{ID: "W02", Rule: "what Info says stays the same, whatever its caller does with it", Run: func(w *world) {
		before := w.sink.Info()
		kept := slices.Clone(before.Capabilities)
		for i := range before.Capabilities {
			before.Capabilities[i] = "scribbled"
		}
		if after := w.sink.Info(); after.Name != before.Name || !slices.Equal(after.Capabilities, kept) {
			w.Want(fmt.Sprintf("%s %q", before.Name, kept), "%s %q", after.Name, after.Capabilities)
		}
	}},
	{ID: "W03", Rule: "a window that counts nothing is taken", Run: func(w *world) {
		w.take(w.sink, w.window("a", 1, nil))
		w.take(w.sink, w.window("a", 2, nil))
	}},
	{ID: "W04", Rule: "a window as large as an aggregator makes is taken, and the next one after it", Large: true, Run: func(w *world) {
		w.takeWithin(unhurried, w.sink, w.large("a", 1))
		w.take(w.sink, w.window("a", 2, map[string]int64{"next": 1}))
	}},
	{ID: "W05", Rule: "windows of one origin are taken in their order, also when some between them were dropped", Run: func(w *world) {
		for _, sequence := range []uint64{1, 2, 3, 7, 8, 1 << 40} {
			w.take(w.sink, w.window("a", sequence, map[string]int64{"read": 2}))
		}
	}},
	{ID: "W06", Rule: "windows of several origins and applications are taken at once", Run: func(w *world) {
		w.Each(6, func(i int) {
			for n := range 5 {
				win := w.window(fmt.Sprint("o", i), uint64(n+1), map[string]int64{"read": 1, "write": 2})
				win.Application = fmt.Sprintf("%s-%d", w.name, i%2)
				w.take(w.sink, win)
			}
		})
	}},
}

// large is a window of every list's largest size.
func (w *world) large(origin string, sequence uint64) metrics.Window {
	win := w.window(origin, sequence, nil)
	rows := func(kind string) []metrics.RowCounter {
		all := make([]metrics.RowCounter, mostKeys)
		for i := range all {
			recent := make([]string, mostRecent)
			for n := range recent {
				recent[n] = fmt.Sprintf("user:somebody-with-a-long-name-%d", i+n)
			}
			all[i] = metrics.RowCounter{RowID: fmt.Sprintf("%s-%s-%06d", w.name, kind, i), Matched: 3, SoleMatch: 1, EstimatedMatched: 3, EstimatedSoleMatch: 1,
				RecentPrincipals: recent}
		}
		return all
	}
	win.Checks = make([]metrics.CheckCounter, mostKeys)
	for i := range win.Checks {
		win.Checks[i] = metrics.CheckCounter{Permission: w.permission(fmt.Sprintf("large.permission-%06d", i)), Decision: metrics.Allow, Shape: metrics.ShapeCan,
			Gate: true, ScopeType: "docs.folder", Observed: 3, Estimated: 3}
	}
	win.Grants, win.Revokes, win.Roles = rows("grant"), rows("revoke"), rows("role")
	win.Principals = metrics.PrincipalsCount{Distinct: 1000, Overflowed: true}
	return win
}
