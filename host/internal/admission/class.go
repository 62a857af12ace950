package admission

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// classLimiter admits the work of one class.
type classLimiter struct {
	mu      sync.Mutex
	limit   limit
	at      time.Time  // of what limit was told last
	crowded time.Time  // when more than least ran last
	running *list.List // of *slot, the oldest first; what counts against the limit
	working int        // of running, what has not answered
	long    int        // admitted and no longer counted
	waiting *list.List // of *waiter, the first first

	admitted, refused uint64
}

// slot is one piece of work that was admitted.
type slot struct {
	began time.Time
	place *list.Element // in running; nil while it is long or away, and once it is released
	long  bool
	told  bool      // its time was taken
	ended bool      // it was released
	away  int       // for how many it is away at once
	left  time.Time // when it went away; zero while it is here
}

type waiter struct {
	granted chan *slot // holds one
	place   *list.Element
}

const (
	// maxWait is how long work waits for room before it is refused.
	maxWait = 40 * time.Millisecond

	// minQueue is how much may wait at once at least, else a quarter of the limit.
	minQueue = 16

	// What runs longer than longAfter and four times the goal of its limit gives its
	// place to others, as long as no more than maxLong have: one import, or one reader
	// who stalls, must not stand for a slow database, and thousands must not pile up.
	longAfter = 2 * time.Second
	maxLong   = 64
)

func newClassLimiter(most int) *classLimiter {
	return &classLimiter{limit: newLimit(most), running: list.New(), waiting: list.New()}
}

// tell integrates up to now.
func (l *classLimiter) tell(now time.Time) {
	if !l.at.IsZero() {
		l.limit.passed(now.Sub(l.at), l.working)
	}
	l.at = now
}

// room says whether one more may run; reserve is how far beyond the limit.
func (l *classLimiter) room(now time.Time, reserve int) bool {
	if l.limit.room(l.running.Len() - reserve) {
		return true
	}
	after := max(longAfter, 4*l.limit.goal())
	for front := l.running.Front(); front != nil && l.long < maxLong; front = l.running.Front() {
		s := front.Value.(*slot)
		if now.Sub(s.began) < after {
			break
		}
		l.leave(s)
		s.long = true
		l.long++
	}
	return l.limit.room(l.running.Len() - reserve)
}

// leave takes a slot out of what counts.
func (l *classLimiter) leave(s *slot) {
	l.crowd(l.at)
	l.running.Remove(s.place)
	s.place = nil
	if !s.told {
		l.working--
	}
}

// crowd notes that more than least run. What began before has not run alone: work
// comes and goes in batches, in which the first one finds nobody beside it.
func (l *classLimiter) crowd(now time.Time) {
	if l.running.Len() > least {
		l.crowded = now
	}
}

func (l *classLimiter) begin(now time.Time) *slot {
	s := &slot{began: now}
	s.place = l.running.PushBack(s)
	l.crowd(now)
	l.working++
	l.admitted++
	return s
}

// hopeless refuses work that would not even wait.
func (l *classLimiter) hopeless() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.tell(now)
	if !l.queueFull() || l.room(now, 0) {
		return false
	}
	l.limit.full = true
	l.refused++
	return true
}

func (l *classLimiter) queueFull() bool {
	return l.waiting.Len() >= max(minQueue, int(l.limit.value)/4)
}

// acquire waits for room, at most for wait; nil is a refusal.
func (l *classLimiter) acquire(ctx context.Context, wait time.Duration, reserve int) *slot {
	l.mu.Lock()
	now := time.Now()
	l.tell(now)
	if (l.waiting.Len() == 0 || reserve > 0) && l.room(now, reserve) {
		s := l.begin(now)
		l.mu.Unlock()
		return s
	}
	l.limit.full = true
	if wait <= 0 || l.queueFull() {
		l.refused++
		l.mu.Unlock()
		return nil
	}
	w := &waiter{granted: make(chan *slot, 1)}
	w.place = l.waiting.PushBack(w)
	l.mu.Unlock()

	impatient := time.NewTimer(wait)
	defer impatient.Stop()
	select {
	case s := <-w.granted:
		return s
	case <-impatient.C:
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case s := <-w.granted: // at the last moment
		return s
	default:
		l.waiting.Remove(w.place)
		l.refused++
		return nil
	}
}

// answered takes the time of a slot, once: what it does from then on is its caller's
// pace and not the storage driver's.
func (l *classLimiter) answered(s *slot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.told {
		return
	}
	now := time.Now()
	l.tell(now)
	if s.place == nil { // its time would say nothing
		s.told = true
		return
	}
	s.told = true
	l.working--
	l.limit.finished(now.Sub(s.began), l.running.Len() <= least && s.began.After(l.crowded))
	l.grant(now)
}

// release gives a slot back.
func (l *classLimiter) release(s *slot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.tell(now)
	switch {
	case s.long:
		s.long = false
		l.long--
	case s.place != nil:
		l.leave(s)
	}
	s.told, s.ended = true, true
	l.grant(now)
}

func (l *classLimiter) grant(now time.Time) {
	for l.waiting.Len() > 0 && l.room(now, 0) {
		w := l.waiting.Remove(l.waiting.Front()).(*waiter)
		w.granted <- l.begin(now)
	}
}
