package authz

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
)

// MaxInstant bounds instants, versions and sequence numbers in both
// directions: they fit a float64 without loss.
const MaxInstant int64 = 1<<53 - 1

// ValidInstant reports whether an instant or version lies within ±MaxInstant.
func ValidInstant(ms int64) bool { return -MaxInstant <= ms && ms <= MaxInstant }

// Expiry is an optional instant in epoch milliseconds. The zero value never
// expires. What was read from JSON and is no finite number counts as expired at
// every instant: a row nobody can date must not confer.
type Expiry struct {
	at  int64
	set bool
}

// ExpiresAt is the expiry at an instant.
func ExpiresAt(ms int64) Expiry { return Expiry{at: ms, set: true} }

// At returns the instant, and false when there is none.
func (e Expiry) At() (ms int64, ok bool) { return e.at, e.set }

// IsZero reports that the row never expires; encoding/json leaves it out then.
func (e Expiry) IsZero() bool { return !e.set }

// Expired reports whether a row with this expiry no longer confers at now.
// Instants of zero and below are not dates anybody set: always expired.
func (e Expiry) Expired(now int64) bool { return e.set && (e.at <= now || e.at <= 0) }

func (e Expiry) MarshalJSON() ([]byte, error) {
	if !e.set {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, e.at, 10), nil
}

// UnmarshalJSON never fails on a JSON value: null is absent, a fraction rounds
// up (the row expires at the first whole millisecond not before it), anything
// that is no finite number is expired.
func (e *Expiry) UnmarshalJSON(b []byte) error {
	b = bytes.TrimSpace(b)
	if bytes.Equal(b, []byte("null")) {
		*e = Expiry{}
		return nil
	}
	*e = Expiry{at: -MaxInstant, set: true}
	var n json.Number
	if len(b) == 0 || b[0] == '"' || json.Unmarshal(b, &n) != nil {
		return nil
	}
	if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		e.at = i
		return nil
	}
	f, err := strconv.ParseFloat(n.String(), 64)
	switch {
	case err != nil || math.IsNaN(f) || math.IsInf(f, 0):
	case f >= float64(MaxInstant):
		e.at = MaxInstant
	case f > 0:
		e.at = int64(math.Ceil(f))
	}
	return nil
}
