package retention

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/authzhost/authz/host/service/account"
)

// Page reads events forwards (mode=export): at most limit after the position,
// "" is the beginning. next is the position to go on from, "" at the end.
func (r *Retention) Page(ctx context.Context, org string, f Filter, after string, limit int) (page []Event, next string, err error) {
	page = []Event{}
	for row, err := range r.scan(ctx, org, f, after) {
		if err != nil {
			return nil, "", err
		}
		if len(page) == limit {
			return page, position(page[limit-1]), nil
		}
		e, err := row.Value.whole(ctx, r.store, org)
		if err != nil {
			return nil, "", err
		}
		page = append(page, e)
	}
	return page, "", nil
}

const firstWindow = int64(time.Minute / time.Millisecond)

// Recent reads the newest limit events (mode=recent), oldest first. Storage lists
// forwards only: it looks at windows of time, each further back and four times as
// long, until there are enough.
func (r *Retention) Recent(ctx context.Context, org string, f Filter, limit int) ([]Event, error) {
	oldest, end, window := int64(0), r.store.Now(ctx), firstWindow
	if f.From != nil {
		oldest = max(*f.From, 0)
	}
	if f.To != nil {
		end = min(end, *f.To)
	}
	var found []account.Row[retained]
	span := Filter{Application: f.Application, Action: f.Action, Actor: f.Actor, Target: f.Target, To: f.To}
	for {
		begin := max(end-window, oldest)
		span.From = &begin
		var part []account.Row[retained]
		for row, err := range r.scan(ctx, org, span, "") {
			if err != nil {
				return nil, err
			}
			if part = append(part, row); len(part) >= 2*limit {
				part = slices.Delete(part, 0, len(part)-limit)
			}
		}
		found = append(part, found...)
		if len(found) >= limit || begin <= oldest {
			break
		}
		span.To, end, window = &begin, begin, window*4
	}
	found = found[max(len(found)-limit, 0):]
	page := make([]Event, len(found))
	for i, row := range found {
		e, err := row.Value.whole(ctx, r.store, org)
		if err != nil {
			return nil, err
		}
		page[i] = e
	}
	return page, nil
}

// Export records that the events are exported, then streams them in the order of
// the log.
func (r *Retention) Export(ctx context.Context, actor, org string, f Filter) (iter.Seq2[Event, error], error) {
	target := "*"
	if f.Application != nil {
		target = *f.Application
	}
	tx := r.store.Begin(ctx)
	tx.Audit(org, actor, "retention.export", target, f)
	if err := tx.Commit(); err != nil {
		return nil, err
	}
	return func(yield func(Event, error) bool) {
		for row, err := range r.scan(ctx, org, f, "") {
			var e Event
			if err == nil {
				e, err = row.Value.whole(ctx, r.store, org)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}, nil
}
