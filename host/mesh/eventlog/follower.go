package eventlog

import (
	"context"
	"sync/atomic"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// follower is the source of the poller of one log: its events are translated and handed
// on to the target.
type follower struct {
	on     *Poller
	now    atomic.Pointer[Part]
	poller *provider.Poller

	// Of the polling goroutine. A look that only takes the head owes one `all` when the
	// log came late: nobody knows what was cached before, or which events were missed.
	pinned, late bool
}

var (
	_ provider.Ingesting  = (*follower)(nil)
	_ provider.Delivering = (*follower)(nil)
	_ provider.Losing     = (*follower)(nil)
)

func newFollower(on *Poller, part Part, late bool) (*follower, error) {
	f := &follower{on: on, late: late}
	f.now.Store(&part)
	var err error
	f.poller, err = provider.StartEventPoller(f, provider.PollerOptions{Interval: on.interval, Hints: part.Hints, OnError: f.failed})
	return f, err
}

func (f *follower) part() *Part { return f.now.Load() }

// failed tells of a look that failed. While the log of merged rows cannot be read,
// nothing that was merged is vouched for.
func (f *follower) failed(err error) {
	f.late = f.late || !f.pinned
	if f.part().Kind == Owner {
		f.on.ingest(authz.Event{Type: authz.EventAll})
	}
	if f.on.onError != nil {
		f.on.onError(f.part().failed(err))
	}
}

// IngestEvents takes what the poller has read.
func (f *follower) IngestEvents(events []authz.Event) { f.on.ingest(f.part().translate(events)...) }

// OnInvalidate is the target's; no poller subscribes to what it feeds.
func (f *follower) OnInvalidate(listener func(authz.Event)) (unsubscribe func()) {
	return f.on.target.OnInvalidate(listener)
}

// Delivered answers for the application's own writes, which are in its own log.
func (f *follower) Delivered(log string, after authz.Position) authz.Position {
	if d, ok := f.on.target.(provider.Delivering); ok && f.part().Kind == Own {
		return d.Delivered(log, after)
	}
	return after
}

// LostPosition is told to the partition whose log it is.
func (f *follower) LostPosition(ctx context.Context, log string, at authz.Position) {
	if l := f.part().Losing; l != nil {
		l.LostPosition(ctx, log, at)
	}
}

// EventLog is the log.
func (f *follower) EventLog() provider.EventLog { return followed{f} }

// followed is the log of a follower, as its poller reads it.
type followed struct{ *follower }

func (f followed) Head(ctx context.Context) (provider.EventLogHead, error) {
	head, err := f.part().Log.Head(ctx)
	if err != nil {
		return head, err
	}
	// The head was read before what it owes is told, so nothing falls in between.
	f.pinned = true
	if f.late {
		f.late = false
		f.on.ingest(authz.Event{Type: authz.EventAll})
	}
	return head, nil
}

func (f followed) Since(ctx context.Context, after authz.Position, limit int) (provider.EventLogPage, error) {
	return f.part().Log.Since(ctx, after, limit)
}
