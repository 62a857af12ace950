package authz

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/authzhost/authz/internal/spell"
)

// HashAudit is the link of an entry in the hash chain of an audit log: it vouches for the entry's
// members and, through PrevHash, for every entry before it. Hash is ignored.
func HashAudit(e AuditEntry) (string, error) {
	text, err := canonicalAudit(e)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

func canonicalAudit(e AuditEntry) ([]byte, error) {
	var prev, detail any
	if e.PrevHash != "" {
		prev = e.PrevHash
	}
	if len(e.Detail) > 0 {
		detail = e.Detail
	}
	array, err := Marshal([]any{prev, e.ID, e.At, e.Actor, e.Action, e.Target, detail})
	if err != nil {
		return nil, fmt.Errorf("audit entry %s: %w", spell.Quote(e.ID), err)
	}
	return Canonical(array)
}

// LinkHashChain links entries to the newest one of the log, nil when it is empty. An
// entry that would not sort after the one before it is moved: the order of the
// log is that of the hash chain.
func LinkHashChain(newest *AuditEntry, entries []AuditEntry) ([]AuditEntry, error) {
	linked := make([]AuditEntry, len(entries))
	for i, e := range entries {
		if newest != nil {
			if e.At < newest.At {
				e.At = newest.At
			}
			if e.At == newest.At && e.ID <= newest.ID {
				e.At++
			}
			e.PrevHash = newest.Hash
		}
		hash, err := HashAudit(e)
		if err != nil {
			return nil, err
		}
		e.Hash = hash
		linked[i] = e
		newest = &linked[i]
	}
	return linked, nil
}

// HashChainReason says why a hash chain is broken.
type HashChainReason string

// The reasons of a HashChainReport.
const (
	HashChainUnhashed HashChainReason = "unhashed_after_chain_start"
	HashChainBroken   HashChainReason = "broken_link"
	HashChainMismatch HashChainReason = "hash_mismatch"
)

// HashChainReport is the outcome of VerifyHashChain. Hashed counts the entries that are
// part of it; Index is the position of the first that breaks it.
type HashChainReport struct {
	OK     bool
	Hashed int
	Index  int
	Reason HashChainReason
}

func (r HashChainReport) MarshalJSON() ([]byte, error) {
	if r.OK {
		return json.Marshal(map[string]any{"ok": true, "hashed": r.Hashed})
	}
	return json.Marshal(map[string]any{"ok": false, "index": r.Index, "reason": r.Reason})
}

// VerifyHashChain checks entries in log order. priorHash is the hash before the first
// of them, "" for a log from its beginning, where entries written before the hash
// chain was turned on are passed over. What it cannot see, a truncated end or a log
// hashed anew, shows in a head hash kept elsewhere. The error is that of the
// sequence.
func VerifyHashChain(entries iter.Seq2[AuditEntry, error], priorHash string) (HashChainReport, error) {
	report, link, started, index := HashChainReport{OK: true}, priorHash, priorHash != "", 0
	for e, err := range entries {
		if err != nil {
			return HashChainReport{}, err
		}
		var reason HashChainReason
		switch {
		case e.Hash == "" && !started:
			index++
			continue
		case e.Hash == "":
			reason = HashChainUnhashed
		case e.PrevHash != link:
			reason = HashChainBroken
		default:
			if hash, err := HashAudit(e); err != nil || hash != e.Hash {
				reason = HashChainMismatch
			}
		}
		if reason != "" {
			return HashChainReport{Index: index, Reason: reason}, nil
		}
		started, link = true, e.Hash
		report.Hashed++
		index++
	}
	return report, nil
}
