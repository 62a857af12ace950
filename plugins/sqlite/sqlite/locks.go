package sqlite

import (
	"strings"
	"time"

	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/sdk/storage"
)

// A row of AuthzLock is free when nobody holds it, its lease has run out, or its lease
// is stale. The fence stays in the row and grows with every taking. expiresAt of a row
// that nobody holds is when it was given back.
const (
	lockRow = `SELECT coalesce("holder", ''), "fence", "expiresAt" FROM "AuthzLock" WHERE "app" = ? AND "key" = ?`

	// A first fence is the clock's milliseconds, and above those of rows that were
	// swept, whatever the clock did since.
	lockTake = `INSERT INTO "AuthzLock" ("app", "key", "holder", "fence", "expiresAt")
		VALUES (?1, ?2, nullif(?3, ''), max(?4, 1 + coalesce((SELECT "fence" FROM "AuthzLock" WHERE "app" = ?1 AND "key" = ''), 0)), ?5)
		ON CONFLICT ("app", "key") DO UPDATE SET "holder" = excluded."holder", "fence" = "AuthzLock"."fence" + 1, "expiresAt" = excluded."expiresAt"
			WHERE "AuthzLock"."holder" IS NULL OR "AuthzLock"."expiresAt" <= ?4
				OR "AuthzLock"."holder" = ?6 AND "AuthzLock"."fence" = ?7 AND "AuthzLock"."expiresAt" = ?8
		RETURNING "fence"`
	lockRenew = `UPDATE "AuthzLock" SET "expiresAt" = ? WHERE "app" = ? AND "key" = ? AND "holder" = ?`
	lockFreed = `UPDATE "AuthzLock" SET "holder" = NULL, "expiresAt" = ? WHERE "app" = ? AND "key" = ? AND "holder" = ?`

	lockNext   = `SELECT "key", "fence", "expiresAt" FROM "AuthzLock" WHERE "app" = ? AND "key" > ? ORDER BY "key" LIMIT ?`
	lockForget = `DELETE FROM "AuthzLock" WHERE "app" = ? AND "key" = ?`
	lockFloor  = `INSERT INTO "AuthzLock" ("app", "key", "holder", "fence", "expiresAt") VALUES (?, '', NULL, ?, 0)
		ON CONFLICT ("app", "key") DO UPDATE SET "fence" = max("fence", excluded."fence")`
)

// keepIdle is how long the row of a free section is kept in milliseconds, and
// sweepLocks how many rows an acquisition looks at.
const (
	keepIdle   = int64(24 * time.Hour / time.Millisecond)
	sweepLocks = 8
)

// heldLease reads the lease that a lock is held under at this moment, nil when it is
// free.
func heldLease(w *work, app, key string, now int64) (*storage.Lease, error) {
	var found storage.Lease
	there, err := w.one(lockRow, []any{app, key}, &found.Holder, &found.Fence, &found.ExpiresAt)
	if err != nil || !there || found.Holder == "" || found.ExpiresAt <= now {
		return nil, err
	}
	return &found, nil
}

// takeLock reports false when the section is held. A holder "" only counts. A stale
// lease is one that is taken although it has not run out; nil is none.
func takeLock(w *work, app, key, holder string, now, expires int64, stale *storage.Lease) (fence int64, taken bool, err error) {
	if stale == nil {
		stale = &storage.Lease{} // of nobody
	}
	taken, err = w.one(lockTake, []any{app, key, holder, now, expires, stale.Holder, stale.Fence, stale.ExpiresAt}, &fence)
	return fence, taken, err
}

func renewLock(w *work, app, key, holder string, expires int64) (stands bool, err error) {
	n, err := w.exec(lockRenew, expires, app, key, holder)
	return n > 0, err
}

func freeLock(w *work, app, key, holder string, now int64) error {
	_, err := w.exec(lockFreed, now, app, key, holder)
	return err
}

// sweepLocks forgets rows of sections that exist once for each request or user and
// have been free for a day. It looks at a few keys at a time, round and round. The
// highest fence forgotten stays, under a key that no section has, and no fence
// comes back.
func (s *store) sweepLocks(w *work, now int64) error {
	t := s.partition.sections
	t.mu.Lock()
	after := t.sweep
	t.mu.Unlock()
	type idle struct {
		key            string
		fence, expires int64
	}
	rows, err := rowsOf(w, func(scan relational.Scan) (row idle, err error) {
		return row, scan(&row.key, &row.fence, &row.expires)
	}, lockNext, s.app, after, sweepLocks)
	if err != nil {
		return err
	}
	after = ""
	if len(rows) == sweepLocks {
		after = rows[len(rows)-1].key
	}
	for _, row := range rows {
		if !sweepable(row.key) || now-row.expires <= keepIdle {
			continue
		}
		if _, err := w.exec(lockFloor, s.app, row.fence); err != nil {
			return err
		}
		if _, err := w.exec(lockForget, s.app, row.key); err != nil {
			return err
		}
	}
	t.mu.Lock()
	t.sweep = after
	t.mu.Unlock()
	return nil
}

func sweepable(key string) bool {
	return strings.HasPrefix(key, "request:") || strings.HasPrefix(key, "sod:")
}
