package service

import (
	"context"
	"math"
	"time"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/internal/audited"
	"github.com/authzhost/authz/sdk/authz"
)

// AuditQuery selects entries of the account log (spec: hosted-api §15). From is
// inclusive, To exclusive; "" and nil are any. An Action that ends with ".*" is any that
// begins like it. Export reads forwards from From, else the newest entries come first and
// each next page is older.
type AuditQuery struct {
	Actor, Action, Target string
	About                 *audited.About
	From, To              *int64
	Export                bool
	DetailLimit           *int64 // longer details are left out; nil leaves out none
}

func (q AuditQuery) selects(e authz.AuditEntry) bool {
	return (q.Actor == "" || q.Actor == e.Actor) && audited.Action(q.Action, e.Action) && (q.Target == "" || q.Target == e.Target) &&
		(q.About == nil || q.About.Named(e)) &&
		(q.From == nil || e.At >= *q.From) && (q.To == nil || e.At < *q.To)
}

// Audit lists the account log in the order (at, id).
func (s *Service) Audit(ctx context.Context, a *Access, q AuditQuery, p Page) (List[authz.AuditEntry], error) {
	list, err := s.entries(ctx, a, q, p)
	for i := range list.Rows {
		list.Rows[i].Shorten(q.DetailLimit)
	}
	return list, err
}

func (s *Service) entries(ctx context.Context, a *Access, q AuditQuery, p Page) (List[authz.AuditEntry], error) {
	position := func(e authz.AuditEntry) string { return account.LogID(e.At, e.ID) }
	if !q.Export {
		return s.recent(ctx, a.Org.ID, q, p)
	}
	after := p.After
	if q.From != nil && *q.From > 0 {
		after = max(after, account.LogID(*q.From, "")) // below every entry of that instant
	}
	rows := func(yield func(authz.AuditEntry, error) bool) {
		for row, err := range account.Log.Page(ctx, s.Accounts, a.Org.ID, after, 0) {
			if err == nil && q.To != nil && row.Value.At >= *q.To {
				return
			}
			if !yield(row.Value, err) {
				return
			}
		}
	}
	return taken(rows, q.selects, position, p)
}

// AuditEntry is the entry of an instant and an id in the account log.
func (s *Service) AuditEntry(ctx context.Context, a *Access, at int64, id string) (authz.AuditEntry, error) {
	row, found, err := account.Log.Get(ctx, s.Accounts, a.Org.ID, account.LogID(at, id))
	if err == nil && !found {
		err = fault.Rejected(authz.CodeNotFound, "audit entry not found")
	}
	return row.Value, err
}

// AccountPosition is where the account log of an org ends.
func (s *Service) AccountPosition(ctx context.Context, org string) (string, error) {
	head, _, err := s.Accounts.LogHead(ctx, org)
	return account.LogID(head.At, head.ID), err
}

// firstWindow is how far back, in milliseconds, the newest entries are looked for
// first; each further look goes back twice as far.
const firstWindow = int64(time.Hour / time.Millisecond)

// recent is the newest entries before a place, ascending. The log reads forwards only, so
// it is read from an instant that is moved back until there are enough. Without an end
// the first look has none: another host's clock may be ahead.
func (s *Service) recent(ctx context.Context, org string, q AuditQuery, p Page) (List[authz.AuditEntry], error) {
	to, from, limit := int64(math.MaxInt64), s.Clock(), p.Limit+1
	if q.To != nil {
		to, from = *q.To, min(from, *q.To)
	}
	if p.After != "" {
		at, ok := account.LogInstant(p.After)
		if !ok {
			return List[authz.AuditEntry]{}, fault.Cloud("invalid_cursor", "the cursor is not one of this list")
		}
		to, from = min(to, at+1), min(from, at+1)
	}
	beginning := int64(0)
	if q.From != nil {
		beginning = max(0, *q.From)
	}
	var found []authz.AuditEntry
	for window := firstWindow; to > beginning && len(found) < limit; window *= 2 {
		from = max(beginning, from-window)
		older, err := s.newest(ctx, org, q, from, to, p.After, limit-len(found))
		if err != nil {
			return List[authz.AuditEntry]{}, err
		}
		found = append(older, found...)
		to = from
	}
	list := List[authz.AuditEntry]{Rows: append([]authz.AuditEntry{}, found[max(0, len(found)-p.Limit):]...)}
	if len(found) == limit {
		list.Next = account.LogID(list.Rows[0].At, list.Rows[0].ID)
	}
	return list, nil
}

// newest is at most limit entries from an instant up to another and to a place, the last
// ones. It holds no more than twice as many, however long the log is.
func (s *Service) newest(ctx context.Context, org string, q AuditQuery, from, to int64, before string, limit int) ([]authz.AuditEntry, error) {
	var kept []authz.AuditEntry
	for row, err := range account.Log.Page(ctx, s.Accounts, org, account.LogID(from, ""), 0) {
		if err != nil {
			return nil, err
		}
		if row.Value.At >= to || before != "" && account.LogID(row.Value.At, row.Value.ID) >= before {
			break
		}
		if !q.selects(row.Value) {
			continue
		}
		if len(kept) == 2*limit {
			kept = append(kept[:0], kept[limit:]...)
		}
		kept = append(kept, row.Value)
	}
	return kept[max(0, len(kept)-limit):], nil
}
