package kv

import (
	"context"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

func (s *store) Head(ctx context.Context) (at authz.Position, err error) {
	err = s.view(ctx, func(p *partition) { at = position(p, "log") })
	return at, err // zero after an error
}

// position is what a head row of the event log names.
func position(p *partition, name string) authz.Position {
	if row := heads.get(p, name); row != nil {
		return authz.Position{Seq: row.Version, Identity: row.Text}
	}
	return authz.Position{}
}

// EventsSince reads mark and page at one instant: a prune shows as a gap, never
// as a hole.
func (s *store) EventsSince(ctx context.Context, after authz.Position, limit int) (page storage.EventPage, err error) {
	err = s.view(ctx, func(p *partition) {
		if after.Seq < 0 {
			p.refuse(storage.CodeValidation, "a sequence number must not be negative")
		}
		identity := ""
		if e := events.get(p, ordered(after.Seq)); e != nil {
			identity = e.Identity
		}
		if page = storage.After(after, position(p, "pruned"), position(p, "log"), identity); page.Gap || page.Reset {
			return
		}
		for e := range events.all(p, events.keys(p, ordered(after.Seq))) {
			if len(page.Events) >= limit {
				return
			}
			page.UpTo, page.Events = authz.Position{Seq: e.Seq, Identity: e.Identity}, append(page.Events, e.Event)
		}
	}, after)
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
		var marked string
		if f.KeepRows != nil {
			mark = version(p, "log") - *f.KeepRows
			if *f.KeepRows < 0 {
				p.refuse(storage.CodeValidation, "the number of events to keep must not be negative")
			}
		}
		var kept []authz.Position
		for e := range events.all(p, events.keys(p, "")) {
			if f.Before == nil && e.Seq > mark {
				break
			}
			if kept = append(kept, authz.Position{Seq: e.Seq, Identity: e.Identity}); f.Before != nil && e.At < *f.Before {
				mark = max(mark, e.Seq)
			}
		}
		for ; int(deleted) < len(kept) && kept[deleted].Seq <= mark; deleted++ {
			events.remove(p, ordered(kept[deleted].Seq))
			marked = kept[deleted].Identity
		}
		if deleted > 0 {
			heads.put(p, head{Name: "pruned", Version: mark, Text: marked})
		}
	}, f)
	if err != nil {
		return 0, err
	}
	return deleted, nil
}
