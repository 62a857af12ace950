package kv

import (
	"context"
	"iter"
	"math"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// ListAudit reads forward from a place: the cursor's, or without one that from
// which Limit entries match.
func (s *store) ListAudit(ctx context.Context, f storage.AuditFilter) iter.Seq2[authz.AuditEntry, error] {
	match := func(e *authz.AuditEntry) bool {
		return is(f.Target, e.Target) && is(f.Actor, e.Actor) && is(f.Action, e.Action)
	}
	forth, back := ".at/", ".back/" // where entries stand in time
	if f.Subject != nil {
		forth, back = ".about/"+*f.Subject+"\x00", ".about.back/"+*f.Subject+"\x00"
	}
	first, before, limit := "", end, 0
	if f.From != nil {
		first = ordered(*f.From)
	}
	if f.To != nil {
		before = ordered(*f.To)
	}
	if f.Cursor != nil {
		first = max(first, place(f.Cursor.At, f.Cursor.ID))
	}
	if f.Limit != nil {
		if limit = int(min(*f.Limit, math.MaxInt32)); limit <= 0 {
			first, limit = end, 0
		}
	}
	keys := func(p *partition, after string) iter.Seq[string] {
		if f.Cursor == nil && limit > 0 && after == first {
			after = beforeLast(p, back, limit, first, before, match)
		}
		return audit.placed(p, forth, after, before)
	}
	return list(ctx, s, audit, keys, match, func(e *authz.AuditEntry) string { return place(e.At, e.ID) }, first, limit, f)
}

// beforeLast walks an index backwards from below before to the place above which n
// entries match.
func beforeLast(p *partition, back string, n int, after, before string, match func(*authz.AuditEntry) bool) string {
	for entry := range p.following(audit.entity+back, backwards(before)+"\xff") {
		place := forwards(entry)
		if place >= before {
			continue
		}
		if n == 0 || place <= after {
			return max(place, after)
		}
		for row := range audit.all(p, slices.Values([]string{place[len(ordered(0))+1:]})) {
			if match(row) {
				n--
			}
		}
		if p.err != nil {
			break
		}
	}
	return after
}
