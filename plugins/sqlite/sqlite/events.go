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
	epochRow = `SELECT "seq", coalesce("identity", ''), "prunedThrough", coalesce("prunedIdentity", '') FROM "AuthzEpoch" WHERE "app" = ?`

	moveHead = `INSERT INTO "AuthzEpoch" ("app", "id", "seq", "prunedThrough", "identity") VALUES (?, 1, ?, 0, ?)
		ON CONFLICT ("app", "id") DO UPDATE SET "seq" = excluded."seq", "identity" = excluded."identity"`
	insertEvent   = `INSERT INTO "AuthzEvent" ("app", "seq", "type", "payload", "at", "identity") VALUES (?, ?, ?, ?, ?, ?)`
	eventIdentity = `SELECT coalesce("identity", '') FROM "AuthzEvent" WHERE "app" = ? AND "seq" = ?`
	eventsAfter   = `SELECT "seq", "type", "payload", coalesce("identity", '') FROM "AuthzEvent" WHERE "app" = ? AND "seq" > ? ORDER BY "seq" LIMIT ?`

	newestBefore = `SELECT coalesce(max("seq"), 0) FROM "AuthzEvent" WHERE "app" = ? AND "at" < ?`
	raiseMark    = `UPDATE "AuthzEpoch" SET "prunedThrough" = ?, "prunedIdentity" = nullif(?, '') WHERE "app" = ?`
	deleteEvents = `DELETE FROM "AuthzEvent" WHERE "app" = ?1 AND "seq" <= ?2
		AND "seq" < (SELECT min("seq") + ?3 FROM "AuthzEvent" WHERE "app" = ?1)`
)

// prunePiece is how many rows a prune deletes in one transaction, so that commits
// need not wait for all of it.
const prunePiece = 5000

// epoch reads the head and the pruned-through mark, zero when nothing was ever
// written.
func (w *work) epoch(app string) (head, pruned authz.Position, err error) {
	_, err = w.one(epochRow, []any{app}, &head.Seq, &head.Identity, &pruned.Seq, &pruned.Identity)
	return head, pruned, err
}

// identity is that of the event with a number, "" when it is not known.
func (w *work) identity(app string, seq int64) (identity string, err error) {
	_, err = w.one(eventIdentity, []any{app, seq}, &identity)
	return identity, err
}

// appendEvents numbers the events of a commit and returns the last one's position.
// Nobody else numbers events meanwhile: a transaction writes alone.
func (w *work) appendEvents(app string, c storage.Commit) (upTo authz.Position, err error) {
	head, _, err := w.epoch(app)
	if err != nil {
		return upTo, err
	}
	upTo.Seq = head.Seq + int64(len(c.Events))
	upTo.Identity = storage.Follow(head.Identity, c.ID, upTo.Seq)
	if _, err := w.exec(moveHead, app, upTo.Seq, upTo.Identity); err != nil {
		return upTo, err
	}
	for i, e := range c.Events {
		payload, err := relational.EventPayload(e)
		if err != nil {
			return upTo, err
		}
		if _, err := w.exec(insertEvent, app, head.Seq+int64(i)+1, string(e.Type), payload, c.At, upTo.Identity); err != nil {
			return upTo, err
		}
	}
	return upTo, nil
}

func (s *store) Head(ctx context.Context) (head authz.Position, err error) {
	if err := s.usable(ctx); err != nil {
		return head, err
	}
	err = s.db.read(ctx, func(w *work) (err error) {
		head, _, err = w.epoch(s.app)
		return err
	})
	return head, err
}

func (s *store) EventsSince(ctx context.Context, after authz.Position, limit int) (page storage.EventPage, err error) {
	if err := s.usable(ctx, after); err != nil {
		return page, err
	}
	if after.Seq < 0 {
		return page, storage.Errorf(storage.CodeValidation, "a sequence number must not be negative")
	}
	err = s.db.snapshot(ctx, func(w *work) error {
		head, pruned, err := w.epoch(s.app)
		if err != nil {
			return err
		}
		identity, err := w.identity(s.app, after.Seq)
		if err != nil {
			return err
		}
		page = storage.After(after, pruned, head, identity)
		if page.Gap || page.Reset || after.Seq >= head.Seq || limit <= 0 {
			return nil
		}
		return w.each(eventsAfter, []any{s.app, after.Seq, limit}, func(scan relational.Scan) (bool, error) {
			var at authz.Position
			var kind string
			var payload []byte
			if err := scan(&at.Seq, &kind, &payload, &at.Identity); err != nil {
				return false, err
			}
			if at.Seq != page.UpTo.Seq+1 { // a cursor must never pass an event it was not given
				return true, nil
			}
			event, err := relational.EventOf(kind, payload)
			page.Events = append(page.Events, event)
			page.UpTo = at
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
		mark = pruned.Seq
		if p.Before != nil {
			var newest int64
			if _, err := w.one(newestBefore, []any{s.app, *p.Before}, &newest); err != nil {
				return err
			}
			mark = max(mark, newest)
		}
		if p.KeepRows != nil {
			mark = max(mark, head.Seq-*p.KeepRows)
		}
		if raised = mark != pruned.Seq; !raised {
			return nil
		}
		identity, err := w.identity(s.app, mark)
		if err == nil {
			_, err = w.exec(raiseMark, mark, identity, s.app)
		}
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
			head, err := s.Head(ctx)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				yield(0, err)
				return
			case head.Seq != shown:
				if shown = head.Seq; !yield(shown, nil) {
					return
				}
			}
			poll := time.NewTimer(s.driver.options.WatchPoll)
			select {
			case <-moved:
			case <-poll.C:
			case <-ctx.Done():
			case <-s.handle:
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
