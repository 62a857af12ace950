package memory

import (
	"context"
	"time"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// keepCommits is how long the id of a commit is recognised, and sweepCommits how
// many older ones a commit forgets in passing.
const (
	keepCommits  = int64(24 * time.Hour / time.Millisecond)
	sweepCommits = 16
)

func (s *store) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	if err := s.usable(ctx); err != nil {
		return storage.CommitResult{}, err
	}
	digest, err := storage.CheckCommit(c)
	if err != nil {
		return storage.CommitResult{}, err
	}
	var result storage.CommitResult
	err = s.partition.write(ctx, c.Fences, func(d *draft) (bool, error) {
		if first, found := d.commits.byID.get(&appliedCommit{id: c.ID}); found {
			if first.digest != digest {
				return false, storage.Errorf(storage.CodeConflict, "commit %s was applied with other content", spell.Quote(c.ID))
			}
			result = copyResult(first.result)
			result.Replayed = true
			return false, nil
		}
		if c.Incarnation != "" && c.Incarnation != *s.partition.incarnation.Load() {
			return false, storage.ErrOtherLife()
		}
		if err := s.partition.sections.whileCurrent(c.Fences, func() {}); err != nil {
			return false, err
		}
		applied := &appliedCommit{id: c.ID, digest: digest, recordedAt: s.partition.clock()}
		var err error
		if applied.result, err = d.apply(c); err != nil {
			return false, err
		}
		d.record(applied)
		result = copyResult(applied.result)
		return true, nil
	})
	if err != nil {
		return storage.CommitResult{}, err
	}
	return result, nil
}

func (s *store) GetCommit(ctx context.Context, id string) (storage.CommitResult, bool, error) {
	return get(ctx, s, func(st *state) *tree[*appliedCommit] { return &st.commits.byID }, &appliedCommit{id: id},
		func(c *appliedCommit) storage.CommitResult { return copyResult(c.result) }, id)
}

// record remembers a commit and forgets some that are old enough.
func (d *draft) record(c *appliedCommit) {
	d.commits.byID.set(d.edit, c)
	d.commits.byAge.set(d.edit, c)
	old := take(while(d.commits.byAge.all(), func(o *appliedCommit) bool { return c.recordedAt-o.recordedAt > keepCommits }),
		sweepCommits, func(*appliedCommit) bool { return true })
	for _, o := range old {
		d.commits.byID.remove(d.edit, o)
		d.commits.byAge.remove(d.edit, o)
	}
}

// apply judges and writes in the order of judgement (spec: storage §5):
// requirements, changes with their preconditions, audit, the required head, events.
func (d *draft) apply(c storage.Commit) (result storage.CommitResult, err error) {
	for _, r := range c.Requires {
		if err := d.require(r); err != nil {
			return result, err
		}
	}
	result.Results = make([]storage.ChangeResult, len(c.Changes))
	for i, change := range c.Changes {
		if result.Results[i], err = d.change(change); err != nil {
			return result, err
		}
	}
	for _, entry := range c.Audit {
		if _, found := d.audit.byID.get(&entry); found {
			return result, seam.Taken("audit entry", entry.ID)
		}
		row := copyAudit(&entry)
		d.audit.byID.set(d.edit, &row)
		d.audit.byPosition.set(d.edit, &row)
	}
	for _, r := range c.Requires {
		if head, ok := r.(storage.RequireHead); ok && !d.log.head().Is(authz.Position(head)) {
			return result, storage.Errorf(storage.CodeConflict, "the log head is %s, not %s", d.log.head(), authz.Position(head))
		}
	}
	if len(c.Events) > 0 {
		d.log.append(c)
		result.UpTo = d.log.head()
	}
	return result, nil
}

// require judges one requirement; the head is judged last, by apply.
func (d *draft) require(r storage.Requirement) error {
	switch r := r.(type) {
	case storage.RequireRole:
		if _, found := d.roles.get(&authz.Role{ID: r.ID}); !found {
			return seam.Absent("role", r.ID)
		}
	case storage.RequireRecord:
		row, found := d.records.byID.get(&storage.Record{Collection: r.Collection, ID: r.ID})
		if !found {
			return storage.Errorf(storage.CodeConflict, "record %s does not exist", spell.Quote(r.ID))
		}
		if row.Version != r.Version {
			return seam.Moved(row.Version, "record %s is at version %d, not %d", spell.Quote(r.ID), row.Version, r.Version)
		}
	case storage.RequireHead:
	default:
		return storage.Errorf(storage.CodeValidation, "%T is no requirement", r)
	}
	return nil
}
