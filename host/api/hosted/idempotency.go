package hosted

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"strconv"
	"sync"

	"github.com/google/uuid"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/fault"
)

const (
	idempotencyLifetimeMs = 24 * 60 * 60 * 1000
	runningMs             = 60 * 1000
	maxIdempotencyKey     = 255
)

// entry is what is known of the first request under a key.
type entry struct {
	Body      []byte        `json:"body"` // SHA-256 of the request's
	Work      *account.Work `json:"work"`
	CreatedAt int64         `json:"createdAt"`
	RunningAt int64         `json:"runningAt,omitempty"` // 0 when it is done
	Status    int           `json:"status,omitempty"`
	Header    http.Header   `json:"header,omitempty"`
	Answer    []byte        `json:"answer,omitempty"` // byte for byte: no driver rewrites it as JSON

	// Sent is where the first request went: what it wrote may hide it from a repeat. Entries
	// that older hosts began have none.
	Sent *sent `json:"sent,omitempty"`
}

// sent names the application of a relayed write; nil is account data.
type sent struct {
	Application *string `json:"application"`
}

// entries are indexed by the day on which they were made, which is how those that
// have expired are found.
var entries = account.Collection[entry]{Name: "idempotency", Key: func(e entry) string { return day(e.CreatedAt) }}

func day(at int64) string { return strconv.FormatInt(at/idempotencyLifetimeMs, 10) }

// idempotency keeps the first answers of POSTs that carry an Idempotency-Key.
type idempotency struct {
	store *account.Store

	mu    sync.Mutex
	swept map[string]string // by org: the day for which expired entries are gone
}

// attempt is one request under a key.
type attempt struct {
	org, id string
	row     account.Row[entry]
}

func idempotencyKey(h http.Header) (string, *fault.Error) {
	values := h.Values("Idempotency-Key")
	if len(values) == 0 {
		return "", nil
	}
	invalid := fault.Cloud("invalid_idempotency_key", "Idempotency-Key must be given once, 1 to %d printable ASCII characters", maxIdempotencyKey)
	if len(values) > 1 || values[0] == "" || len(values[0]) > maxIdempotencyKey {
		return "", invalid
	}
	for _, c := range []byte(values[0]) {
		if c < 0x20 || c > 0x7e {
			return "", invalid
		}
	}
	return values[0], nil
}

// entryID binds an entry to caller, path and key; only POST has any.
func entryID(caller, path, key string) string {
	h := sha256.New()
	for _, part := range []string{caller, path, key} {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// begin claims the key for this request, or returns the entry whose answer is to
// be given again. relayed names the application of a write that this host cannot
// send again; nil when it can.
func (i *idempotency) begin(ctx context.Context, org, id string, body []byte, relayed *string) (a *attempt, replay *entry, err error) {
	sum := sha256.Sum256(body)
	a = &attempt{org: org, id: id}
	err = account.Retry(func() error {
		replay = nil
		repeated := false
		row, found, err := entries.Get(ctx, i.store, org, id)
		if err != nil {
			return err
		}
		now := i.store.Now(ctx)
		fresh := entry{Body: sum[:], Work: &account.Work{ID: uuid.New(), At: now}, CreatedAt: now, RunningAt: now, Sent: &sent{relayed}}
		if found && now-row.Value.CreatedAt < idempotencyLifetimeMs {
			known := row.Value
			if known.Sent != nil {
				fresh.Sent = known.Sent
			}
			switch {
			case subtle.ConstantTimeCompare(known.Body, sum[:]) != 1:
				return fault.Cloud("idempotency_conflict", "this Idempotency-Key was used with another body")
			case known.RunningAt == 0:
				replay = &known
				return nil
			case now-known.RunningAt < runningMs:
				e := fault.Cloud("idempotency_in_progress", "the first request with this Idempotency-Key is still running")
				e.RetryAfterMs = runningMs - (now - known.RunningAt)
				return e
			case fresh.Sent.Application != nil:
				return fault.Transport("application_timeout", *fresh.Sent.Application, "unknown",
					"the first request with this Idempotency-Key did not end; whether it was applied is unknown")
			}
			fresh.Work, fresh.CreatedAt = known.Work, known.CreatedAt
			repeated = true
		}
		tx := i.store.Begin(ctx)
		entries.Put(tx, org, id, fresh, row.Version)
		if err := tx.Commit(); err != nil {
			return err
		}
		if a.row, _, err = entries.Get(ctx, i.store, org, id); err == nil {
			a.row.Value.Work.Repeated = repeated
		}
		return err
	})
	return a, replay, err
}

// end keeps the answer, unless a repeat may better it: then the repeat uses the
// same work at once, since nobody knows whether its commit stands. A relayed write
// has no commit here to send again; its repeat begins anew.
func (i *idempotency) end(ctx context.Context, a *attempt, status int, header http.Header, answer []byte) error {
	tx := i.store.Begin(ctx)
	e := a.row.Value
	if status == http.StatusTooManyRequests || status >= http.StatusInternalServerError {
		if e.Sent.Application != nil {
			entries.Delete(tx, a.org, a.id, a.row.Version)
			return tx.Commit()
		}
		e.RunningAt = max(i.store.Now(ctx)-runningMs, 1)
		entries.Put(tx, a.org, a.id, e, a.row.Version)
		return tx.Commit()
	}
	e.RunningAt, e.Status, e.Header, e.Answer = 0, status, kept(header), bytes.Clone(answer)
	entries.Put(tx, a.org, a.id, e, a.row.Version)
	if err := tx.Commit(); err != nil {
		return err
	}
	return i.sweep(ctx, a.org)
}

// kept are the headers that belong to the answer rather than to one exchange.
func kept(h http.Header) http.Header {
	out := http.Header{}
	for _, name := range []string{"Location", "Etag"} {
		if v := h.Get(name); v != "" {
			out.Set(name, v)
		}
	}
	return out
}

// SweepAnswers deletes kept answers of an org that are over; "" is those of no org.
// An org that writes sweeps its own.
func (a *API) SweepAnswers(ctx context.Context, org string) error {
	return a.idempotency.sweep(ctx, org)
}

const (
	maxSweep  = 500 // entries at once
	sweepDays = 31  // a month in which an org wrote nothing is looked through
)

// sweep deletes what was made before yesterday, until there is nothing left of it
// that day: each answer that is kept makes room for more than itself.
func (i *idempotency) sweep(ctx context.Context, org string) error {
	now := i.store.Now(ctx)
	i.mu.Lock()
	done := i.swept[org] == day(now)
	i.mu.Unlock()
	if done {
		return nil
	}
	tx, n := i.store.Begin(ctx), 0
	for back := int64(2); back <= sweepDays && n < maxSweep; back++ {
		for row, err := range entries.Under(ctx, i.store, org, day(now-back*idempotencyLifetimeMs)) {
			if err != nil {
				return err
			}
			entries.Delete(tx, org, row.ID, row.Version)
			if n++; n == maxSweep {
				break
			}
		}
	}
	switch err := tx.Commit(); {
	case err == error(account.ErrMoved):
		return nil // another host sweeps; what it leaves is for the next time
	case err != nil || n == maxSweep:
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.swept[org] = day(now)
	return nil
}
