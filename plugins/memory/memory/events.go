package memory

import (
	"context"
	"iter"
	"slices"

	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// eventLog keeps the events above the pruned-through mark; the first one has the
// number that follows the mark. Appending may write behind the end of the slice
// that an earlier state holds, which no reader of that state looks at.
type eventLog struct {
	pruned authz.Position
	kept   []loggedEvent

	// moved is closed when a state with a newer head has been published.
	moved chan struct{}
}

type loggedEvent struct {
	event    authz.Event
	identity string
	at       int64
}

func (l *eventLog) head() authz.Position { return l.position(len(l.kept)) }

// position is that of the nth event kept; 0 is the mark.
func (l *eventLog) position(n int) authz.Position {
	if n == 0 {
		return l.pruned
	}
	return authz.Position{Seq: l.pruned.Seq + int64(n), Identity: l.kept[n-1].identity}
}

func (l *eventLog) append(c storage.Commit) {
	head := l.head()
	identity := storage.Follow(head.Identity, c.ID, head.Seq+int64(len(c.Events)))
	for _, e := range c.Events {
		l.kept = append(l.kept, loggedEvent{e, identity, c.At})
	}
}

func (s *store) Head(ctx context.Context) (authz.Position, error) {
	if err := s.usable(ctx); err != nil {
		return authz.Position{}, err
	}
	return s.now().log.head(), nil
}

func (s *store) EventsSince(ctx context.Context, after authz.Position, limit int) (storage.EventPage, error) {
	if err := s.usable(ctx, after); err != nil {
		return storage.EventPage{}, err
	}
	if after.Seq < 0 {
		return storage.EventPage{}, storage.Errorf(storage.CodeValidation, "a sequence number must not be negative")
	}
	log, identity := s.now().log, ""
	first := int(after.Seq - log.pruned.Seq)
	if first > 0 && first <= len(log.kept) {
		identity = log.position(first).Identity
	}
	page := storage.After(after, log.pruned, log.head(), identity)
	if page.Gap || page.Reset || first >= len(log.kept) || limit <= 0 {
		return page, nil
	}
	rest := log.kept[first:]
	for _, e := range rest[:min(limit, len(rest))] {
		page.Events = append(page.Events, e.event)
	}
	page.UpTo = log.position(first + len(page.Events))
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
	l.pruned = l.position(drop)
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
			if !yield(log.head().Seq, nil) {
				return
			}
			select {
			case <-log.moved:
			case <-ctx.Done():
				return
			case <-s.handle:
				yield(0, seam.Closed())
				return
			}
		}
	}
}
