package listen

import (
	"crypto/x509"
	"fmt"
	"time"
)

// expiresSoon is how long before its end a certificate is warned of.
const expiresSoon = 14 * 24 * time.Hour

// Expiring says that a certificate is over, not valid yet, or over soon; "" otherwise.
func Expiring(c *x509.Certificate, now time.Time) string {
	left := c.NotAfter.Sub(now)
	switch at := c.NotAfter.UTC().Format(time.RFC3339); {
	case left <= 0:
		return "the certificate expired at " + at
	case now.Before(c.NotBefore):
		return "the certificate is not valid before " + c.NotBefore.UTC().Format(time.RFC3339)
	case left < expiresSoon:
		return fmt.Sprintf("the certificate expires at %s, in %d days", at, int(left/(24*time.Hour)))
	}
	return ""
}
