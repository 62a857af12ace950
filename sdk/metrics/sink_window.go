package metrics

import (
	"encoding/json"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/authzhost/authz/sdk/authz"
)

// The largest window that may go to a sink: more than an aggregator with its
// default caps makes. Texts are of at most 256 and 1,024 bytes, as counters'
// keys are, and the mark of a cut.
const (
	MaxWindowCounters   = 1_000_000 // of its four lists together
	MaxRecentPrincipals = 1_000     // of one row
	maxOrigin           = 64
)

// Validate refuses a window that no writer of windows makes, as an
// *authz.WriteRejectedError of code validation: texts too long or not UTF-8,
// counts below zero, estimates that are no numbers, an origin or a sequence that
// names nothing. It names the member at fault and never repeats its value.
func (w *Window) Validate() error {
	switch {
	case w.Application == "" || !fits(w.Application, maxID):
		return authz.Validation("metrics window: application must be a text of 1 to %d bytes", maxID)
	case !validOrigin(w.Origin):
		return authz.Validation(`metrics window: origin must be 1 to %d letters, digits, "-" and "_"`, maxOrigin)
	case w.Sequence == 0:
		return authz.Validation("metrics window: sequence must be at least 1")
	case !fits(w.InstanceID, maxID):
		return authz.Validation("metrics window: instanceId must be a text of at most %d bytes", maxID)
	case w.WindowEnd < w.WindowStart:
		return authz.Validation("metrics window: windowEnd lies before windowStart")
	case w.Principals.Distinct < 0 || w.Dropped < 0:
		return authz.Validation("metrics window: counts must not be negative")
	case len(w.Checks)+len(w.Grants)+len(w.Revokes)+len(w.Roles) > MaxWindowCounters:
		return authz.Validation("metrics window: more than %d counters", MaxWindowCounters)
	}
	for i := range w.Checks {
		if fault := w.Checks[i].fault(); fault != "" {
			return authz.Validation("metrics window: checks[%d]: %s", i, fault)
		}
	}
	for _, list := range []struct {
		name string
		rows []RowCounter
	}{{"grants", w.Grants}, {"revokes", w.Revokes}, {"roles", w.Roles}} {
		for i := range list.rows {
			if fault := list.rows[i].fault(); fault != "" {
				return authz.Validation("metrics window: %s[%d]: %s", list.name, i, fault)
			}
		}
	}
	return nil
}

func (c *CheckCounter) fault() string {
	switch {
	case !fits(c.Permission, maxName) || !fits(c.ScopeType, maxName) || !fits(c.Scope, maxID) ||
		!fits(string(c.Decision), maxName) || !fits(string(c.Shape), maxName):
		return "a text is too long or not UTF-8"
	case c.Observed < 0 || !counts(c.Estimated):
		return "counts must be numbers that are not negative"
	}
	return ""
}

func (c *RowCounter) fault() string {
	tooLong := func(principal string) bool { return !fits(principal, maxPrincipal) }
	switch {
	case !fits(c.RowID, maxID) || slices.ContainsFunc(c.RecentPrincipals, tooLong):
		return "a text is too long or not UTF-8"
	case len(c.RecentPrincipals) > MaxRecentPrincipals:
		return "too many recent principals"
	case c.Matched < 0 || c.SoleMatch < 0 || !counts(c.EstimatedMatched) || !counts(c.EstimatedSoleMatch):
		return "counts must be numbers that are not negative"
	}
	return ""
}

// maxPrincipal is an id with its kind before it.
const maxPrincipal = maxID + len("service:")

// fits allows for the mark that bound leaves on a text that it cuts.
func fits(s string, limit int) bool {
	return len(s) <= limit+len(ellipsis) && utf8.ValidString(s)
}

func counts(estimate float64) bool { return estimate >= 0 && !math.IsInf(estimate, 1) }

func validOrigin(s string) bool {
	if s == "" || len(s) > maxOrigin {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// plainBatch is a batch without its methods, of which a window must not inherit
// those that would leave the window's own members out.
type plainBatch Batch

type wireWindow struct {
	Application string `json:"application"`
	Origin      string `json:"origin"`
	Sequence    uint64 `json:"sequence"`
	plainBatch
}

// MarshalJSON gives the members of the batch with those of the window before them.
func (w Window) MarshalJSON() ([]byte, error) {
	b := plainBatch(w.Batch)
	b.Checks, b.Grants, b.Revokes, b.Roles = nonNil(b.Checks), nonNil(b.Grants), nonNil(b.Revokes), nonNil(b.Roles)
	return json.Marshal(wireWindow{w.Application, w.Origin, w.Sequence, b})
}

// UnmarshalJSON is as strict as the batch's.
func (w *Window) UnmarshalJSON(data []byte) error {
	var p wireWindow
	if err := decode(data, &p, "window", append([]string{"application", "origin", "sequence"}, batchMembers...)...); err != nil {
		return err
	}
	*w = Window{p.Application, p.Origin, p.Sequence, Batch(p.plainBatch)}
	return nil
}
