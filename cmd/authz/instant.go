package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
)

// instantHelp is what flags say of the instants that they take.
const instantHelp = "2027-01-31, 2027-01-31T17:00:00Z, or a time from now: 8h, 30d"

// parseInstant reads an absolute instant, or with sign 1 a time from now and with
// -1 a time before now.
func parseInstant(text string, now time.Time, sign time.Duration) (int64, error) {
	if ms, err := words.ParseInstant(text); err == nil {
		return ms, nil
	}
	days, isDays := strings.CutSuffix(text, "d")
	if n, err := strconv.ParseUint(days, 10, 16); err == nil && isDays {
		return now.Add(sign * time.Duration(n) * 24 * time.Hour).UnixMilli(), nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(sign * d).UnixMilli(), nil
	}
	return 0, usageError{fmt.Errorf("%q is no time: write %s", text, instantHelp)}
}

// expiry reads --expires; "" is never.
func expiry(text string) (authz.Expiry, error) {
	if text == "" {
		return authz.Expiry{}, nil
	}
	ms, err := parseInstant(text, time.Now(), 1)
	return authz.ExpiresAt(ms), err
}

func expiryText(e authz.Expiry) string { return words.Expiry(e, time.Now()) }
