package provider

import (
	"context"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
)

// AuditQuery selects audit entries; nil members are absent. From is inclusive,
// To exclusive. Without Cursor the last Limit matches, with it the first Limit
// strictly after it; a Limit of zero or less selects nothing.
type AuditQuery struct {
	Target *string            `json:"target,omitempty" read:"filter"`
	Actor  *string            `json:"actor,omitempty" read:"filter"`
	Action *string            `json:"action,omitempty" read:"filter"`
	From   *int64             `json:"from,omitempty" read:"filter"`
	To     *int64             `json:"to,omitempty" read:"filter"`
	Limit  *int64             `json:"limit,omitempty" read:"filter"`
	Cursor *authz.AuditCursor `json:"cursor,omitempty" read:"filter"`

	DetailLimit *int64  `json:"detailLimit,omitempty" read:"filter" doc:"A longer detail, in bytes, is left out, and detailBytes tells its length."`
	Subject     *string `json:"subject,omitempty" read:"filter" doc:"Only entries about this subject: who acted, whose record is the target, and whom target or detail name at any depth."`
}

// listAuditEventsIn pages forward from the beginning when after or limit stand
// beside the filter; the filter's own cursor and limit mean what AuditQuery says
// and cannot be combined with them.
type listAuditEventsIn struct {
	Filter AuditQuery         `json:"filter"`
	Limit  int                `json:"limit,omitempty" read:"page"`
	After  *authz.AuditCursor `json:"after,omitempty" doc:"The last entry received; not beside filter.cursor and filter.limit."`
}

func (in *listAuditEventsIn) Page() *int { return &in.Limit }

func (in *listAuditEventsIn) forward() bool { return in.After != nil || in.Limit > 0 }

// Check tells what no value of a single member can.
func (in *listAuditEventsIn) Check() error {
	if in.forward() && (in.Filter.Cursor != nil || in.Filter.Limit != nil) {
		return authz.Validation("listAuditEvents: filter.cursor and filter.limit cannot be combined with after and limit")
	}
	return nil
}

var opListAuditEvents = declareList(Operation{Op: "listAuditEvents", Method: "ListAuditEvents", List: "events",
	Tag: "audit", Summary: "Read the audit log", Answer: "Ascending by `at` and `id`."},
	func(e *authz.AuditEntry) any { return e.Cursor() },
	func(ctx context.Context, to Provider, in *listAuditEventsIn) iter.Seq2[authz.AuditEntry, error] {
		q := in.Filter
		if in.forward() {
			q.Cursor = &authz.AuditCursor{}
			if in.After != nil {
				q.Cursor = in.After
			}
			if in.Limit > 0 {
				q.Limit = new(int64(in.Limit))
			}
		}
		return to.ListAuditEvents(ctx, q)
	})

func (c Calls) ListAuditEvents(ctx context.Context, q AuditQuery) iter.Seq2[authz.AuditEntry, error] {
	return rows(ctx, c, opListAuditEvents, listAuditEventsIn{Filter: q})
}
