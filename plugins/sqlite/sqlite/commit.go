package sqlite

import (
	"context"
	"time"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	// keepCommits is how long the id of a commit is recognised, and sweepCommits
	// how many older ones a commit forgets in passing.
	keepCommits  = int64(24 * time.Hour / time.Millisecond)
	sweepCommits = 16
)

const (
	claimCommit = `INSERT INTO "AuthzCommit" ("app", "id", "digest", "result", "at") VALUES (?, ?, ?, '', ?) ON CONFLICT ("app", "id") DO NOTHING`
	commitRow   = `SELECT "digest", "result" FROM "AuthzCommit" WHERE "app" = ? AND "id" = ?`
	keepResult  = `UPDATE "AuthzCommit" SET "result" = ? WHERE "app" = ? AND "id" = ?`
	oldCommits  = `DELETE FROM "AuthzCommit" WHERE "app" = ?1 AND "id" IN
		(SELECT "id" FROM "AuthzCommit" WHERE "app" = ?1 AND "at" < ?2 ORDER BY "at" LIMIT ?3)`
)

// Commit judges and writes in one transaction, which nobody else can write beside:
// the id, the fences, the requirements, the changes with their preconditions, the
// audit entries, the required head, the events.
func (s *store) Commit(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
	if err := s.usable(ctx); err != nil {
		return storage.CommitResult{}, err
	}
	digest, err := storage.CheckCommit(c)
	if err != nil {
		return storage.CommitResult{}, err
	}
	var result storage.CommitResult
	err = s.write(ctx, func(w *work) (err error) {
		now := s.driver.options.Clock()
		claimed, err := w.exec(claimCommit, s.app, c.ID, digest.String(), now)
		if err != nil {
			return err
		}
		if claimed == 0 {
			result, err = recognised(w, s.app, c.ID, digest)
			return err
		}
		if err := compareLife(w, s.app, c.Incarnation); err != nil {
			return err
		}
		if err := compareFences(w, s.app, c.Fences); err != nil {
			return err
		}
		if result, err = apply(w, s.app, c); err != nil {
			return err
		}
		column, err := relational.EncodeResult(result)
		if err != nil {
			return err
		}
		if _, err := w.exec(keepResult, column, s.app, c.ID); err != nil {
			return err
		}
		_, err = w.exec(oldCommits, s.app, now-keepCommits, sweepCommits)
		return err
	})
	if err != nil {
		return storage.CommitResult{}, err
	}
	if result.UpTo.Seq > 0 && !result.Replayed {
		s.partition.head.give()
	}
	return result, nil
}

func (s *store) GetCommit(ctx context.Context, id string) (storage.CommitResult, bool, error) {
	return find(ctx, s, func(scan relational.Scan) (result storage.CommitResult, err error) {
		var digest string
		var column []byte
		if err := scan(&digest, &column); err != nil {
			return result, err
		}
		return relational.DecodeResult(column)
	}, commitRow, id)
}

// recognised answers a commit that was applied before.
func recognised(w *work, app, id string, digest storage.Digest) (result storage.CommitResult, err error) {
	var applied string
	var column []byte
	if _, err := w.one(commitRow, []any{app, id}, &applied, &column); err != nil {
		return result, err
	}
	if applied != digest.String() {
		return result, storage.Errorf(storage.CodeConflict, "commit %s was applied with other content", spell.Quote(id))
	}
	if result, err = relational.DecodeResult(column); err != nil {
		return result, storage.Unavailable(authz.OutcomeUnknown, err, "the result of a commit that was applied is damaged")
	}
	result.Replayed = true
	return result, nil
}

func apply(w *work, app string, c storage.Commit) (result storage.CommitResult, err error) {
	for _, r := range c.Requires {
		if err := require(w, app, r); err != nil {
			return result, err
		}
	}
	result.Results = make([]storage.ChangeResult, len(c.Changes))
	for i, change := range c.Changes {
		if result.Results[i], err = applyChange(w, app, change); err != nil {
			return result, err
		}
	}
	for _, entry := range c.Audit {
		free, err := audit.insert(w, app, entry)
		if err != nil {
			return result, err
		}
		if !free {
			return result, seam.Taken("audit entry", entry.ID)
		}
		if err := indexSubjects(w, app, entry); err != nil {
			return result, err
		}
	}
	for _, r := range c.Requires {
		if head, ok := r.(storage.RequireHead); ok {
			now, _, err := w.epoch(app)
			if err != nil {
				return result, err
			}
			if !now.Is(authz.Position(head)) {
				return result, storage.Errorf(storage.CodeConflict, "the log head is %s, not %s", now, authz.Position(head))
			}
		}
	}
	if len(c.Events) > 0 {
		result.UpTo, err = w.appendEvents(app, c)
	}
	return result, err
}
