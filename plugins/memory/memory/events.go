package memory

import (
	"context"
	"iter"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// eventLog keeps the events above the pruned-through mark; the first one has the
// number that follows the mark. Appending may write behind the end of the slice
// that an earlier state holds, which no reader of that state looks at.
type eventLog struct {
	prunedThrough int64
	kept          []loggedEvent

	// moved is closed when a state with a newer head has been published.
	moved chan struct{}
}

type loggedEvent struct {
	event authz.Event
	at    int64
}

func (l *eventLog) head() int64 { return l.prunedThrough + int64(len(l.kept)) }

func (l *eventLog) append(at int64, events []authz.Event) {
	for _, e := range events {
		l.kept = append(l.kept, loggedEvent{e, at})
	}
}

func (s *store) HeadSeq(ctx context.Context) (int64, error) {
	if err := s.usable(ctx); err != nil {
		return 0, err
	}
	return s.now().log.head(), nil
}

func (s *store) EventsSince(ctx context.Context, seq int64, limit int) (storage.EventPage, error) {
	if err := s.usable(ctx, seq); err != nil {
		return storage.EventPage{}, err
	}
	if seq < 0 {
		return storage.EventPage{}, storage.Errorf(storage.CodeValidation, "a sequence number must not be negative")
	}
	log := s.now().log
	page := storage.EventPage{UpTo: seq}
	switch {
	case seq < log.prunedThrough:
		return storage.EventPage{Gap: true}, nil
	case seq >= log.head() || limit <= 0:
		return page, nil
	}
	rest := log.kept[seq-log.prunedThrough:]
	for _, e := range rest[:min(limit, len(rest))] {
		page.Events = append(page.Events, e.event)
	}
	page.UpTo += int64(len(page.Events))
	return page, nil
}

func (s *store) PruneEvents(ctx context.Context, p storage.PruneEvents) (deleted int64, err error) {
	if err := s.usable(ctx, p); err != nil {
		return 0, err
	}
	if p.KeepRows != nil && *p.KeepRows < 0 {
		return 0, storage.Errorf(storage.CodeValidation, "the number of events to keep must not be negative")
	}
	err = s.partition.write(ctx, nil, func(d *draft) (bool, error) {
		deleted = d.log.prune(p)
		return deleted > 0, nil
	})
	if err != nil {
		return 0, err
	}
	return deleted, nil
}

// prune raises the mark to the newest event before the instant, or so far that
// only the rows to keep remain, and drops what lies up to it.
func (l *eventLog) prune(p storage.PruneEvents) int64 {
	drop := 0
	if p.Before != nil {
		for i, e := range slices.Backward(l.kept) {
			if e.at < *p.Before {
				drop = i + 1
				break
			}
		}
	}
	if p.KeepRows != nil && *p.KeepRows < int64(len(l.kept)) {
		drop = max(drop, len(l.kept)-int(*p.KeepRows))
	}
	if drop == 0 {
		return 0
	}
	l.prunedThrough += int64(drop)
	l.kept = slices.Clone(l.kept[drop:])
	return int64(drop)
}

// Watch keeps no queue: between two yields only the newest head counts.
func (s *store) Watch(ctx context.Context) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		if err := s.usable(ctx); err != nil {
			yield(0, err)
			return
		}
		for {
			log := s.now().log
			if !yield(log.head(), nil) {
				return
			}
			select {
			case <-log.moved:
			case <-ctx.Done():
				return
			case <-s.closed:
				yield(0, errClosed())
				return
			}
		}
	}
}
