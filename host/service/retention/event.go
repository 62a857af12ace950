package retention

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/pieces"
	"github.com/authzhost/authz/sdk/authz"
)

// Event is a retained audit event. Instants are epoch milliseconds.
type Event struct {
	Application string `json:"application"`
	authz.AuditEntry
	IngestedAt int64 `json:"ingestedAt"`
}

// retained is what is stored. A detail too long for a record lies in pieces. Sum
// is what an event must equal that comes again.
type retained struct {
	Event
	LongDetail *pieces.Ref `json:"longDetail,omitempty"`
	Sum        string      `json:"sum"`
}

// events lie in the order of the log: by instant, id and application.
var events = account.Collection[retained]{Name: "retained",
	Key:    func(r retained) string { return r.Application },
	Second: func(r retained) string { return identity(r.Application, r.ID) },
}

// identity is of any id the same short length.
func identity(application, id string) string {
	sum := sha256.Sum256([]byte(id))
	return application + "/" + base64.RawURLEncoding.EncodeToString(sum[:])
}

const (
	maxInstant = 1<<53 - 1
	maxID      = 256 // bytes; the key of a record holds it beside org and application
)

// at is where the events of an instant begin.
func at(instant int64) string { return fmt.Sprintf("%016d", instant) }

// position sorts as (at, id, application): what ends the id sorts before all that
// an id goes on with.
func position(e Event) string { return at(e.At) + "-" + e.ID + "\x01" + e.Application }

// sumOf vouches for every member of an entry.
func sumOf(e authz.AuditEntry) (string, error) {
	sum, err := authz.HashAudit(e)
	return sum + "/" + e.Hash, err
}

// maxInline is how many bytes of detail stay in the event's record.
const maxInline = 256 << 10

// put adds an event to the commit and says how much it weighs, in bytes.
func put(tx *account.Tx, org string, e Event, sum string) (size int) {
	r := retained{Event: e, Sum: sum}
	if len(e.Detail) > maxInline {
		ref := pieces.Put(tx, org, "retained/"+identity(e.Application, e.ID), e.Detail)
		r.LongDetail, r.Detail = &ref, nil
	}
	events.Put(tx, org, position(e), r, 0)
	return 1024 + len(e.ID)*2 + len(e.Actor) + len(e.Action) + len(e.Target) + len(e.Detail)*4/3
}

func (r retained) whole(ctx context.Context, s *account.Store, org string) (Event, error) {
	if r.LongDetail == nil {
		return r.Event, nil
	}
	detail, err := pieces.Get(ctx, s, org, *r.LongDetail)
	r.Detail = json.RawMessage(detail)
	return r.Event, err
}

// Filter selects events; nil members are absent. From is inclusive, To exclusive.
type Filter struct {
	Application *string `json:"application,omitempty"`
	Action      *string `json:"action,omitempty"`
	Actor       *string `json:"actor,omitempty"`
	Target      *string `json:"target,omitempty"`
	From        *int64  `json:"from,omitempty"`
	To          *int64  `json:"to,omitempty"`
}

func (f Filter) matches(e Event) bool {
	is := func(want *string, have string) bool { return want == nil || *want == have }
	return is(f.Application, e.Application) && is(f.Action, e.Action) && is(f.Actor, e.Actor) && is(f.Target, e.Target)
}

// scan lists what the filter selects in the order of the log, after a position,
// with the position of each.
func (r *Retention) scan(ctx context.Context, org string, f Filter, after string) iter.Seq2[account.Row[retained], error] {
	if f.From != nil {
		after = max(after, at(min(max(*f.From, 0), maxInstant)))
	}
	list := events.Page(ctx, r.store, org, after, 0)
	if f.Application != nil {
		list = events.PageUnder(ctx, r.store, org, *f.Application, after, 0)
	}
	return func(yield func(account.Row[retained], error) bool) {
		for row, err := range list {
			if err == nil && f.To != nil && row.Value.At >= *f.To {
				return
			}
			if err != nil || f.matches(row.Value.Event) {
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
	}
}

// lied is the answer of an application that does not keep to the contract.
func lied(application, format string, args ...any) *fault.Error {
	return fault.Transport("application_protocol_error", application, "", fmt.Sprintf(format, args...))
}
