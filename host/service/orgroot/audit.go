package orgroot

import (
	"context"
	"strconv"
	"strings"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// AuditFilter selects entries of an application's log; nil members are absent. From
// is inclusive, To exclusive. Export lists forwards from From, else the newest are
// listed; both ascending by (at, id).
type AuditFilter struct {
	Target, Actor, Action *string
	From, To              *int64
	Export                bool
}

func (f AuditFilter) matches(e authz.AuditEntry) bool {
	is := func(want *string, have string) bool { return want == nil || *want == have }
	return is(f.Target, e.Target) && is(f.Actor, e.Actor) && is(f.Action, e.Action) &&
		(f.From == nil || e.At >= *f.From) && (f.To == nil || e.At < *f.To)
}

// Audit lists the org root's log.
func (r *Root) Audit(ctx context.Context, a *service.Access, f AuditFilter, p Page) (List[authz.AuditEntry], error) {
	return rooted(ctx, r, a.Org.ID, func(to applications.Asked) (List[authz.AuditEntry], error) { return events(ctx, to, f, p) })
}

// AppAudit lists the log of an application.
func (r *Root) AppAudit(ctx context.Context, a *service.Access, application string, f AuditFilter, p Page) (List[authz.AuditEntry], error) {
	to, err := r.apps.Linked(ctx, a.Org.ID, application)
	if err != nil {
		return List[authz.AuditEntry]{}, err
	}
	return events(ctx, to, f, p)
}

func events(ctx context.Context, to applications.Asked, f AuditFilter, p Page) (List[authz.AuditEntry], error) {
	q := provider.AuditQuery{Target: f.Target, Actor: f.Actor, Action: f.Action, From: f.From, To: f.To}
	limit := int64(p.Limit)
	if f.Export {
		limit++
		cursor, err := cursorOf(p.After)
		if err != nil {
			return List[authz.AuditEntry]{}, err
		}
		q.Cursor = &cursor
	}
	q.Limit = &limit
	rows, err := taken(to.Relay.ListAuditEvents(ctx, q), p)
	rows, err = matching(rows, err, to.ID, f.matches)
	if err != nil {
		return List[authz.AuditEntry]{}, err
	}
	for i, e := range rows {
		if i == 0 && f.Export && !q.Cursor.Before(e.Cursor()) || i > 0 && !rows[i-1].Cursor().Before(e.Cursor()) || !f.Export && i == p.Limit {
			return List[authz.AuditEntry]{}, fault.Transport("application_protocol_error", to.ID, "", "the application answers a log that is not the one it was asked for")
		}
	}
	return cut(rows, p, func(e authz.AuditEntry) string { return strconv.FormatInt(e.At, 10) + "/" + e.ID }), nil
}

func cursorOf(position string) (c authz.AuditCursor, err error) {
	if position == "" {
		return c, nil
	}
	at, id, ok := strings.Cut(position, "/")
	if c.At, err = strconv.ParseInt(at, 10, 64); err != nil || !ok {
		return c, fault.Cloud("invalid_cursor", "the cursor is not one of this list")
	}
	c.ID = id
	return c, nil
}
