package throttle

import (
	"container/list"
	"math"
	"sync"
)

// Rate is how many calls a minute a bucket admits; as many may come at once.
type Rate struct {
	Name      string
	PerMinute int
}

// BadCredentials is the rate of failed authentication of one client address.
var BadCredentials = Rate{Name: "bad_credentials", PerMinute: 60}

// maxBuckets bounds the memory, whoever asks.
const maxBuckets = 100_000

// Buckets are token buckets by rate and subject. The least recently used go first
// when there are too many: a bucket that is forgotten is full again. They are safe
// for concurrent use.
type Buckets struct {
	clock func() int64 // epoch milliseconds

	mu      sync.Mutex
	buckets map[key]*list.Element
	recent  *list.List // of *bucket, most recently used first
}

type key struct{ rate, subject string }

type bucket struct {
	key    key
	tokens float64
	at     int64 // of tokens
}

// Standing is what a bucket holds after a call.
type Standing struct {
	Rate      Rate
	Remaining int
	ResetMs   int64 // until it is full
	WaitMs    int64 // until the next call is admitted; 0 when this one was
}

// New returns full buckets; clock is the time in epoch milliseconds.
func New(clock func() int64) *Buckets {
	return &Buckets{clock: clock, buckets: map[key]*list.Element{}, recent: list.New()}
}

// Take counts one call. When nothing is left it refuses the call, which then is
// not counted.
func (l *Buckets) Take(r Rate, subject string) Standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.filled(r, subject)
	if b.tokens < 1 {
		return b.refused(r)
	}
	b.tokens--
	return b.standing(r)
}

// Look refuses when nothing is left, and counts nothing.
func (l *Buckets) Look(r Rate, subject string) Standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.filled(r, subject)
	if b.tokens < 1 {
		return b.refused(r)
	}
	return b.standing(r)
}

// Charge counts a call that Look let through, beyond what is there if need be, so
// that many at once are paid for afterwards.
func (l *Buckets) Charge(r Rate, subject string) Standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.filled(r, subject)
	b.tokens = max(b.tokens-1, -float64(r.PerMinute))
	return b.standing(r)
}

func (l *Buckets) filled(r Rate, subject string) *bucket {
	k := key{r.Name, subject}
	now := l.clock()
	if e, ok := l.buckets[k]; ok {
		l.recent.MoveToFront(e)
		b := e.Value.(*bucket)
		if passed := now - b.at; passed > 0 {
			b.tokens = min(float64(r.PerMinute), b.tokens+float64(passed)*r.perMs())
		}
		b.at = now
		return b
	}
	for len(l.buckets) >= maxBuckets {
		last := l.recent.Back()
		l.recent.Remove(last)
		delete(l.buckets, last.Value.(*bucket).key)
	}
	b := &bucket{key: k, tokens: float64(r.PerMinute), at: now}
	l.buckets[k] = l.recent.PushFront(b)
	return b
}

func (r Rate) perMs() float64 { return float64(r.PerMinute) / 60_000 }

func (b *bucket) refused(r Rate) Standing {
	s := b.standing(r)
	s.WaitMs = max(int64(math.Ceil((1-b.tokens)/r.perMs())), 1)
	return s
}

func (b *bucket) standing(r Rate) Standing {
	return Standing{Rate: r, Remaining: int(max(b.tokens, 0)), ResetMs: int64(math.Ceil((float64(r.PerMinute) - b.tokens) / r.perMs()))}
}
