package main

import (
	"time"

	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
)

// instantHelp is what flags say of the instants that they take.
const instantHelp = words.InstantForms

func parseInstant(text string, now time.Time, sign time.Duration) (int64, error) {
	ms, err := words.InstantFrom(text, now, sign)
	if err != nil {
		return 0, usageError{err}
	}
	return ms, nil
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
