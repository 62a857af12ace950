package sink

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

// spoilt is a way in which a window is malformed.
type spoilt struct {
	what  string
	spoil func(*metrics.Window)
}

var malformedCounts = []spoilt{
	{"a NaN among the checks", func(w *metrics.Window) { w.Checks[0].Estimated = math.NaN() }},
	{"an infinite estimate", func(w *metrics.Window) { w.Checks[0].Estimated = math.Inf(1) }},
	{"a negative number of checks", func(w *metrics.Window) { w.Checks[0].Observed = -1 }},
	{"a negative estimate", func(w *metrics.Window) { w.Checks[0].Estimated = -0.5 }},
	{"a negative number of matches", func(w *metrics.Window) { w.Grants[0].Matched = -1 }},
	{"a NaN among the roles", func(w *metrics.Window) { w.Roles[0].EstimatedMatched = math.NaN() }},
	{"a negative number of drops", func(w *metrics.Window) { w.Dropped = -1 }},
	{"a negative number of principals", func(w *metrics.Window) { w.Principals.Distinct = -1 }},
	{"an end before its start", func(w *metrics.Window) { w.WindowEnd = w.WindowStart - 1 }},
}

var malformedHeads = []spoilt{
	{"no application", func(w *metrics.Window) { w.Application = "" }},
	{"no origin", func(w *metrics.Window) { w.Origin = "" }},
	{"an origin with a slash", func(w *metrics.Window) { w.Origin += "/b" }},
	{"an origin with a line feed", func(w *metrics.Window) { w.Origin += "\n" }},
	{"an origin of 65 characters", func(w *metrics.Window) { w.Origin = strings.Repeat("o", 65) }},
	{"the sequence 0", func(w *metrics.Window) { w.Sequence = 0 }},
}

var refusalCases = []sinkCase{
	{ID: "W17", Rule: "a window with an invalid count (not finite, negative) is refused with validation", Run: func(w *world) {
		w.refuse(malformedCounts)
	}},
	{ID: "W18", Rule: "a window without a usable application, origin or sequence is refused with validation", Run: func(w *world) {
		w.refuse(malformedHeads)
	}},
	{ID: "W19", Rule: "nothing of a refused window counts, and the same one put right does", Abilities: []Ability{Count}, Run: func(w *world) {
		for i, s := range malformedCounts {
			sound := w.window("a", uint64(i+1), map[string]int64{"read": 1})
			bad := w.window("a", uint64(i+1), map[string]int64{"read": 1})
			bad.Checks = append(bad.Checks, bad.Checks[0])
			s.spoil(&bad)
			bad.Checks[0], bad.Checks[1] = bad.Checks[1], bad.Checks[0] // the sound counter comes first
			w.refused(bad, s.what)
			w.take(w.sink, sound)
		}
		w.settled(w.sink, w.sums("read", len(malformedCounts)))
	}},
}

func (w *world) refuse(list []spoilt) {
	for i, s := range list {
		win := w.window("a", uint64(i+1), map[string]int64{"read": 1})
		s.spoil(&win)
		w.refused(win, s.what)
	}
	w.take(w.sink, w.window("a", uint64(len(list)+1), map[string]int64{"read": 1}))
}

func (w *world) refused(win metrics.Window, what string) {
	err := w.write(w.sink, win, usual)
	var refusal *authz.WriteRejectedError
	if !errors.As(err, &refusal) || refusal.Code != authz.CodeValidation {
		w.Want(fmt.Sprintf("the window with %s refused with an *authz.WriteRejectedError of code validation", what), "%s", told(err))
	}
}
