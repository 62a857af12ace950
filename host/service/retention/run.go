package retention

import (
	"context"
	"time"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/billing"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// run is one ingest, in the section of its application.
type run struct {
	*Retention
	org, application string
	asked            applications.Asked
	until            time.Time

	link   string             // the hash that the next entry of the chain names
	anchor *authz.AuditCursor // an entry that the log must still have
	moved  bool               // its cursor
	left   *place             // where the next run goes on
	result Result
}

const capReached = "cap_reached"

// all ingests, and records what it took in also when it then failed.
func (r *run) all(ctx context.Context, actor string) error {
	err := r.pages(ctx)
	if err == nil {
		return r.finish(ctx, actor)
	}
	if r.result.Ingested > 0 || r.result.Integrity != Intact {
		_ = r.finish(ctx, actor) // the first failure is the answer
	}
	return err
}

func (r *run) pages(ctx context.Context) error {
	last, _, err := ingests.Get(ctx, r.store, r.org, r.application)
	if err != nil {
		return err
	}
	from, seam := authz.AuditCursor{}, false
	if r.anchor = last.Value.Cursor; r.anchor != nil {
		r.result.UpTo = r.anchor
		from.At, seam = max(r.anchor.At-overlap, 0), true
	}
	if last.Value.goesOn(r.store.Now(ctx)) {
		from, r.link, seam = last.Value.Left.AuditCursor, last.Value.Left.Hash, false
		if !from.Before(*r.anchor) {
			r.anchor = nil
		}
	}
	for {
		room, err := r.room(ctx)
		if err != nil {
			return err
		}
		if room == 0 {
			paused := capReached
			r.result.Paused = &paused
			break
		}
		page, err := r.page(ctx, from)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			if r.anchor != nil { // the log ends before what was read of it
				r.result.Integrity = Mismatch
			}
			break
		}
		if _, err := r.open(ctx, r.org, r.application); err != nil { // off stops at once
			return err
		}
		kept, err := r.keep(ctx, page, room)
		if err != nil {
			return err
		}
		if seam { // the first entry is known by its event, not by the one before it
			r.link, seam = page[0].PrevHash, false
		}
		r.verify(page[:kept])
		from = page[kept-1].Cursor()
		if time.Now().After(r.until) {
			r.result.More = true
			// Near the log's end entries are filed late: once its cursor moves there, the next
			// run begins before it.
			if !r.moved || from.At < r.store.Now(ctx)-overlap {
				r.left = &place{from, r.link}
			}
			break
		}
	}
	return nil
}

// room is how many events the cap leaves, the largest integer without one.
func (r *run) room(ctx context.Context) (int64, error) {
	d, err := r.meters.Read(ctx, r.org, billing.RetainedAuditEvents)
	if err != nil || d.Cap == nil {
		return maxInstant, err
	}
	return max(*d.Cap-d.Value, 0), nil
}

// page asks for the next events and holds the application to their order.
func (r *run) page(ctx context.Context, from authz.AuditCursor) ([]authz.AuditEntry, error) {
	limit := int64(pageSize)
	var page []authz.AuditEntry
	for e, err := range r.asked.Relay.ListAuditEvents(ctx, provider.AuditQuery{Cursor: &from, Limit: &limit}) {
		switch {
		case err != nil:
			return nil, err
		case len(page) == pageSize:
			return nil, lied(r.application, "the audit log came in a larger page than was asked for")
		case e.At < 0 || e.At > maxInstant || e.ID == "" || len(e.ID) > maxID:
			return nil, lied(r.application, "the audit log holds an entry without a usable id or instant")
		case len(page) > 0 && !page[len(page)-1].Cursor().Before(e.Cursor()), !from.Before(e.Cursor()):
			return nil, lied(r.application, "the audit log is not in its order")
		}
		page = append(page, e)
	}
	return page, nil
}

// verify follows the hash chain, and looks for the entry at the run's first cursor.
func (r *run) verify(page []authz.AuditEntry) {
	report, err := authz.VerifyHashChain(func(yield func(authz.AuditEntry, error) bool) {
		for _, e := range page {
			if !yield(e, nil) {
				return
			}
		}
	}, r.link)
	if err != nil || !report.OK {
		r.result.Integrity = Mismatch
	}
	r.link = page[len(page)-1].Hash
	for _, e := range page {
		if r.anchor != nil && !e.Cursor().Before(*r.anchor) {
			if e.Cursor() != *r.anchor {
				r.result.Integrity = Mismatch // the log goes on without it
			}
			r.anchor = nil
		}
	}
}

// commitBytes keeps a commit well below what storage takes at once.
const commitBytes = 8 << 20

// keep writes what is new of a page, and the cursor with it. It says how many
// entries it got through, at least one: the cap or the size may leave a part.
func (r *run) keep(ctx context.Context, page []authz.AuditEntry, room int64) (kept int, err error) {
	tx, size := r.store.Begin(ctx), 0
	var added, repeated int64
	taken := map[string]bool{}
	for _, e := range page {
		sum, err := sumOf(e)
		if err != nil {
			return 0, lied(r.application, "the audit log holds an entry that is not JSON")
		}
		id := identity(r.application, e.ID)
		before, known, err := r.known(ctx, id)
		if err != nil {
			return 0, err
		}
		fresh := !known && !taken[id]
		if fresh && (added == room || size > commitBytes) {
			break
		}
		switch {
		case fresh:
			size += put(tx, r.org, Event{r.application, e, r.store.Now(ctx)}, sum)
			taken[id] = true
			added++
		case known && before == sum:
			repeated++
		default: // what is retained stays as it is
			r.result.Integrity = Mismatch
		}
		kept++
	}
	if err := r.advance(ctx, tx, page[kept-1].Cursor(), added); err != nil {
		return 0, err
	}
	r.result.Ingested += added
	r.result.Duplicates += repeated
	return kept, nil
}

// known is the sum of the retained event.
func (r *run) known(ctx context.Context, id string) (sum string, found bool, err error) {
	for row, err := range events.UnderSecond(ctx, r.store, r.org, id) {
		return row.Value.Sum, err == nil, err
	}
	return "", false, nil
}

// advance commits; the cursor never goes back.
func (r *run) advance(ctx context.Context, tx *account.Tx, to authz.AuditCursor, added int64) error {
	row, _, err := ingests.Get(ctx, r.store, r.org, r.application)
	if err != nil {
		return err
	}
	p := row.Value
	moved := p.Cursor == nil || p.Cursor.Before(to)
	if moved {
		p.Cursor = &to
	}
	if !moved && added == 0 {
		return nil
	}
	ingests.Put(tx, r.org, r.application, p, row.Version)
	if added > 0 {
		if err := r.meters.Add(ctx, tx, r.org, billing.RetainedAuditEvents, r.application, added); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		if storage.CodeOf(err) == storage.CodeValidation {
			return lied(r.application, "the audit log holds an entry that no storage takes")
		}
		return err
	}
	r.result.UpTo = p.Cursor
	r.moved = r.moved || moved
	return nil
}

func (r *run) finish(ctx context.Context, actor string) error {
	row, _, err := ingests.Get(ctx, r.store, r.org, r.application)
	if err != nil {
		return err
	}
	p := row.Value
	p.RanAt, p.Left = r.store.Now(ctx), r.left
	tx := r.store.Begin(ctx)
	ingests.Put(tx, r.org, r.application, p, row.Version)
	if actor != "" {
		tx.Audit(r.org, actor, "retention.ingest", r.application, r.result)
	}
	return tx.Commit()
}
