package sqlite

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	epochRow = `SELECT "seq", "prunedThrough" FROM "AuthzEpoch" WHERE "app" = ?`

	takeNumbers = `INSERT INTO "AuthzEpoch" ("app", "id", "seq", "prunedThrough") VALUES (?, 1, ?, 0)
		ON CONFLICT ("app", "id") DO UPDATE SET "seq" = "seq" + excluded."seq" RETURNING "seq"`
	insertEvent = `INSERT INTO "AuthzEvent" ("app", "seq", "type", "payload", "at") VALUES (?, ?, ?, ?, ?)`
	eventsAfter = `SELECT "seq", "type", "payload" FROM "AuthzEvent" WHERE "app" = ? AND "seq" > ? ORDER BY "seq" LIMIT ?`

	newestBefore = `SELECT coalesce(max("seq"), 0) FROM "AuthzEvent" WHERE "app" = ? AND "at" < ?`
	raiseMark    = `UPDATE "AuthzEpoch" SET "prunedThrough" = ? WHERE "app" = ?`
	deleteEvents = `DELETE FROM "AuthzEvent" WHERE "app" = ?1 AND "seq" <= ?2
		AND "seq" < (SELECT min("seq") + ?3 FROM "AuthzEvent" WHERE "app" = ?1)`
)

// prunePiece is how many rows a prune deletes in one transaction, so that commits
// need not wait for all of it.
const prunePiece = 5000

// epoch reads the head and the pruned-through mark, 0 when nothing was ever
// written.
func (w *work) epoch(app string) (head, pruned int64, err error) {
	_, err = w.one(epochRow, []any{app}, &head, &pruned)
	return head, pruned, err
}

// appendEvents numbers the events and returns the last number.
func (w *work) appendEvents(app string, at int64, events []authz.Event) (upTo int64, err error) {
	if _, err := w.one(takeNumbers, []any{app, len(events)}, &upTo); err != nil {
		return 0, err
	}
	for i, e := range events {
		payload, err := relational.EventPayload(e)
		if err != nil {
			return 0, err
		}
		seq := upTo - int64(len(events)-1-i)
		if _, err := w.exec(insertEvent, app, seq, string(e.Type), payload, at); err != nil {
			return 0, err
		}
	}
	return upTo, nil
}

func (s *store) HeadSeq(ctx context.Context) (head int64, err error) {
	if err := s.usable(ctx); err != nil {
		return 0, err
	}
	err = s.db.read(ctx, func(w *work) (err error) {
		head, _, err = w.epoch(s.app)
		return err
	})
	return head, err
}

func (s *store) EventsSince(ctx context.Context, seq int64, limit int) (page storage.EventPage, err error) {
	if err := s.usable(ctx, seq); err != nil {
		return page, err
	}
	if seq < 0 {
		return page, storage.Errorf(storage.CodeValidation, "a sequence number must not be negative")
	}
	err = s.db.snapshot(ctx, func(w *work) error {
		page = storage.EventPage{UpTo: seq}
		head, pruned, err := w.epoch(s.app)
		switch {
		case err != nil:
			return err
		case seq < pruned:
			page = storage.EventPage{Gap: true}
			return nil
		case seq >= head || limit <= 0:
			return nil
		}
		return w.each(eventsAfter, []any{s.app, seq, limit}, func(scan relational.Scan) (bool, error) {
			var number int64
			var kind string
			var payload []byte
			if err := scan(&number, &kind, &payload); err != nil {
				return false, err
			}
			if number != page.UpTo+1 { // a cursor must never pass an event it was not given
				return true, nil
			}
			event, err := relational.EventOf(kind, payload)
			page.Events = append(page.Events, event)
			page.UpTo = number
			return false, err
		})
	})
	if err != nil {
		return storage.EventPage{}, err
	}
	return page, nil
}

// PruneEvents raises the mark in a transaction of its own before anything goes: a
// reader sees a gap, never a hole.
func (s *store) PruneEvents(ctx context.Context, p storage.PruneEvents) (deleted int64, err error) {
	if err := s.usable(ctx, p); err != nil {
		return 0, err
	}
	if p.KeepRows != nil && *p.KeepRows < 0 {
		return 0, storage.Errorf(storage.CodeValidation, "the number of events to keep must not be negative")
	}
	var mark int64
	raised := false
	err = s.write(ctx, func(w *work) error {
		head, pruned, err := w.epoch(s.app)
		if err != nil {
			return err
		}
		mark = pruned
		if p.Before != nil {
			var newest int64
			if _, err := w.one(newestBefore, []any{s.app, *p.Before}, &newest); err != nil {
				return err
			}
			mark = max(mark, newest)
		}
		if p.KeepRows != nil {
			mark = max(mark, head-*p.KeepRows)
		}
		if raised = mark != pruned; !raised {
			return nil
		}
		_, err = w.exec(raiseMark, mark, s.app)
		return err
	})
	if err != nil {
		return 0, err
	}
	for mark > 0 {
		var n int64
		err := s.write(ctx, func(w *work) (err error) {
			n, err = w.exec(deleteEvents, s.app, mark, prunePiece)
			return err
		})
		if err != nil {
			return deleted, relational.Unsettled(err, raised || deleted > 0)
		}
		if deleted += n; n == 0 {
			break
		}
	}
	return deleted, nil
}

// Watch keeps no queue: between two yields only the newest head counts. Commits
// of this driver wake it, those of others are found by looking.
func (s *store) Watch(ctx context.Context) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		if err := s.usable(ctx); err != nil {
			yield(0, err)
			return
		}
		for shown := int64(-1); ; {
			moved := s.partition.head.wait()
			head, err := s.HeadSeq(ctx)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				yield(0, err)
				return
			case head != shown:
				if shown = head; !yield(head, nil) {
					return
				}
			}
			poll := time.NewTimer(s.driver.options.WatchPoll)
			select {
			case <-moved:
			case <-poll.C:
			case <-ctx.Done():
			case <-s.closed:
			}
			poll.Stop()
			if ctx.Err() != nil {
				return
			}
		}
	}
}

// signal wakes everybody who waits. Its zero value is ready to use.
type signal struct {
	mu    sync.Mutex
	fired chan struct{}
}

// wait returns what is closed when the signal is next given.
func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fired == nil {
		s.fired = make(chan struct{})
	}
	return s.fired
}

func (s *signal) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fired != nil {
		close(s.fired)
		s.fired = nil
	}
}
