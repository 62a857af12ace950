package totals

import (
	"math"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
)

// Bounds of one window.
const (
	maxOrigin  = 64
	maxCount   = 1 << 53 // what a float64 still counts exactly
	maxCounted = 200_000 // counters, far above what an aggregator's bounds let through
)

// Check refuses, as *authz.WriteRejectedError, a window that says no counts: no
// application, an origin that is none, a count that is negative or no number.
func Check(w *metrics.Window) error {
	switch {
	case w.Application == "":
		return authz.Validation("the window names no application")
	case !isOrigin(w.Origin):
		return authz.Validation("the window's origin is not made of letters, digits, \"-\" and \"_\", at most %d", maxOrigin)
	case w.Sequence == 0:
		return authz.Validation("the window's sequence begins at 1")
	case w.WindowEnd < w.WindowStart:
		return authz.Validation("the window ends before it starts")
	case len(w.Checks)+len(w.Grants)+len(w.Revokes)+len(w.Roles) > maxCounted:
		return authz.Validation("the window has more than %d counters", maxCounted)
	case w.Dropped < 0:
		return authz.Validation("the window has a count that is negative")
	}
	for _, c := range w.Checks {
		if !isCount(c.Estimated) {
			return authz.Validation("the window has a count of checks that is negative, too large or no number")
		}
	}
	for _, rows := range [][]metrics.RowCounter{w.Grants, w.Revokes, w.Roles} {
		for _, r := range rows {
			if !isCount(r.EstimatedMatched) || !isCount(r.EstimatedSoleMatch) {
				return authz.Validation("the window has a count of a row that is negative, too large or no number")
			}
		}
	}
	return nil
}

func isCount(v float64) bool { return v >= 0 && v <= maxCount && !math.IsNaN(v) }

func isOrigin(s string) bool {
	if s == "" || len(s) > maxOrigin {
		return false
	}
	for _, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return true
}
