package application

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// ReviewSodViolations implements provider.Reviews.
func (a *Application) ReviewSodViolations(ctx context.Context, q provider.ReviewQuery) (page provider.SodViolationsPage, err error) {
	if q.UserIDs == nil && a.duties.Empty() {
		q.UserIDs, q.After = new([]string), "" // there is nothing to break
	}
	page.Users, page.Next, err = reviewPage(ctx, a, "reviewSodViolations", q, a.violations)
	return page, err
}

// ReviewEntitlements implements provider.Reviews.
func (a *Application) ReviewEntitlements(ctx context.Context, q provider.ReviewQuery) (page provider.EntitlementsPage, err error) {
	page.Users, page.Next, err = reviewPage(ctx, a, "reviewEntitlements", q, a.entitlements)
	return page, err
}

// reviewPage is a page of what judge makes of users. It looks at a bounded number of them.
func reviewPage[Record any](ctx context.Context, a *Application, op string, q provider.ReviewQuery,
	judge func(data *authz.SubjectAccess, now int64) (record Record, wanted bool)) (page []Record, next string, err error) {
	limit, err := reviewLimit(q.Limit, provider.MaxReviewed)
	if err != nil {
		return nil, "", err
	}
	var s shape
	s.text("after", q.After, maxCursor)
	given, after := q.UserIDs, q.After
	if given != nil {
		rest, err := givenAfter(&s, *given, after)
		if err != nil {
			return nil, "", err
		}
		given = &rest
	}
	if s.err != nil {
		return nil, "", s.err
	}
	page, looked, room := []Record{}, 0, reviewRoom{}
	for r, err := range a.reviewed(ctx, given, after, limit+1) {
		if err != nil {
			return nil, "", a.readFailed(op, err)
		}
		if looked == limit {
			return page, after, nil
		}
		if record, wanted := judge(&r.data, r.now); wanted && r.candidate {
			switch fits, err := room.takes(record); {
			case err != nil:
				return nil, "", err
			case !fits:
				return page, after, nil
			}
			page = append(page, record)
		}
		looked, after = looked+1, r.id
	}
	return page, "", nil
}

// givenAfter are the users that follow one of those given.
func givenAfter(s *shape, ids []string, after string) ([]string, error) {
	if len(ids) > maxGiven {
		return nil, authz.Validation("userIds names at most %d users, this one %d", maxGiven, len(ids))
	}
	s.ids("userIds", ids)
	seen := make(map[string]bool, len(ids))
	for _, id := range ids {
		if seen[id] {
			return nil, authz.Validation("userIds names %s twice", spell.Quote(id))
		}
		seen[id] = true
	}
	if after == "" {
		return slices.Clone(ids), nil
	}
	at := slices.Index(ids, after)
	if at < 0 {
		return nil, errForeignPlace()
	}
	return slices.Clone(ids[at+1:]), nil
}

// maxGiven bounds the users of one question.
const maxGiven = 1000

func errForeignPlace() error {
	return authz.Validation("after must be the next of a page of this very list: of the same question")
}

// reviewLimit is how much a page takes of what is counted.
func reviewLimit(asked, most int) (int, error) {
	switch {
	case asked < 0:
		return 0, authz.Validation("limit must be at least 1")
	case asked == 0 || asked > most:
		return most, nil
	}
	return asked, nil
}

// reviewRoom is what a page still takes in bytes. It always takes one row.
type reviewRoom struct{ used int }

func (r *reviewRoom) takes(row any) (bool, error) {
	text, err := json.Marshal(row)
	if err != nil {
		return false, err
	}
	if r.used > 0 && r.used+len(text) > provider.MaxReviewBytes {
		return false, nil
	}
	r.used += len(text)
	return true, nil
}

// maxChainBytes bounds the details that a part of the chain is made of.
const maxChainBytes = 16 << 20

// ReviewAuditChain implements provider.Reviews.
func (a *Application) ReviewAuditChain(ctx context.Context, q provider.AuditChainQuery) (part provider.AuditChainPart, err error) {
	limit, err := reviewLimit(q.Limit, provider.MaxChainPart)
	if err != nil {
		return part, err
	}
	from, prior := provider.AuditQuery{}, ""
	if q.After != nil {
		var s shape
		s.instant("after.at", &q.After.At)
		s.id("after.id", q.After.ID)
		s.text("after.hash", q.After.Hash, maxID)
		if s.err != nil {
			return part, s.err
		}
		from.Cursor, prior = &authz.AuditCursor{At: q.After.At}, q.After.Hash // so that the entry itself is read again
		part.Last = *q.After
	}
	found, read, size := q.After == nil, 0, 0
	report, err := authz.VerifyHashChain(func(yield func(authz.AuditEntry, error) bool) {
		for e, err := range a.ListAuditEvents(ctx, from) {
			if err != nil {
				yield(e, err)
				return
			}
			if !found {
				at := e.Cursor()
				if at.Before(q.After.AuditCursor) {
					continue
				}
				if found = at == q.After.AuditCursor && e.Hash == prior; !found {
					return
				}
				continue
			}
			if part.More = read == limit || read > 0 && size+len(e.Detail) > maxChainBytes; part.More {
				return
			}
			read, size = read+1, size+len(e.Detail)
			if e.Hash == "" {
				part.Unhashed++
			}
			if !yield(e, nil) {
				part.Broken = e.Cursor()
				return
			}
			part.Last = provider.AuditPlace{AuditCursor: e.Cursor(), Hash: e.Hash}
		}
	}, prior)
	switch {
	case err != nil:
		return provider.AuditChainPart{}, err
	case !found:
		return provider.AuditChainPart{}, authz.Rejected(authz.CodeNotFound, "the audit log has no entry %s of the instant %d with the hash %s",
			spell.Quote(q.After.ID), q.After.At, spell.Quote(prior))
	}
	part.OK, part.Hashed, part.Reason = report.OK, report.Hashed, report.Reason
	if report.Reason == authz.HashChainUnhashed {
		part.Unhashed-- // the one that breaks the chain is not from before it
	}
	if !report.OK {
		part.Hashed = report.Index - part.Unhashed
	}
	return part, nil
}

// ReviewWildcardDrift implements provider.Reviews.
func (a *Application) ReviewWildcardDrift(ctx context.Context, q provider.DriftQuery) (page provider.DriftPage, err error) {
	const op = "reviewWildcardDrift"
	limit, err := reviewLimit(q.Limit, provider.MaxDriftFindings)
	if err != nil {
		return page, err
	}
	place, err := driftPlaceOf(q)
	if err != nil {
		return page, err
	}
	drift, from, to, err := a.driftBetween(ctx, op, q.SinceVersion, place.To)
	if err != nil {
		return page, err
	}
	place.Since, place.To = from, to
	page = provider.DriftPage{FromVersion: from, ToVersion: to, Drift: drift, Findings: []access.DriftFinding{}}
	room := reviewRoom{}
	walk := &driftWalk{a: a, drift: drift, place: place, now: a.clock()}
	more, err := walk.each(ctx, func(f access.DriftFinding) (bool, error) {
		if len(page.Findings) == limit {
			return false, nil
		}
		fits, err := room.takes(f)
		if fits {
			page.Findings = append(page.Findings, f)
		}
		return fits, err
	})
	if err != nil {
		return provider.DriftPage{}, a.readFailed(op, err)
	}
	if more {
		page.Next, err = walk.place.cursor()
	}
	return page, err
}
