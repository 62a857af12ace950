package mongo

import (
	"context"
	"iter"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// eventPage bounds one page of events whatever was asked for.
const eventPage = 10_000

// readEpoch returns the head and the mark, zero when nothing was ever written.
func (p *partition) readEpoch(ctx context.Context) (e epochDoc, err error) {
	in := p.in(layout.Epoch)
	row, found, err := in.One(ctx, in.Key(epochKey))
	if err != nil || !found {
		return e, err
	}
	return e, row.Decode(&e)
}

// Head needs no look at the turn: the head moves after all that it announces.
func (s *store) Head(ctx context.Context) (authz.Position, error) {
	if err := s.usable(ctx); err != nil {
		return authz.Position{}, err
	}
	var epoch epochDoc
	err := s.read(ctx, func(ctx context.Context) (err error) {
		epoch, err = s.partition.readEpoch(ctx)
		return err
	})
	return epoch.head(), err
}

// EventsSince reads the page first, from the event of the position on, and the
// mark after it, so that a reader whom a prune overtook learns of the gap.
func (s *store) EventsSince(ctx context.Context, after authz.Position, limit int) (page storage.EventPage, err error) {
	if err := s.usable(ctx, after); err != nil {
		return page, err
	}
	if after.Seq < 0 {
		return page, storage.Errorf(storage.CodeValidation, "a sequence number must not be negative")
	}
	in := s.partition.in(layout.Events)
	var rows []layout.Row
	var epoch epochDoc
	err = s.read(ctx, func(ctx context.Context) (err error) {
		rows, _, err = in.Find(ctx, in.Above(after.Seq-1), layout.Page{Sort: byID, Limit: int64(max(0, min(limit, eventPage))) + 1})
		if err == nil {
			epoch, err = s.partition.readEpoch(ctx)
		}
		return err
	})
	if err != nil {
		return page, err
	}
	identity := ""
	if len(rows) > 0 && rows[0].Number() == after.Seq {
		if _, identity, err = eventOf(rows[0]); err != nil {
			return page, failed(err)
		}
		rows = rows[1:]
	}
	if page = storage.After(after, epoch.mark(), epoch.head(), identity); page.Gap || page.Reset {
		return page, nil
	}
	for _, row := range rows[:max(0, min(limit, len(rows)))] {
		// Beyond the head lies what a commit is still writing.
		if n := row.Number(); n != page.UpTo.Seq+1 || n > epoch.Seq {
			break
		}
		event, identity, err := eventOf(row)
		if err != nil {
			return storage.EventPage{}, failed(err)
		}
		page.Events = append(page.Events, event)
		page.UpTo = authz.Position{Seq: page.UpTo.Seq + 1, Identity: identity}
	}
	return page, nil
}

// PruneEvents raises the mark under the turn, as appends move the head, and
// deletes what lies up to it afterwards: no append is held up by that.
func (s *store) PruneEvents(ctx context.Context, prune storage.PruneEvents) (deleted int64, err error) {
	if err := s.usable(ctx, prune); err != nil {
		return 0, err
	}
	if prune.KeepRows != nil && *prune.KeepRows < 0 {
		return 0, storage.Errorf(storage.CodeValidation, "the number of events to keep must not be negative")
	}
	ctx, cancel := bounded(ctx, commitWait)
	defer cancel()
	p := s.partition
	in := p.in(layout.Events)
	var mark int64
	raising := false
	err = p.underTurn(ctx, func(t *turn) error {
		epoch, err := p.readEpoch(ctx)
		if err != nil {
			return failed(err)
		}
		mark = epoch.PrunedThrough
		if prune.KeepRows != nil {
			mark = max(mark, epoch.Seq-*prune.KeepRows)
		}
		if prune.Before != nil {
			rows, _, err := in.Find(ctx, in.Where(eq("at", bson.D{eq("$lt", *prune.Before)})),
				layout.Page{Sort: bson.D{eq("_id", -1)}, Limit: 1, Only: []string{}})
			if err != nil {
				return failed(err)
			}
			if len(rows) > 0 {
				mark = max(mark, min(rows[0].Number(), epoch.Seq))
			}
		}
		if mark == epoch.PrunedThrough {
			return nil
		}
		var marked eventDoc
		row, found, err := in.One(ctx, in.Key(mark))
		if err == nil && found {
			err = row.Decode(&marked)
		}
		if err != nil {
			return failed(err)
		}
		raising = true
		epochs := p.in(layout.Epoch)
		_, err = epochs.Update(ctx, epochs.Key(epochKey, eq("prunedThrough", bson.D{eq("$lt", mark)})), set(eq("prunedThrough", mark), eq("prunedIdentity", marked.Identity)))
		return failed(err)
	})
	if err == nil && mark > 0 {
		deleted, err = in.Delete(ctx, in.UpTo(mark))
	}
	if err != nil && raising {
		return 0, unknown(err)
	}
	return deleted, failed(err)
}

// Watch keeps no queue: between two yields only the newest head counts.
func (s *store) Watch(ctx context.Context) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		last, poll := int64(-1), time.NewTicker(s.partition.watchPoll)
		defer poll.Stop()
		for {
			moved := s.partition.head.wait()
			head, err := s.Head(ctx)
			switch {
			case ctx.Err() != nil && last >= 0:
				return
			case err != nil:
				yield(0, err)
				return
			case head.Seq != last:
				if last = head.Seq; !yield(last, nil) {
					return
				}
			}
			select {
			case <-moved:
			case <-poll.C:
			case <-ctx.Done():
				return
			case <-s.handle:
				yield(0, seam.Closed())
				return
			}
		}
	}
}
