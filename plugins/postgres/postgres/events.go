package postgres

import (
	"context"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// maxEvents is how many events one page holds, whatever was asked for.
const maxEvents = 10_000

func (s *store) HeadSeq(ctx context.Context) (int64, error) {
	if err := s.able(ctx, storage.CapEvents); err != nil {
		return 0, err
	}
	head, _, err := one(ctx, s, `select "seq" from "AuthzEpoch" where "app" = $1`, scanNumber)
	return head, err
}

// EventsSince reads the mark and the page in one statement, at one instant: a
// reader that a prune overtakes sees the mark that goes with the missing rows.
func (s *store) EventsSince(ctx context.Context, seq int64, limit int) (storage.EventPage, error) {
	if err := s.able(ctx, storage.CapEvents, seq); err != nil {
		return storage.EventPage{}, err
	}
	if seq < 0 {
		return storage.EventPage{}, storage.Errorf(storage.CodeValidation, "a sequence number must not be negative")
	}
	type row struct {
		mark  int64
		seq   *int64
		event authz.Event
	}
	c, err := several(ctx, s, true, func(scan relational.Scan) (r row, err error) {
		var kind *string
		var payload []byte
		if err := scan(&r.mark, &r.seq, &kind, &payload); err != nil || r.seq == nil {
			return r, err
		}
		r.event, err = relational.EventOf(*kind, payload)
		return r, err
	}, `select m.mark, e."seq", e."type", e."payload"
		from (select coalesce((select "prunedThrough" from "AuthzEpoch" where "app" = $1), 0) as mark) m
		left join lateral (select "seq", "type", "payload" from "AuthzEvent" where "app" = $1 and "seq" > $2 order by "seq" limit $3) e on true
		order by e."seq"`, seq, max(0, min(limit, maxEvents)))
	if err != nil {
		return storage.EventPage{}, err
	}
	page := storage.EventPage{UpTo: seq}
	for _, r := range c.rows {
		switch {
		case seq < r.mark:
			return storage.EventPage{Gap: true}, nil
		case r.seq == nil || *r.seq != page.UpTo+1:
			return page, nil // never past a number that is not there
		}
		page.UpTo = *r.seq
		page.Events = append(page.Events, r.event)
	}
	return page, nil
}

// PruneEvents raises the mark under the lock that appends take, deletes a piece
// with it, and the rest piece by piece.
func (s *store) PruneEvents(ctx context.Context, p storage.PruneEvents) (deleted int64, err error) {
	if err := s.able(ctx, storage.CapEvents, p); err != nil {
		return 0, err
	}
	if p.KeepRows != nil && *p.KeepRows < 0 {
		return 0, storage.Errorf(storage.CodeValidation, "the number of events to keep must not be negative")
	}
	if p.Before == nil && p.KeepRows == nil {
		return 0, nil
	}
	var n int64
	remove := step{
		sql: `delete from "AuthzEvent" where "app" = $1 and "seq" in (select "seq" from "AuthzEvent" where "app" = $1
			and "seq" <= (select "prunedThrough" from "AuthzEpoch" where "app" = $1) order by "seq" limit $2)`,
		args:     []any{s.partition, pruneRows},
		affected: func(rows int64) error { n = rows; return nil },
	}
	steps := []step{
		// A statement of its own: the next one sees every event up to the head it locked.
		{sql: `select 1 from "AuthzEpoch" where "app" = $1 for no key update`, args: []any{s.partition}},
		{sql: `update "AuthzEpoch" set "prunedThrough" = greatest("prunedThrough",
				coalesce((select max("seq") from "AuthzEvent" where "app" = $1 and "at" < $2::bigint), 0),
				coalesce("seq" - $3::bigint, 0))
			where "app" = $1`, args: []any{s.partition, p.Before, p.KeepRows}},
		remove,
	}
	for {
		n = 0
		err := s.driver.transact(ctx, &transaction{steps: steps})
		if deleted += n; err != nil || n < pruneRows {
			return deleted, relational.Unsettled(err, len(steps) == 1) // the first one raises the mark
		}
		steps = []step{remove}
	}
}
