package authz

import (
	"cmp"
	"iter"
	"slices"
	"time"
)

// AuditAnchor says how far the hash chain of a log had grown at a time. Kept where the log
// cannot be written, it shows a log that was cut off or hashed anew since.
type AuditAnchor struct {
	Log   string      `json:"log"` // such as application/docs, account/acme
	Time  time.Time   `json:"time"`
	Count int64       `json:"count"` // entries that are part of it
	Hash  string      `json:"hash"`  // of the last of them
	Entry AuditCursor `json:"entry"` // where it lies
}

// AnchorFault is an anchor that a log contradicts. Count is how many chained entries
// the log has when that is fewer than were anchored, else the anchor's own: the entry
// there has another hash.
type AnchorFault struct {
	Anchor AuditAnchor
	Count  int64
	Hash   string // of the entry; "" when there is none
}

// Cut tells that the log ends before the anchor; otherwise it was written anew.
func (f *AnchorFault) Cut() bool { return f.Count < f.Anchor.Count }

// VerifyAnchored is VerifyHashChain of a whole log, which must also be the one that the
// anchors were taken of. The fault is the first by count, nil when there is none;
// beyond a break of the hash chain anchors are not looked at.
func VerifyAnchored(entries iter.Seq2[AuditEntry, error], anchors []AuditAnchor) (HashChainReport, *AnchorFault, error) {
	due := slices.Clone(anchors)
	slices.SortStableFunc(due, func(a, b AuditAnchor) int { return cmp.Compare(a.Count, b.Count) })
	var fault *AnchorFault
	count := int64(0)
	report, err := VerifyHashChain(func(yield func(AuditEntry, error) bool) {
		for e, err := range entries {
			if err == nil && e.Hash != "" {
				count++
			}
			for ; err == nil && len(due) > 0 && due[0].Count <= count; due = due[1:] {
				if due[0].Hash != e.Hash && fault == nil {
					fault = &AnchorFault{Anchor: due[0], Count: due[0].Count, Hash: e.Hash}
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}, "")
	if err == nil && report.OK && fault == nil && len(due) > 0 {
		fault = &AnchorFault{Anchor: due[0], Count: count}
	}
	return report, fault, err
}
