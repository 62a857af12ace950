package application

import (
	"context"
	"sync/atomic"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// pruneEvery is how many commits with events, or reports of metrics, pass between
// two prunes.
const pruneEvery = 32

// eventLog is the log of one store. failed turns its failures into what a caller may see.
type eventLog struct {
	store  storage.Store
	failed func(op string, err error) error
}

// LogOf is the event log of a partition. failed turns failures of storage into what
// callers may see.
func LogOf(s storage.Store, failed func(op string, err error) error) provider.EventLog {
	return eventLog{s, failed}
}

// EventLog is the persisted event log, nil when events are not persisted.
func (a *Application) EventLog() provider.EventLog {
	if !a.persist {
		return nil
	}
	if a.joined != nil {
		return a.joined
	}
	return eventLog{a.store, a.readFailed}
}

// Location is the store of the application.
func (a *Application) Location() provider.Location {
	info := a.store.Info()
	return provider.Location{Partition: info.Partition, Incarnation: info.Incarnation, Composite: a.joined != nil}
}

// Head answers a number and the log that it belongs to. Content that is replaced
// while the number is read makes it the number of another log, by which a reader
// would skip events of the new one.
func (e eventLog) Head(ctx context.Context) (provider.EventLogHead, error) {
	const op = "epoch.head"
	for range 2 {
		log := e.store.Info().Incarnation
		head, err := e.store.Head(ctx)
		if err != nil {
			return provider.EventLogHead{}, e.failed(op, err)
		}
		if e.store.Info().Incarnation == log {
			return provider.EventLogHead{Position: head, Log: log}, nil
		}
	}
	return provider.EventLogHead{}, e.failed(op, storage.Unavailable("", nil, "the content was replaced while its head was read"))
}

func (e eventLog) Since(ctx context.Context, after authz.Position, limit int) (provider.EventLogPage, error) {
	if after.Seq < 0 || after.Seq > authz.MaxInstant {
		return provider.EventLogPage{}, authz.Validation("seq must be an integer, 0 or more")
	}
	if limit <= 0 {
		limit = provider.DefaultEventLimit
	}
	page, err := e.store.EventsSince(ctx, after, min(limit, provider.MaxEventLimit))
	if err != nil {
		return provider.EventLogPage{}, e.failed("epoch.since", err)
	}
	return provider.EventLogPage(page), nil
}

// LostPosition passes on that the log no longer has a position.
func (a *Application) LostPosition(ctx context.Context, log string, at authz.Position) {
	lost, ok := a.joined.(provider.Losing)
	if !ok {
		lost, ok = a.store.(provider.Losing)
	}
	if ok {
		lost.LostPosition(ctx, log, at)
	}
}

// appended prunes the log in the background now and then; a failed prune costs
// disk only.
func (a *Application) appended() {
	if a.guest != nil || a.appends.Add(1)%pruneEvery != 0 {
		return // how long a neighbour keeps its log is its own process's to say
	}
	a.inBackground(&a.pruning, func(ctx context.Context) {
		before := a.clock() - a.retain.MaxAge.Milliseconds()
		_, err := a.store.PruneEvents(ctx, storage.PruneEvents{Before: &before, KeepRows: &a.retain.MaxRows})
		if err != nil {
			a.log.Debug("the event log was not pruned", "error", err)
		}
	})
}

// inBackground does work that no operation waits for, until Close, unless it is
// being done already.
func (a *Application) inBackground(busy *atomic.Bool, work func(context.Context)) {
	a.closing.Lock() // no goroutine starts once Close waits for them
	defer a.closing.Unlock()
	if a.life.Err() != nil || !busy.CompareAndSwap(false, true) {
		return
	}
	a.background.Go(func() {
		defer busy.Store(false)
		work(a.life)
	})
}
