package orgroot

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/internal/audited"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// AuditFilter selects entries of an application's log; nil members are absent. From is
// inclusive, To exclusive. An Action that ends with ".*" is any that begins like it.
// Export lists forwards from From, else the newest come first and each next page is
// older; both ascending by (at, id).
type AuditFilter struct {
	Target, Actor, Action *string
	About                 *audited.About
	From, To              *int64
	Export                bool
	DetailLimit           *int64 // longer details are left out; nil leaves out none
}

// family tells that the action stands for several.
func (f AuditFilter) family() bool {
	if f.Action == nil {
		return false
	}
	_, family := audited.Family(*f.Action)
	return family
}

// sifts tells that the application selects more than what is wanted.
func (f AuditFilter) sifts() bool { return f.About != nil || f.family() }

// query is what the application is asked to select.
func (f AuditFilter) query() provider.AuditQuery {
	q := provider.AuditQuery{Target: f.Target, Actor: f.Actor, Action: f.Action, From: f.From, To: f.To}
	if f.family() {
		q.Action = nil
	}
	if f.About == nil { // which looks into details
		q.DetailLimit = f.DetailLimit
	}
	return q
}

// asked judges what the application answered.
func (f AuditFilter) asked(e authz.AuditEntry) bool {
	q := f.query()
	is := func(want *string, have string) bool { return want == nil || *want == have }
	return is(q.Target, e.Target) && is(q.Actor, e.Actor) && is(q.Action, e.Action) &&
		(f.From == nil || e.At >= *f.From) && (f.To == nil || e.At < *f.To)
}

func (f AuditFilter) selects(e authz.AuditEntry) bool {
	return (f.Action == nil || audited.Action(*f.Action, e.Action)) && (f.About == nil || f.About.Named(e))
}

// A page that has to look for its entries looks at so many, in pieces: entries of many
// rows are large.
const (
	maxSifted   = 2000
	siftedPiece = 200
)

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

// AuditEntry is the entry of an instant and an id in the org root's log.
func (r *Root) AuditEntry(ctx context.Context, a *service.Access, at int64, id string) (authz.AuditEntry, error) {
	return rooted(ctx, r, a.Org.ID, func(to applications.Asked) (authz.AuditEntry, error) { return auditEntry(ctx, to, at, id) })
}

// AppAuditEntry is an entry of an application's log.
func (r *Root) AppAuditEntry(ctx context.Context, a *service.Access, application string, at int64, id string) (authz.AuditEntry, error) {
	to, err := r.apps.Linked(ctx, a.Org.ID, application)
	if err != nil {
		return authz.AuditEntry{}, err
	}
	return auditEntry(ctx, to, at, id)
}

func auditEntry(ctx context.Context, to applications.Asked, at int64, id string) (found authz.AuditEntry, err error) {
	err = ofInstant(ctx, to, provider.AuditQuery{}, at, func(e authz.AuditEntry) bool {
		if e.ID == id {
			found = e
		}
		return found.ID == ""
	})
	if err == nil && found.ID == "" {
		err = rejected(authz.CodeNotFound, "audit entry not found")
	}
	return found, err
}

// ofInstant reads the entries of one instant, in their order, until enough were seen.
func ofInstant(ctx context.Context, to applications.Asked, q provider.AuditQuery, at int64, each func(authz.AuditEntry) bool) error {
	end, limit := at+1, int64(siftedPiece)
	q.From, q.To, q.Limit, q.Cursor = &at, &end, &limit, &authz.AuditCursor{At: at}
	for {
		n := int64(0)
		for e, err := range entries(ctx, to, q) {
			if err != nil {
				return err
			}
			if e.At != at || !q.Cursor.Before(e.Cursor()) {
				return anotherLog(to)
			}
			if n++; !each(e) {
				return nil
			}
			next := e.Cursor()
			q.Cursor = &next
		}
		if n < limit {
			return nil
		}
	}
}

// Position is where the logs of the org root end, or of an application; before is the
// position that was answered last, or "".
func (r *Root) Position(ctx context.Context, org, application, before string) (position string, err error) {
	read := func(to applications.Asked) (err error) {
		position, err = positionOf(ctx, to, before)
		return err
	}
	if application == "" {
		err = r.atRoot(ctx, org, read)
		return position, err
	}
	to, err := r.apps.Linked(ctx, org, application)
	if err == nil {
		err = read(to)
	}
	return position, err
}

// IsLinked refuses an application that cannot be asked.
func (r *Root) IsLinked(ctx context.Context, org, application string) error {
	_, err := r.apps.Linked(ctx, org, application)
	return err
}

// positionOf reads both logs: not all that is audited is an event, nor all events audited.
func positionOf(ctx context.Context, to applications.Asked, before string) (string, error) {
	events := ""
	if log := to.Relay.EventLog(); log != nil {
		head, err := log.Head(ctx)
		if err != nil && !unsupported(err) {
			return "", err
		}
		events = fmt.Sprint(head)
	}
	one, place := int64(1), authz.AuditCursor{}
	_, known, ok := strings.Cut(before, "\n")
	if ok {
		var err error
		if place, err = cursorOf(known); err != nil {
			return "", err
		}
		next, err := taken(to.Relay.ListAuditEvents(ctx, provider.AuditQuery{Cursor: &place, Limit: &one}), Page{})
		if err != nil {
			return "", err
		}
		ok = len(next) == 0
	}
	if !ok { // the newest entry may be large: it is read when there is another
		newest, err := taken(to.Relay.ListAuditEvents(ctx, provider.AuditQuery{Limit: &one}), Page{})
		if err != nil {
			return "", err
		}
		for _, e := range newest {
			place = e.Cursor()
		}
	}
	return events + "\n" + strconv.FormatInt(place.At, 10) + "/" + place.ID, nil
}

func anotherLog(to applications.Asked) error {
	return fault.Transport("application_protocol_error", to.ID, "", "the application answers a log that is not the one it was asked for")
}

// entries lists those of a log. An application of an older version knows no limit of
// details and tells them whole.
func entries(ctx context.Context, to applications.Asked, q provider.AuditQuery) iter.Seq2[authz.AuditEntry, error] {
	return func(yield func(authz.AuditEntry, error) bool) {
		for e, err := range to.Relay.ListAuditEvents(ctx, q) {
			if q.DetailLimit != nil && invalid(err) {
				q.DetailLimit = nil
				to.Relay.ListAuditEvents(ctx, q)(yield)
				return
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func invalid(err error) bool {
	e := new(fault.Error)
	return errors.As(err, &e) && e.Name == "ProviderWriteRejectedError" && e.Code == string(authz.CodeValidation)
}

// log is one that is read in pieces, from a place on.
type log struct {
	to applications.Asked
	f  AuditFilter
}

// newer are the first n entries after a place, and whether there are more.
func (l log) newer(ctx context.Context, after authz.AuditCursor, n int) (rows []authz.AuditEntry, more bool, err error) {
	q, limit := l.f.query(), int64(n+1)
	q.Cursor, q.Limit = &after, &limit
	rows, err = taken(entries(ctx, l.to, q), Page{Limit: n})
	if err == nil && len(rows) > 0 && !after.Before(rows[0].Cursor()) {
		err = anotherLog(l.to)
	}
	return rows[:min(n, len(rows))], len(rows) > n, err
}

// older are the last n entries before a place, or of all, and whether there are more.
func (l log) older(ctx context.Context, before *authz.AuditCursor, n int) (rows []authz.AuditEntry, more bool, err error) {
	q, same := l.f.query(), []authz.AuditEntry(nil)
	if before != nil {
		err := ofInstant(ctx, l.to, l.f.query(), before.At, func(e authz.AuditEntry) bool {
			if !e.Cursor().Before(*before) {
				return false
			}
			if same = append(same, e); len(same) > 2*n {
				same = slices.Delete(same, 0, n-1)
			}
			return true
		})
		if err != nil {
			return nil, false, err
		}
		same = same[max(0, len(same)-n-1):]
		q.To = &before.At
	}
	if limit := int64(n + 1 - len(same)); limit > 0 && (q.From == nil || q.To == nil || *q.From < *q.To) {
		q.Limit = &limit
		if rows, err = taken(entries(ctx, l.to, q), Page{Limit: n + 1}); err != nil {
			return nil, false, err
		}
		if len(rows) > int(limit) {
			return nil, false, anotherLog(l.to)
		}
	}
	if rows = append(rows, same...); len(rows) > n {
		return rows[len(rows)-n:], true, nil
	}
	return rows, false, nil
}

// events is a page of a log. What an application cannot select is looked for among what
// it has, a bounded number of entries for each page, which may end before it is full.
func events(ctx context.Context, to applications.Asked, f AuditFilter, p Page) (List[authz.AuditEntry], error) {
	l, list := log{to, f}, List[authz.AuditEntry]{Rows: []authz.AuditEntry{}}
	place, err := cursorOf(p.After)
	if err != nil {
		return List[authz.AuditEntry]{}, err
	}
	more, begun := true, p.After != ""
	for looked := 0; more && len(list.Rows) < p.Limit && looked < maxSifted; {
		n := p.Limit
		if f.sifts() {
			n = siftedPiece
		}
		var rows []authz.AuditEntry
		switch {
		case f.Export:
			rows, more, err = l.newer(ctx, place, n)
		case begun:
			rows, more, err = l.older(ctx, &place, n)
		default:
			rows, more, err = l.older(ctx, nil, n)
		}
		if rows, err = matching(rows, err, to.ID, f.asked); err != nil {
			return List[authz.AuditEntry]{}, err
		}
		for i := 1; i < len(rows); i++ {
			if !rows[i-1].Cursor().Before(rows[i].Cursor()) {
				return List[authz.AuditEntry]{}, anotherLog(to)
			}
		}
		if last := len(rows) - 1; begun && !f.Export && last >= 0 && !rows[last].Cursor().Before(place) {
			return List[authz.AuditEntry]{}, anotherLog(to)
		}
		if !f.Export {
			slices.Reverse(rows)
		}
		looked, begun = looked+len(rows), true
		for i, e := range rows {
			place = e.Cursor()
			if !f.selects(e) {
				continue
			}
			e.Shorten(f.DetailLimit)
			if list.Rows = append(list.Rows, e); len(list.Rows) == p.Limit {
				more = more || i < len(rows)-1
				break
			}
		}
	}
	if !f.Export {
		slices.Reverse(list.Rows)
	}
	if more {
		list.Next = strconv.FormatInt(place.At, 10) + "/" + place.ID
	}
	return list, nil
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
