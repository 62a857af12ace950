package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/authzhost/authz/sdk/authz"
)

// instantHelp is what flags say of the instants that they take.
const instantHelp = "2027-01-31, 2027-01-31T17:00:00Z, or a time from now: 8h, 30d"

// parseInstant reads an absolute instant, or with sign 1 a time from now and with
// -1 a time before now.
func parseInstant(text string, now time.Time, sign time.Duration) (int64, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UnixMilli(), nil
		}
	}
	if sign != 0 {
		days, isDays := strings.CutSuffix(text, "d")
		if n, err := strconv.ParseUint(days, 10, 16); err == nil && isDays {
			return now.Add(sign * time.Duration(n) * 24 * time.Hour).UnixMilli(), nil
		}
		if d, err := time.ParseDuration(text); err == nil && d >= 0 {
			return now.Add(sign * d).UnixMilli(), nil
		}
		return 0, usageError{fmt.Errorf("%q is no time: write %s", text, instantHelp)}
	}
	return 0, usageError{fmt.Errorf("%q is no instant: write 2027-01-31 (UTC) or 2027-01-31T17:00:00Z", text)}
}

// expiry reads --expires; "" is never.
func expiry(text string) (authz.Expiry, error) {
	if text == "" {
		return authz.Expiry{}, nil
	}
	ms, err := parseInstant(text, time.Now(), 1)
	return authz.ExpiresAt(ms), err
}

func instantText(ms int64) string {
	return time.UnixMilli(ms).UTC().Format(time.RFC3339)
}

func expiryText(e authz.Expiry) string {
	ms, ok := e.At()
	if !ok {
		return "never"
	}
	text := instantText(ms)
	if e.Expired(time.Now().UnixMilli()) {
		text += " (expired)"
	}
	return text
}

// fileExpiry is an instant in a file: a date or time as text, or epoch
// milliseconds. Times from now are refused: a file must mean the same tomorrow.
type fileExpiry struct{ authz.Expiry }

func (e *fileExpiry) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		ms, err := parseInstant(text, time.Time{}, 0)
		e.Expiry = authz.ExpiresAt(ms)
		return err
	}
	var ms int64
	if err := json.Unmarshal(b, &ms); err != nil {
		return usageError{fmt.Errorf("%s is no instant: write 2027-01-31 or 2027-01-31T17:00:00Z", b)}
	}
	e.Expiry = authz.ExpiresAt(ms)
	return nil
}
