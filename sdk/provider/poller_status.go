package provider

import (
	"sync/atomic"
	"time"
)

// PollerStatus says how far a poller is. Head is the log's newest number as last
// seen; LastLook, when the log was last read, is zero before the first time.
type PollerStatus struct {
	Cursor   int64
	Head     int64
	LastLook time.Time
	Failures uint64 // looks that failed
}

// Status is what other goroutines may know of the poller.
func (p *Poller) Status() PollerStatus {
	s := PollerStatus{Cursor: p.seen.cursor.Load(), Head: p.seen.head.Load(), Failures: p.seen.failures.Load()}
	if at := p.seen.lookedAt.Load(); at != nil {
		s.LastLook = *at
	}
	return s
}

// pollerSeen is what the polling goroutine tells.
type pollerSeen struct {
	cursor, head atomic.Int64
	lookedAt     atomic.Pointer[time.Time]
	failures     atomic.Uint64
}

func (s *pollerSeen) note(cursor int64, err error) {
	s.cursor.Store(cursor)
	if err != nil {
		s.failures.Add(1)
		return
	}
	now := time.Now()
	s.lookedAt.Store(&now)
}
