//go:build linux

package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	// quietBound is how old an answer may be while nothing is wrong: the window in
	// which one look at the event log vouches for the caches, and some more.
	quietBound = 6 * time.Second

	// faultBound is how old it may be while the log cannot be read: the time to live
	// of an entry, and some more.
	faultBound = 36 * time.Second

	// aftermath is how long a fault may still show.
	aftermath = 6 * time.Second
)

// episode is when a fault happened.
type episode struct {
	kind       faultKind
	began, end time.Time
}

func (f *faults) happened(kind faultKind, began time.Time, down time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.past = append(f.past, episode{kind, began, time.Now().Add(down + aftermath)})
}

// during names the newest fault that may show between two instants.
func (f *faults) during(from, to time.Time) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range slices.Backward(f.past) {
		if e.began.Before(to) && from.Before(e.end) {
			return string(e.kind)
		}
	}
	return "nothing wrong"
}

// staleAnswers holds, for each situation, how long hosts went on allowing what had been
// taken away through another one.
type staleAnswers struct {
	mu   sync.Mutex
	ages map[string][]time.Duration
}

// ownGrant is a grant that no other writer takes away.
type ownGrant struct{ createGrant }

// probe gives a user a grant through one host, takes it away again, and sees until when
// the other host still allows.
func (s *stage) probe(ctx context.Context, through, at *host, r *report) {
	n := 0
	write := func(m mutation) *written {
		n++
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
		defer cancel()
		return s.ledger.call(call, through, fmt.Sprint("probe-", through.name, "-", n), m)
	}
	for ctx.Err() == nil {
		q := question{fmt.Sprint("p", through.name, n), keys[0], "*"}
		made := write(ownGrant{createGrant{grantTuple{Subject: "user:" + q.user, Pattern: q.key, Scope: q.scope}}})
		if made.fate != applied {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		// Warm: the other host has the grant in its caches.
		for end := time.Now().Add(faultBound); ctx.Err() == nil && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if allowed, err := at.allowed(ctx, q); err == nil && allowed {
				break
			}
		}
		for ctx.Err() == nil {
			if w := write(deleteGrant{made.grant}); w.fate == applied || isGone(w.answer) {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		gone, last := time.Now(), time.Time{}
		for ctx.Err() == nil {
			asked := time.Now()
			allowed, err := at.allowed(ctx, q)
			if err == nil && !allowed {
				break
			}
			if err == nil {
				last = asked
			}
			if asked.Sub(gone) > 2*faultBound {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if ctx.Err() == nil {
			s.stale.note(r, s.faults.during(gone.Add(-aftermath), time.Now()), max(0, last.Sub(gone)))
		}
	}
}

func (s *staleAnswers) note(r *report, situation string, age time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ages == nil {
		s.ages = map[string][]time.Duration{}
	}
	s.ages[situation] = append(s.ages[situation], age)
	bound := faultBound
	if situation == "nothing wrong" {
		bound = quietBound
	}
	if age > bound {
		r.broken(freshEnough, "%v after it was taken away, with %s", age, situation)
	}
}

// lines tell the ages of each situation.
func (s *staleAnswers) lines() (lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, situation := range sortedKeys(s.ages) {
		ages := s.ages[situation]
		slices.Sort(ages)
		lines = append(lines, fmt.Sprintf("%-24s %4d times   median %6d ms   p99 %6d ms   longest %6d ms", situation, len(ages),
			ages[len(ages)/2].Milliseconds(), ages[len(ages)*99/100].Milliseconds(), ages[len(ages)-1].Milliseconds()))
	}
	return lines
}
