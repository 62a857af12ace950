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
	t.gate.away(t.slot)
	return func() { t.gate.back(t.slot) }
}

func (g *gate) away(s *slot) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.tell(now)
	if s.away++; s.away > 1 || s.place == nil {
		return
	}
	g.leave(s)
	s.left = now
	g.grant(now)
}

func (g *gate) back(s *slot) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.tell(now)
	if s.away--; s.away > 0 || s.left.IsZero() || s.ended {
		return
	}
	s.began = s.began.Add(now.Sub(s.left)) // only its time here counts
	s.left = time.Time{}
	s.place = g.running.PushBack(s)
	g.crowd(now)
	if !s.told {
		g.working++
	}
}
