package hosted

import (
	"net/http"
	"net/netip"
	"strconv"
	"sync"

	"github.com/authzhost/authz/host/internal/throttle"
	"github.com/authzhost/authz/host/service/fault"
)

type (
	rate     = throttle.Rate
	standing = throttle.Standing // goes into headers
)

// The buckets that are memory of one host (spec: hosted-api §1).
var (
	rateSignIn        = rate{Name: "sign_in", PerMinute: 10}
	rateOIDCStart     = rate{Name: "oidc_start", PerMinute: 30}
	rateBadCredential = throttle.BadCredentials
	rateReads         = rate{Name: "reads", PerMinute: 1200}
	rateWrites        = rate{Name: "writes", PerMinute: 240}
	rateEvaluate      = rate{Name: "evaluate", PerMinute: 600}
	ratePublish       = rate{Name: "publish", PerMinute: 10}
	rateOrgReads      = rate{Name: "org_reads", PerMinute: 12_000}
	rateOrgWrites     = rate{Name: "org_writes", PerMinute: 2400}

	// rateAnybody is for Public reads, which have no credential to count by: an
	// address may do what a credential may.
	rateAnybody = rate{Name: "reads", PerMinute: 1200}
)

// What runs at once: exports of one org, streams of one credential, and of all.
const (
	maxExports    = 2
	maxStreams    = 10
	maxAllStreams = 2000
)

// limits are the API's buckets, and what runs long.
type limits struct {
	buckets *throttle.Buckets

	mu      sync.Mutex
	running map[string]int
}

func newLimits(clock func() int64) *limits {
	return &limits{buckets: throttle.New(clock), running: map[string]int{}}
}

// take counts one call, or refuses it without counting.
func (l *limits) take(r rate, subject string) (standing, *fault.Error) {
	return admitted(l.buckets.Take(r, subject))
}

// look refuses when nothing is left, and counts nothing.
func (l *limits) look(r rate, subject string) (standing, *fault.Error) {
	return admitted(l.buckets.Look(r, subject))
}

func admitted(s standing) (standing, *fault.Error) {
	if s.WaitMs > 0 {
		return s, fault.Limited(s.Rate.Name, s.WaitMs)
	}
	return s, nil
}

// export admits one more running export of an org; done ends it.
func (l *limits) export(org string) (done func(), err *fault.Error) {
	return l.run("exports", "exports "+org, maxExports)
}

// stream admits one more stream of a credential; done ends it.
func (l *limits) stream(credential string) (done func(), err *fault.Error) {
	all, err := l.run("streams", "streams", maxAllStreams)
	if err != nil {
		return nil, err
	}
	own, err := l.run("streams", "streams "+credential, maxStreams)
	if err != nil {
		all()
		return nil, err
	}
	return func() { own(); all() }, nil
}

func (l *limits) run(bucket, what string, most int) (done func(), err *fault.Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running[what] >= most {
		return nil, fault.Limited(bucket, 1000)
	}
	l.running[what]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.running[what]--; l.running[what] == 0 {
			delete(l.running, what)
		}
	}, nil
}

// show puts the tightest standing of an answer into its headers: of the buckets
// that counted the call, the one with the smallest share left.
func show(s standing, h http.Header) {
	h.Set("RateLimit-Limit", strconv.Itoa(s.Rate.PerMinute))
	h.Set("RateLimit-Remaining", strconv.Itoa(s.Remaining))
	h.Set("RateLimit-Reset", strconv.FormatInt((s.ResetMs+999)/1000, 10))
}

func share(s standing) float64 { return float64(s.Remaining) / float64(s.Rate.PerMinute) }

func counted(address netip.Addr) string { return throttle.Counted(address) }

// directLoopback reports a connection from this machine that no proxy forwarded.
func directLoopback(r *http.Request) bool {
	return throttle.PeerAddress(r).IsLoopback() && len(r.Header.Values("X-Forwarded-For")) == 0
}
