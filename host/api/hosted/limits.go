package hosted

import (
	"container/list"
	"math"
	"net/http"
	"strconv"
	"sync"

	"github.com/authzhost/authz/host/service/fault"
)

// rate is how many calls a minute a bucket admits; as many may come at once.
type rate struct {
	name      string
	perMinute int
}

// The buckets of hosted-api.md §1 that are memory of one host.
var (
	rateSignIn        = rate{"sign_in", 10}
	rateOIDCStart     = rate{"oidc_start", 30}
	rateBadCredential = rate{"bad_credentials", 60}
	rateReads         = rate{"reads", 1200}
	rateWrites        = rate{"writes", 240}
	rateEvaluate      = rate{"evaluate", 600}
	ratePublish       = rate{"publish", 10}
	rateOrgReads      = rate{"org_reads", 12_000}
	rateOrgWrites     = rate{"org_writes", 2400}

	// rateAnybody is for Public reads, which have no credential to count by: an
	// address may do what a credential may.
	rateAnybody = rate{"reads", 1200}
)

const (
	maxBuckets = 100_000
	maxExports = 2 // running at once in one org
)

// limits holds token buckets, the least recently used of which go first when
// there are too many: a bucket that is forgotten is full again.
type limits struct {
	clock func() int64

	mu      sync.Mutex
	buckets map[bucketKey]*list.Element
	recent  *list.List // of *bucket, most recently used first
	exports map[string]int
}

type bucketKey struct {
	rate    string
	subject string
}

type bucket struct {
	key    bucketKey
	tokens float64
	at     int64 // of tokens
}

// standing is what a bucket holds after a call was counted; it goes into headers.
type standing struct {
	rate      rate
	remaining int
	resetMs   int64 // until it is full
}

func newLimits(clock func() int64) *limits {
	return &limits{clock: clock, buckets: map[bucketKey]*list.Element{}, recent: list.New(), exports: map[string]int{}}
}

// take counts one call, or refuses it without counting.
func (l *limits) take(r rate, subject string) (standing, *fault.Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.filled(r, subject)
	if b.tokens < 1 {
		return b.standing(r), fault.Limited(r.name, b.wait(r))
	}
	b.tokens--
	return b.standing(r), nil
}

// look refuses when nothing is left, and counts nothing.
func (l *limits) look(r rate, subject string) (standing, *fault.Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.filled(r, subject)
	if b.tokens < 1 {
		return b.standing(r), fault.Limited(r.name, b.wait(r))
	}
	return b.standing(r), nil
}

// charge counts a call that look let through, beyond what is there if need be, so
// that many at once are paid for afterwards.
func (l *limits) charge(r rate, subject string) standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.filled(r, subject)
	b.tokens = max(b.tokens-1, -float64(r.perMinute))
	return b.standing(r)
}

func (l *limits) filled(r rate, subject string) *bucket {
	key := bucketKey{r.name, subject}
	now := l.clock()
	if e, ok := l.buckets[key]; ok {
		l.recent.MoveToFront(e)
		b := e.Value.(*bucket)
		if passed := now - b.at; passed > 0 {
			b.tokens = min(float64(r.perMinute), b.tokens+float64(passed)*r.perMs())
		}
		b.at = now
		return b
	}
	for len(l.buckets) >= maxBuckets {
		last := l.recent.Back()
		l.recent.Remove(last)
		delete(l.buckets, last.Value.(*bucket).key)
	}
	b := &bucket{key: key, tokens: float64(r.perMinute), at: now}
	l.buckets[key] = l.recent.PushFront(b)
	return b
}

func (r rate) perMs() float64 { return float64(r.perMinute) / 60_000 }

// wait is how long until one call is admitted, in milliseconds.
func (b *bucket) wait(r rate) int64 { return int64(math.Ceil((1 - b.tokens) / r.perMs())) }

func (b *bucket) standing(r rate) standing {
	return standing{rate: r, remaining: int(max(b.tokens, 0)), resetMs: int64(math.Ceil((float64(r.perMinute) - b.tokens) / r.perMs()))}
}

// export admits one more running export of an org; done ends it.
func (l *limits) export(org string) (done func(), err *fault.Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.exports[org] >= maxExports {
		return nil, fault.Limited("exports", 1000)
	}
	l.exports[org]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.exports[org]--; l.exports[org] == 0 {
			delete(l.exports, org)
		}
	}, nil
}

// show puts the tightest standing of an answer into its headers: of the buckets
// that counted the call, the one with the smallest share left.
func (s standing) show(h http.Header) {
	h.Set("RateLimit-Limit", strconv.Itoa(s.rate.perMinute))
	h.Set("RateLimit-Remaining", strconv.Itoa(s.remaining))
	h.Set("RateLimit-Reset", strconv.FormatInt((s.resetMs+999)/1000, 10))
}

func (s standing) share() float64 { return float64(s.remaining) / float64(s.rate.perMinute) }
