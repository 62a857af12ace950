package account

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// Log is the account log, never pruned. A record's id is the instant in thirteen
// digits, then the entry's id, so that ids are in the log's order. The entries of an
// org are one hash chain, those of no org another.
var Log = Collection[authz.AuditEntry]{Name: "log"}

// LogID is where the entry of an instant and an id lies in Log.
func LogID(at int64, id string) string { return fmt.Sprintf("%013d-%s", at, id) }

// LogInstant is the instant of a LogID.
func LogInstant(id string) (at int64, ok bool) {
	digits, _, ok := strings.Cut(id, "-")
	at, err := strconv.ParseInt(digits, 10, 64)
	return at, ok && err == nil
}

// LogHead is the newest entry of a chain. Count is how many entries are part of it.
type LogHead struct {
	At    int64  `json:"at"`
	ID    string `json:"id"`
	Hash  string `json:"hash"`
	Count int64  `json:"count"`
}

var logHeads = Collection[LogHead]{Name: "log_heads"}

const logHeadID = "head"

// logSection is where entries of an org are linked: the innermost section of every
// write, several in the order of their orgs.
func logSection(org string) string { return "log:" + org }

// LogHead reads the head of an org's log, false when nothing is chained yet.
func (s *Store) LogHead(ctx context.Context, org string) (LogHead, bool, error) {
	row, found, err := logHeads.Get(ctx, s, org, logHeadID)
	return row.Value, found, err
}

// LogEntries lists at most limit entries of an org's log after a position.
func (s *Store) LogEntries(ctx context.Context, org string, after authz.AuditCursor, limit int) ([]authz.AuditEntry, error) {
	entries, from := []authz.AuditEntry{}, ""
	if after != (authz.AuditCursor{}) {
		from = LogID(after.At, after.ID)
	}
	for row, err := range Log.Page(ctx, s, org, from, limit) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, row.Value)
	}
	return entries, nil
}

// Audit adds an entry to the org's account log in the same commit. detail must
// hold no secret.
func (tx *Tx) Audit(org, actor, action, target string, detail any) {
	entry := authz.AuditEntry{ID: NewID(tx.ctx), At: tx.store.Now(tx.ctx), Actor: actor, Action: action, Target: target}
	if detail != nil {
		raw, err := authz.Marshal(detail)
		if err != nil {
			tx.err = fault.Internal(err)
			return
		}
		entry.Detail = json.RawMessage(raw)
	}
	if tx.entries == nil {
		tx.entries = map[string][]authz.AuditEntry{}
	}
	tx.entries[org] = append(tx.entries[org], entry)
}

// inLogs runs fn inside the sections of the logs that the commit adds to. A section
// that was lost on the way is taken again, once.
func (tx *Tx) inLogs(fn func(section context.Context) error) error {
	if len(tx.entries) == 0 {
		return fn(tx.ctx)
	}
	orgs := slices.Sorted(maps.Keys(tx.entries))
	err := tx.inside(tx.ctx, orgs, fn)
	if storage.CodeOf(err) == storage.CodeStaleFence {
		err = tx.inside(tx.ctx, orgs, fn)
	}
	return err
}

func (tx *Tx) inside(ctx context.Context, orgs []string, fn func(context.Context) error) error {
	if len(orgs) == 0 {
		return fn(ctx)
	}
	return storage.RunExclusive(ctx, tx.store.records, logSection(orgs[0]), func(ctx context.Context) error {
		return tx.inside(ctx, orgs[1:], fn)
	})
}

// linked are the changes that add the entries to their chains. It runs inside the
// sections of the logs, so that nobody else links to the same heads.
func (tx *Tx) linked(section context.Context) ([]storage.Change, error) {
	to := &Tx{store: tx.store, ctx: tx.ctx}
	for _, org := range slices.Sorted(maps.Keys(tx.entries)) {
		if err := to.link(section, org, tx.entries[org]); err != nil {
			return nil, err
		}
	}
	return to.changes, to.err
}

func (tx *Tx) link(section context.Context, org string, entries []authz.AuditEntry) error {
	// Past what a gate remembers: the head must be the stored one.
	record, found, err := tx.store.records.GetRecord(section, logHeads.Name, recordID(org, logHeadID))
	if err != nil {
		return err
	}
	head, newest := Row[LogHead]{}, (*authz.AuditEntry)(nil)
	if found {
		if head, err = logHeads.decode(org, record); err != nil {
			return err
		}
		newest = &authz.AuditEntry{At: head.Value.At, ID: head.Value.ID, Hash: head.Value.Hash}
	} else if newest, err = tx.unchained(section, org, entries[0].At); err != nil {
		return err
	}
	chain, err := authz.LinkHashChain(newest, entries)
	if err != nil {
		return fault.Internal(err)
	}
	for _, e := range chain {
		Log.Put(tx, org, LogID(e.At, e.ID), e, 0)
	}
	last := chain[len(chain)-1]
	logHeads.Put(tx, org, logHeadID, LogHead{At: last.At, ID: last.ID, Hash: last.Hash, Count: head.Value.Count + int64(len(chain))}, head.Version)
	return nil
}

// unchained is the last entry from an instant on in a log whose chain has not begun:
// an earlier version wrote it, by a clock that was ahead. The chain begins behind it.
func (tx *Tx) unchained(ctx context.Context, org string, from int64) (last *authz.AuditEntry, err error) {
	for row, err := range Log.Page(ctx, tx.store, org, LogID(from, ""), 0) {
		if err != nil {
			return nil, err
		}
		last = &row.Value
	}
	return last, nil
}
