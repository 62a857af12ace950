package admission

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// gate admits the work of one class.
type gate struct {
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

func newGate(most int) *gate {
	return &gate{limit: newLimit(most), running: list.New(), waiting: list.New()}
}

// tell integrates up to now.
func (g *gate) tell(now time.Time) {
	if !g.at.IsZero() {
		g.limit.passed(now.Sub(g.at), g.working)
	}
	g.at = now
}

// room says whether one more may run; reserve is how far beyond the limit.
func (g *gate) room(now time.Time, reserve int) bool {
	if g.limit.room(g.running.Len() - reserve) {
		return true
	}
	after := max(longAfter, 4*g.limit.goal())
	for front := g.running.Front(); front != nil && g.long < maxLong; front = g.running.Front() {
		s := front.Value.(*slot)
		if now.Sub(s.began) < after {
			break
		}
		g.leave(s)
		s.long = true
		g.long++
	}
	return g.limit.room(g.running.Len() - reserve)
}

// leave takes a slot out of what counts.
func (g *gate) leave(s *slot) {
	g.crowd(g.at)
	g.running.Remove(s.place)
	s.place = nil
	if !s.told {
		g.working--
	}
}

// crowd notes that more than least run. What began before has not run alone: work
// comes and goes in batches, in which the first one finds nobody beside it.
func (g *gate) crowd(now time.Time) {
	if g.running.Len() > least {
		g.crowded = now
	}
}

func (g *gate) begin(now time.Time) *slot {
	s := &slot{began: now}
	s.place = g.running.PushBack(s)
	g.crowd(now)
	g.working++
	g.admitted++
	return s
}

// hopeless refuses work that would not even wait.
func (g *gate) hopeless() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.tell(now)
	if !g.queueFull() || g.room(now, 0) {
		return false
	}
	g.limit.full = true
	g.refused++
	return true
}

func (g *gate) queueFull() bool {
	return g.waiting.Len() >= max(minQueue, int(g.limit.value)/4)
}

// acquire waits for room, at most for wait; nil is a refusal.
func (g *gate) acquire(ctx context.Context, wait time.Duration, reserve int) *slot {
	g.mu.Lock()
	now := time.Now()
	g.tell(now)
	if (g.waiting.Len() == 0 || reserve > 0) && g.room(now, reserve) {
		s := g.begin(now)
		g.mu.Unlock()
		return s
	}
	g.limit.full = true
	if wait <= 0 || g.queueFull() {
		g.refused++
		g.mu.Unlock()
		return nil
	}
	w := &waiter{granted: make(chan *slot, 1)}
	w.place = g.waiting.PushBack(w)
	g.mu.Unlock()

	impatient := time.NewTimer(wait)
	defer impatient.Stop()
	select {
	case s := <-w.granted:
		return s
	case <-impatient.C:
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case s := <-w.granted: // at the last moment
		return s
	default:
		g.waiting.Remove(w.place)
		g.refused++
		return nil
	}
}

// answered takes the time of a slot, once: what it does from then on is its caller's
// pace and not the storage driver's.
func (g *gate) answered(s *slot) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.told {
		return
	}
	now := time.Now()
	g.tell(now)
	if s.place == nil { // its time would say nothing
		s.told = true
		return
	}
	s.told = true
	g.working--
	g.limit.finished(now.Sub(s.began), g.running.Len() <= least && s.began.After(g.crowded))
	g.grant(now)
}

// release gives a slot back.
func (g *gate) release(s *slot) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.tell(now)
	switch {
	case s.long:
		s.long = false
		g.long--
	case s.place != nil:
		g.leave(s)
	}
	s.told, s.ended = true, true
	g.grant(now)
}

func (g *gate) grant(now time.Time) {
	for g.waiting.Len() > 0 && g.room(now, 0) {
		w := g.waiting.Remove(g.waiting.Front()).(*waiter)
		w.granted <- g.begin(now)
	}
}
