package words

import (
	"fmt"
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
