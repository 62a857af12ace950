package admission

import (
	"context"
	"time"
)

type ticketKey struct{}

// With carries a ticket to where the work is done.
func With(ctx context.Context, t Ticket) context.Context {
	if t.slot == nil {
		return ctx
	}
	return context.WithValue(ctx, ticketKey{}, t)
}

// Away gives the place of the context's work to others until back is called, which
// takes one again without a wait: for work that waits for somebody else than this
// host's storage driver. Without a ticket it does nothing.
func Away(ctx context.Context) (back func()) {
	t, ok := ctx.Value(ticketKey{}).(Ticket)
	if !ok {
		return func() {}
	}
	t.class.away(t.slot)
	return func() { t.class.back(t.slot) }
}

func (l *classLimiter) away(s *slot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.tell(now)
	if s.away++; s.away > 1 || s.place == nil {
		return
	}
	l.leave(s)
	s.left = now
	l.grant(now)
}

func (l *classLimiter) back(s *slot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.tell(now)
	if s.away--; s.away > 0 || s.left.IsZero() || s.ended {
		return
	}
	s.began = s.began.Add(now.Sub(s.left)) // only its time here counts
	s.left = time.Time{}
	s.place = l.running.PushBack(s)
	l.crowd(now)
	if !s.told {
		l.working++
	}
}
