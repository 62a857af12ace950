package postgres

import (
	"context"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// maxEvents is how many events one page holds, whatever was asked for.
const maxEvents = 10_000

// scanPosition reads a number and an identity, which may be null.
func scanPosition(scan relational.Scan) (at authz.Position, err error) {
	var identity *string
	if err = scan(&at.Seq, &identity); identity != nil {
		at.Identity = *identity
	}
	return at, err
}

func (s *store) Head(ctx context.Context) (authz.Position, error) {
	if err := s.able(ctx, storage.CapEvents); err != nil {
		return authz.Position{}, err
	}
	head, _, err := one(ctx, s, `select "seq", "identity" from "AuthzEpoch" where "app" = $1`, scanPosition)
	return head, err
}

// EventsSince reads head, mark, the event of the position and the page in one
// statement, at one instant: a reader that a prune overtakes sees the mark that
// goes with the missing rows.
func (s *store) EventsSince(ctx context.Context, after authz.Position, limit int) (storage.EventPage, error) {
	if err := s.able(ctx, storage.CapEvents, after); err != nil {
		return storage.EventPage{}, err
	}
	if after.Seq < 0 {
		return storage.EventPage{}, storage.Errorf(storage.CodeValidation, "a sequence number must not be negative")
	}
	type row struct {
		mark, head authz.Position
		known      string
		seq        *int64
		identity   string
		event      authz.Event
	}
	c, err := several(ctx, s, true, func(scan relational.Scan) (r row, err error) {
		var kind *string
		var payload []byte
		if err := scan(&r.head.Seq, &r.head.Identity, &r.mark.Seq, &r.mark.Identity, &r.known, &r.seq, &r.identity, &kind, &payload); err != nil || r.seq == nil {
			return r, err
		}
		r.event, err = relational.EventOf(*kind, payload)
		return r, err
	}, `select coalesce(m."seq", 0), coalesce(m."identity", ''), coalesce(m."prunedThrough", 0), coalesce(m."prunedIdentity", ''),
			coalesce(k."identity", ''), e."seq", coalesce(e."identity", ''), e."type", e."payload"
		from (select 1) one
		left join "AuthzEpoch" m on m."app" = $1
		left join "AuthzEvent" k on k."app" = $1 and k."seq" = $2
		left join lateral (select "seq", "identity", "type", "payload" from "AuthzEvent" where "app" = $1 and "seq" > $2 order by "seq" limit $3) e on true
		order by e."seq"`, after.Seq, max(0, min(limit, maxEvents)))
	if err != nil {
		return storage.EventPage{}, err
	}
	var page storage.EventPage
	for i, r := range c.rows {
		if i == 0 {
			page = storage.After(after, r.mark, r.head, r.known)
		}
		if page.Gap || page.Reset || r.seq == nil || *r.seq != page.UpTo.Seq+1 {
			return page, nil // never past a number that is not there
		}
		page.UpTo = authz.Position{Seq: *r.seq, Identity: r.identity}
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
		{sql: `with mark as (select greatest(
				coalesce((select max("seq") from "AuthzEvent" where "app" = $1 and "at" < $2::bigint), 0),
				coalesce((select "seq" from "AuthzEpoch" where "app" = $1) - $3::bigint, 0)) as seq)
			update "AuthzEpoch" t set "prunedThrough" = mark.seq,
				"prunedIdentity" = (select "identity" from "AuthzEvent" where "app" = $1 and "seq" = mark.seq)
			from mark where t."app" = $1 and mark.seq > t."prunedThrough"`, args: []any{s.partition, p.Before, p.KeepRows}},
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
