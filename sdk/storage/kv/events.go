package kv

import (
	"context"

	"github.com/authzhost/authz/sdk/storage"
)

func (s *store) HeadSeq(ctx context.Context) (seq int64, err error) {
	err = s.view(ctx, func(p *partition) { seq = version(p, "log") })
	return seq, err // version is 0 after an error
}

// EventsSince reads mark and page at one instant: a prune shows as a gap, never
// as a hole.
func (s *store) EventsSince(ctx context.Context, seq int64, limit int) (page storage.EventPage, err error) {
	err = s.view(ctx, func(p *partition) {
		if seq < 0 {
			p.refuse(storage.CodeValidation, "a sequence number must not be negative")
		}
		if page.Gap = seq < version(p, "pruned"); page.Gap {
			return
		}
		page.UpTo = seq
		for e := range events.all(p, events.keys(p, ordered(seq))) {
			if len(page.Events) >= limit {
				return
			}
			page.UpTo, page.Events = e.Seq, append(page.Events, e.Event)
		}
	}, seq)
	if err != nil {
		return storage.EventPage{}, err
	}
	return page, nil
}

// PruneEvents raises the mark and deletes what lies up to it. Instants may be out
// of order in the log: the newest event before the instant decides.
func (s *store) PruneEvents(ctx context.Context, f storage.PruneEvents) (deleted int64, err error) {
	err = s.update(ctx, func(p *partition) {
		var mark int64
		if f.KeepRows != nil {
			mark = version(p, "log") - *f.KeepRows
			if *f.KeepRows < 0 {
				p.refuse(storage.CodeValidation, "the number of events to keep must not be negative")
			}
		}
		var kept []int64
		for e := range events.all(p, events.keys(p, "")) {
			if f.Before == nil && e.Seq > mark {
				break
			}
			if kept = append(kept, e.Seq); f.Before != nil && e.At < *f.Before {
				mark = max(mark, e.Seq)
			}
		}
		for ; int(deleted) < len(kept) && kept[deleted] <= mark; deleted++ {
			events.remove(p, ordered(kept[deleted]))
		}
		if deleted > 0 {
			heads.put(p, head{Name: "pruned", Version: mark})
		}
	}, f)
	if err != nil {
		return 0, err
	}
	return deleted, nil
}
