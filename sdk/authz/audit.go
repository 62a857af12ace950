package authz

import "encoding/json"

// AuditEntry records one write. Log order is (At, ID), ids by bytes. Detail is
// any JSON value, nil when absent; PrevHash and Hash are set when the
// application chains its log.
type AuditEntry struct {
	ID       string          `json:"id"`
	At       int64           `json:"at"`
	Actor    string          `json:"actor"`
	Action   string          `json:"action"`
	Target   string          `json:"target"`
	Detail   json.RawMessage `json:"detail,omitempty"`
	PrevHash string          `json:"prevHash,omitempty"`
	Hash     string          `json:"hash,omitempty"`

	// DetailBytes is how long a detail is that a read left out; else 0. It is not stored.
	DetailBytes int64 `json:"detailBytes,omitempty"`
}

// Shorten leaves out a detail of more than limit bytes; nil is no limit.
func (e *AuditEntry) Shorten(limit *int64) {
	if n := int64(len(e.Detail)); limit != nil && n > *limit {
		e.Detail, e.DetailBytes = nil, n
	}
}

// AuditCursor is a position in log order.
type AuditCursor struct {
	At int64  `json:"at" read:"required"`
	ID string `json:"id" read:"required"`
}

// Cursor is the entry's own position.
func (e AuditEntry) Cursor() AuditCursor { return AuditCursor{At: e.At, ID: e.ID} }

// Before reports whether c sorts strictly before o.
func (c AuditCursor) Before(o AuditCursor) bool {
	return c.At < o.At || c.At == o.At && c.ID < o.ID
}
