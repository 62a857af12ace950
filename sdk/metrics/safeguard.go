package metrics

import (
	"math"
	"strconv"
)

// Usage is what stored metrics say of one row over a window, instants in epoch
// milliseconds. Zero counts over the asked window stand for a missing record.
type Usage struct {
	Matched     int64 `json:"matched"`
	SoleMatch   int64 `json:"soleMatch"`
	WindowStart int64 `json:"windowStart"`
	WindowEnd   int64 `json:"windowEnd"`
}

// RowKind is what kind of row is to be removed.
type RowKind string

// The kinds of row that a safeguard speaks of.
const (
	KindGrant  RowKind = "grant"
	KindRevoke RowKind = "revoke"
	KindRole   RowKind = "role"
)

// SafeguardOptions says what is to be removed.
type SafeguardOptions struct {
	Kind RowKind // "" is KindGrant

	// WarnAtSoleMatch is the count from which to warn; below 1 or not finite it
	// is 1.
	WarnAtSoleMatch float64
}

// SafeguardLevel grades what is known of a removal. No level says that it does
// no harm.
type SafeguardLevel string

// The levels of a safeguard.
const (
	SafeguardWarning SafeguardLevel = "warning" // removing the row would have changed decisions
	SafeguardContext SafeguardLevel = "context" // the row was in use
	SafeguardNone    SafeguardLevel = "none"    // nothing was recorded
)

// Safeguard is what to tell somebody about to remove a row. Detail is always to
// be shown with the headline.
type Safeguard struct {
	Level     SafeguardLevel `json:"level"`
	Matched   int64          `json:"matched"`
	SoleMatch int64          `json:"soleMatch"`
	Days      int64          `json:"days"`
	Headline  string         `json:"headline"`
	Detail    string         `json:"detail"`
}

const dayMillis = 86_400_000

// RevocationSafeguard judges the removal of a row by its recorded use. It keys
// on the checks that the row alone decided, never on those that it merely took
// part in: a row shadowed by a broader one loses nothing.
func RevocationSafeguard(u Usage, o SafeguardOptions) Safeguard {
	kind := o.Kind
	if kind == "" {
		kind = KindGrant
	}
	warnAt := o.WarnAtSoleMatch
	if math.IsNaN(warnAt) || math.IsInf(warnAt, 0) || warnAt < 1 {
		warnAt = 1
	}
	days := int64(max(1, math.Floor((float64(u.WindowEnd)-float64(u.WindowStart))/dayMillis+0.5)))
	period := "the last day"
	if days > 1 {
		period = "the last " + digits(days) + " days"
	}
	s := Safeguard{Matched: u.Matched, SoleMatch: u.SoleMatch, Days: days}
	matched, sole := digits(u.Matched), digits(u.SoleMatch)
	switch {
	case float64(u.SoleMatch) >= warnAt && kind == KindRevoke:
		s.Level = SafeguardWarning
		s.Headline = "This revoke suppressed " + sole + " checks in " + period + ". Deleting it widens access."
		s.Detail = "All of them would have been allowed without it."
	case float64(u.SoleMatch) >= warnAt:
		s.Level = SafeguardWarning
		s.Headline = "This " + string(kind) + " was the only thing allowing " + sole + " checks in " + period + "."
		s.Detail = "Removing it would have denied them. It took part in " + matched + " checks in total."
	case u.Matched > 0:
		s.Level = SafeguardContext
		s.contextual(kind, u.SoleMatch, matched, sole, period)
	default:
		s.Level, s.Matched, s.SoleMatch = SafeguardNone, 0, 0
		s.Headline = "No recorded use in " + period + "."
		s.Detail = "Absence of recent use is not evidence that nothing depends on this " + string(kind) +
			": usage lags behind, metrics are sampled and lossy, and break-glass access is exactly the kind that is rarely used."
	}
	return s
}

func (s *Safeguard) contextual(kind RowKind, soleMatch int64, matched, sole, period string) {
	took := "This " + string(kind) + " matched " + matched + " checks in " + period
	switch {
	case soleMatch > 0 && kind == KindRevoke:
		s.Headline = "This revoke suppressed " + sole + " checks in " + period + "."
		s.Detail = "Those checks would have been allowed without it: deleting it widens access."
	case soleMatch > 0:
		s.Headline = took + ", and was the only thing allowing " + sole + " of them."
		s.Detail = "Removing it would have denied those " + sole + "; another grant covered each of the others."
	case kind == KindRevoke:
		s.Headline = took + ", but was never the only thing allowing them."
		s.Detail = "Another revoke suppressed each of them too: removing this one would have changed no decision in that time."
	default:
		s.Headline = took + ", but was never the only thing allowing them."
		s.Detail = "Another grant covered each of them: removing it would have changed no decision in that time."
	}
}

func digits(n int64) string { return strconv.FormatInt(n, 10) }
