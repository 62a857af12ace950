package listen

import (
	"crypto/x509"
	"strings"
	"testing"
	"time"
)

func TestACertificateThatEndsSoonIsWarnedOf(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		from, to time.Time
		want     string
	}{
		"long to go":  {now.Add(-time.Hour), now.Add(expiresSoon), ""},
		"soon":        {now.Add(-time.Hour), now.Add(expiresSoon - time.Second), "expires at 2026-12-12T11:59:59Z, in 13 days"},
		"over":        {now.Add(-time.Hour), now, "expired at 2026-11-28T12:00:00Z"},
		"not yet":     {now.Add(time.Second), now.Add(time.Hour), "not valid before 2026-11-28T12:00:01Z"},
		"starts now":  {now, now.Add(expiresSoon), ""},
		"within days": {now.Add(-time.Hour), now.Add(time.Minute), "in 0 days"},
	} {
		got := Expiring(&x509.Certificate{NotBefore: c.from, NotAfter: c.to}, now)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
