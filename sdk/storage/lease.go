package storage

import (
	"sync"
	"time"
)

// Lease is the lease of a section as a waiter found it: who holds the section, under
// which fence, and until when by the clock of whoever wrote it.
type Lease struct {
	Holder    string
	Fence     int64
	ExpiresAt int64
}

// Leases are the leases that one process found held, and since when by its own
// monotonic clock. They are what keeps a lease that a clock wrote which ran ahead from
// blocking for as long as it was ahead. The zero value is ready to use.
type Leases struct {
	mu   sync.Mutex
	seen map[string]sighting
}

type sighting struct {
	Lease
	since time.Time
}

// maxLeases bounds what is remembered. Beyond it everything is forgotten, which costs
// whoever waits another lease.
const maxLeases = 4096

// Stale reports that the section was found under this very lease one length ago and at
// no time under another: a holder that lives renews it three times as often, so whoever
// waits may take it, whatever its expiry says.
func (l *Leases) Stale(key string, found Lease, length time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, known := l.seen[key]
	if known && before.Lease == found {
		return time.Since(before.since) >= length
	}
	if l.seen == nil || len(l.seen) >= maxLeases {
		l.seen = map[string]sighting{}
	}
	l.seen[key] = sighting{found, time.Now()}
	return false
}

// Forget drops what is known of a section that was taken or found free.
func (l *Leases) Forget(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.seen, key)
}
