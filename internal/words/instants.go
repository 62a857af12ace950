package words

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/authzhost/authz/sdk/authz"
)

// ParseInstant reads an absolute instant, in epoch milliseconds.
func ParseInstant(word string) (int64, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02"} {
		if t, err := time.Parse(layout, word); err == nil {
			return t.UnixMilli(), nil
		}
	}
	return 0, fmt.Errorf("%q is no instant: write 2027-01-31 (UTC) or 2027-01-31T17:00:00Z", word)
}

// InstantForms are the instants that InstantFrom reads.
const InstantForms = "2027-01-31, 2027-01-31T17:00:00Z, or a time from now: 8h, 30d"

// InstantFrom reads an absolute instant, or with sign 1 a time from now and with -1 a time
// before now, in epoch milliseconds.
func InstantFrom(word string, now time.Time, sign time.Duration) (int64, error) {
	if ms, err := ParseInstant(word); err == nil {
		return ms, nil
	}
	days, isDays := strings.CutSuffix(word, "d")
	if n, err := strconv.ParseUint(days, 10, 16); err == nil && isDays {
		return now.Add(sign * time.Duration(n) * 24 * time.Hour).UnixMilli(), nil
	}
	if d, err := time.ParseDuration(word); err == nil && d >= 0 {
		return now.Add(sign * d).UnixMilli(), nil
	}
	return 0, fmt.Errorf("%q is no time: write %s", word, InstantForms)
}

// Instant is how an instant in epoch milliseconds is written.
func Instant(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

// Expiry says when something ends, and whether it has.
func Expiry(e authz.Expiry, now time.Time) string {
	ms, ok := e.At()
	if !ok {
		return "never"
	}
	text := Instant(ms)
	if e.Expired(now.UnixMilli()) {
		text += " (expired)"
	}
	return text
}
