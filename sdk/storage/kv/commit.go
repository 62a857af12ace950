package kv

import (
	"context"
	"time"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// A commit's id is recognised for keepCommits; each commit forgets some that are
// older.
const (
	keepCommits  = 24 * time.Hour
	sweepCommits = 16
)

// Commit is one transaction: what refuses, leaves nothing behind.
func (s *store) Commit(ctx context.Context, c storage.Commit) (result storage.CommitResult, err error) {
	digest, err := storage.CheckCommit(c)
	if err != nil {
		return result, err
	}
	err = s.update(ctx, func(p *partition) {
		if first := commits.get(p, c.ID); first != nil {
			if first.Digest != digest.String() {
				p.refuse(storage.CodeConflict, "commit %s was applied with other content", spell.Quote(c.ID))
			}
			result = first.result()
			result.Replayed = true
			return
		}
		if life := heads.get(p, "life"); c.Incarnation != "" && (life == nil || life.Text != c.Incarnation) {
			p.fail(storage.ErrOtherLife())
			return
		}
		result = apply(p, c)
		now := time.Now()
		var old []string
		for id := range commits.inTime(p, "", ordered(now.Add(-keepCommits).UnixMilli())) {
			if old = append(old, id); len(old) == sweepCommits {
				break
			}
		}
		for _, id := range old {
			commits.remove(p, id)
		}
		commits.put(p, appliedAs(c.ID, digest.String(), now.UnixMilli(), result))
	})
	if err != nil {
		return storage.CommitResult{}, err
	}
	return result, nil
}

// apply judges and writes in the order that every driver keeps: fences,
// requirements, changes, audit, the required head, events.
func apply(p *partition, c storage.Commit) (result storage.CommitResult) {
	for _, want := range c.Fences {
		if have := fences.get(p, want.Key); have == nil || have.Fence != want.Fence {
			p.refuse(storage.CodeStaleFence, "section %s has moved on from fence %d", spell.Quote(want.Key), want.Fence)
		}
	}
	for _, r := range c.Requires {
		switch r := r.(type) {
		case storage.RequireRole:
			if roles.get(p, r.ID) == nil {
				p.refuse(storage.CodeNotFound, "role %s does not exist", spell.Quote(r.ID))
			}
		case storage.RequireHead: // judged last
		case storage.RequireRecord:
			if atRecord(p, r.Collection, r.ID, r.Version); r.Version == 0 {
				p.refuse(storage.CodeConflict, "record %s does not exist", spell.Quote(r.ID))
			}
		default:
			p.refuse(storage.CodeValidation, "%T is no requirement", r)
		}
	}
	result.Results = make([]storage.ChangeResult, len(c.Changes))
	for i, change := range c.Changes {
		if p.fail(p.ctx.Err()); p.err != nil {
			return result
		}
		result.Results[i] = applyChange(p, change)
	}
	for _, entry := range c.Audit {
		insert(p, audit, entry)
	}
	log := position(p, "log")
	for _, r := range c.Requires {
		if head, ok := r.(storage.RequireHead); ok && !log.Is(authz.Position(head)) {
			p.refuse(storage.CodeConflict, "the log head is %s, not %s", log, authz.Position(head))
		}
	}
	if len(c.Events) == 0 {
		return result
	}
	identity := storage.Follow(log.Identity, c.ID, log.Seq+int64(len(c.Events)))
	for _, e := range c.Events {
		log = authz.Position{Seq: log.Seq + 1, Identity: identity}
		events.put(p, event{log.Seq, c.At, e, identity})
	}
	heads.put(p, head{Name: "log", Version: log.Seq, Text: identity})
	result.UpTo = log
	return result
}
