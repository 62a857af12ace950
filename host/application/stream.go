package application

import (
	"context"
	"slices"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// stream hands events to the listeners of this process, one operation at a time,
// in the order of the log. Commits are answered in any order, so an answered one
// waits for those that were under way by then: their numbers may be lower. A
// commit begun later has a higher number and is never waited for.
//
// A listener must not write to the same application before it returns: the
// write would wait for the delivery that the listener is part of.
type stream struct {
	log hclog.Logger

	mu         sync.Mutex
	moved      *sync.Cond
	begun      uint64
	open       map[*ticket]bool // begun, not yet delivered
	delivering bool

	first     func(authz.Event) // hears everything before the listeners
	listeners []*listener

	// run is the last unbroken sequence of own commits whose events were delivered.
	// ends holds the last position of the newest of them.
	run struct {
		log   string
		first delivered
		ends  []authz.Position
	}
}

// delivered is a commit of this process whose events the listeners heard.
type delivered struct {
	id   string
	from int64
	upTo authz.Position
}

// follows says whether the events came right behind a position. Where the driver
// gives no identities, the number has to do.
func (d delivered) follows(at authz.Position) bool {
	return at.Seq+1 == d.from && (d.upTo.Identity == "" || d.upTo.Identity == storage.Follow(at.Identity, d.id, d.upTo.Seq))
}

// maxEnds bounds the positions that a run remembers.
const maxEnds = 256

type listener struct{ hear func(authz.Event) }

// ticket stands for one commit from its sending to its delivery.
type ticket struct {
	number   uint64 // order of beginning
	answered bool
	seq      int64  // the commit's last event number, 0 when it has none
	horizon  uint64 // begun at the answer
}

func newStream(log hclog.Logger, first func(authz.Event)) *stream {
	s := &stream{log: log, open: map[*ticket]bool{}, first: first}
	s.moved = sync.NewCond(&s.mu)
	return s
}

// begin is called before a commit is sent.
func (s *stream) begin() *ticket {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun++
	t := &ticket{number: s.begun}
	s.open[t] = true
	return t
}

// abandon ends a ticket whose commit was not applied.
func (s *stream) abandon(t *ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, t)
	s.moved.Broadcast()
}

// deliver ends a ticket: it calls the listeners with the events in their turn.
// seq is 0 without an event log; the order is then that of completion. When ctx
// ends first, the events are delivered at once: their rows are durable, and a
// cache that never hears of them is worse than one that hears out of order.
func (s *stream) deliver(ctx context.Context, t *ticket, seq int64, events []authz.Event) {
	wake := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.moved.Broadcast()
	})
	defer wake()
	s.mu.Lock()
	t.answered, t.seq, t.horizon = true, seq, s.begun
	s.moved.Broadcast()
	for s.delivering || ctx.Err() == nil && s.mustWait(t) {
		s.moved.Wait()
	}
	s.delivering = true
	hearing := append([]*listener(nil), s.listeners...)
	s.mu.Unlock()

	for _, e := range events {
		s.contain(s.first, e)
		for _, l := range hearing {
			s.contain(l.hear, e)
		}
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.delivering = false
	delete(s.open, t)
	s.moved.Broadcast()
}

func (s *stream) mustWait(t *ticket) bool {
	if t.seq == 0 {
		return false
	}
	for other := range s.open {
		switch {
		case other == t:
		case !other.answered && other.number <= t.horizon:
			return true
		case other.answered && other.seq > 0 && other.seq < t.seq:
			return true
		}
	}
	return false
}

func (s *stream) contain(hear func(authz.Event), e authz.Event) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("a listener of invalidation events panicked", "event", string(e.Type), "panic", p)
		}
	}()
	hear(e)
}

func (s *stream) subscribe(hear func(authz.Event)) (unsubscribe func()) {
	l := &listener{hear: hear}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, l)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for i, have := range s.listeners {
			if have == l {
				s.listeners = append(s.listeners[:i:i], s.listeners[i+1:]...)
				return
			}
		}
	}
}

// OnInvalidate calls listener for every event of this process in the order of
// the log, before the write that caused it returns. A listener that panics is
// logged and the others still run; one must not write to this application
// before it returns.
func (a *Application) OnInvalidate(listener func(authz.Event)) (unsubscribe func()) {
	return a.stream.subscribe(listener)
}

// note lengthens the run by the events of a commit that were delivered.
func (s *stream) note(log string, c delivered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := &s.run
	if run.log != log || len(run.ends) == 0 || !c.follows(run.ends[len(run.ends)-1]) {
		run.log, run.first, run.ends = log, c, nil
	}
	if len(run.ends) == maxEnds {
		run.ends = append(run.ends[:0], run.ends[maxEnds/2:]...)
	}
	run.ends = append(run.ends, c.upTo)
}

// Delivered implements provider.Delivering.
func (a *Application) Delivered(log string, after authz.Position) authz.Position {
	a.stream.mu.Lock()
	defer a.stream.mu.Unlock()
	run := &a.stream.run
	if run.log == log && (run.first.follows(after) || slices.Contains(run.ends, after)) {
		return run.ends[len(run.ends)-1]
	}
	return after
}

// IngestEvents passes events of other processes to the local listeners, in
// order. They are not stored again.
func (a *Application) IngestEvents(events []authz.Event) {
	a.stream.deliver(context.Background(), a.stream.begin(), 0, events)
}
