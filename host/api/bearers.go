package api

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/authzhost/authz/host/internal/throttle"
	"github.com/authzhost/authz/sdk/provider"
)

// Bearers limits failed authentication by client address. Every provider handler
// that is given the same one counts together. Good bearers neither count nor wait:
// the digests are compared first, and only a mismatch looks at the count.
type Bearers struct {
	trusted []netip.Prefix
	failed  *throttle.Buckets
}

// NewBearers returns a limit that has counted nothing. trusted are the networks of
// the proxies whose X-Forwarded-For is believed.
func NewBearers(trusted []netip.Prefix) *Bearers {
	return &Bearers{trusted: trusted, failed: throttle.New(func() int64 { return time.Now().UnixMilli() })}
}

// refuse counts a failed authentication and returns its answer.
func (b *Bearers) refuse(r *http.Request) error {
	client := throttle.Counted(throttle.ClientAddress(r, b.trusted))
	if s := b.failed.Take(throttle.BadCredentials, client); s.WaitMs > 0 {
		return &throttled{error: &provider.APIError{Code: provider.RateLimited,
			Message: "too many bad credentials from this address; correct the credential, then try again"}, waitMs: s.WaitMs}
	}
	return unauthorized()
}

// throttled is answered with Retry-After.
type throttled struct {
	error
	waitMs int64
}

func (t *throttled) Unwrap() error { return t.error }
