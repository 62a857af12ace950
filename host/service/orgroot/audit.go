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
	l := &log{to: to}
	err = l.ofInstant(ctx, at, func(e authz.AuditEntry) bool {
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
func (l *log) ofInstant(ctx context.Context, at int64, each func(authz.AuditEntry) bool) error {
	q, end, limit := l.query(), at+1, int64(siftedPiece)
	q.From, q.To, q.Limit, q.Cursor = &at, &end, &limit, &authz.AuditCursor{At: at}
	for {
		n := int64(0)
		for e, err := range l.entries(ctx, q) {
			if err != nil {
				return err
			}
			if e.At != at || !q.Cursor.Before(e.Cursor()) {
				return anotherLog(l.to)
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

func invalid(err error) bool {
	e := new(fault.Error)
	return errors.As(err, &e) && e.Name == "ProviderWriteRejectedError" && e.Code == string(authz.CodeValidation)
}

// log is one that is read in pieces, from a place on.
type log struct {
	to applications.Asked
	f  AuditFilter

	// sifting looks for a subject among all entries, as the application cannot. older is
	// one that knows no limit of details, and tells them whole.
	sifting, older bool
}

// sifts tells that the application selects more than what is wanted.
func (l *log) sifts() bool { return l.f.About != nil && l.sifting || l.f.family() }

// query is what the application is asked to select.
func (l *log) query() provider.AuditQuery {
	q := provider.AuditQuery{Target: l.f.Target, Actor: l.f.Actor, Action: l.f.Action, From: l.f.From, To: l.f.To}
	if l.f.family() {
		q.Action = nil
	}
	if l.f.About != nil && l.sifting {
		return q // details are looked into
	}
	if l.f.About != nil {
		q.Subject = new(string(*l.f.About))
	}
	if !l.older {
		q.DetailLimit = l.f.DetailLimit
	}
	return q
}

// asked judges what the application answered. A detail that was left out cannot be.
func (l *log) asked(e authz.AuditEntry) bool {
	q := l.query()
	is := func(want *string, have string) bool { return want == nil || *want == have }
	return is(q.Target, e.Target) && is(q.Actor, e.Actor) && is(q.Action, e.Action) && (q.Subject == nil || e.DetailBytes > 0 || e.IsAbout(*q.Subject)) &&
		(q.From == nil || e.At >= *q.From) && (q.To == nil || e.At < *q.To)
}

func (l *log) selects(e authz.AuditEntry) bool {
	return (l.f.Action == nil || audited.Action(*l.f.Action, e.Action)) && (l.f.About == nil || !l.sifting || l.f.About.Named(e))
}

// entries lists those of the log.
func (l *log) entries(ctx context.Context, q provider.AuditQuery) iter.Seq2[authz.AuditEntry, error] {
	return func(yield func(authz.AuditEntry, error) bool) {
		for e, err := range l.to.Relay.ListAuditEvents(ctx, q) {
			if q.DetailLimit != nil && q.Subject == nil && invalid(err) {
				l.older, q.DetailLimit = true, nil
				l.to.Relay.ListAuditEvents(ctx, q)(yield)
				return
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// newer are the first n entries after a place, and whether there are more.
func (l *log) newer(ctx context.Context, after authz.AuditCursor, n int) (rows []authz.AuditEntry, more bool, err error) {
	q, limit := l.query(), int64(n+1)
	q.Cursor, q.Limit = &after, &limit
	rows, err = taken(l.entries(ctx, q), Page{Limit: n})
	if err == nil && len(rows) > 0 && !after.Before(rows[0].Cursor()) {
		err = anotherLog(l.to)
	}
	return rows[:min(n, len(rows))], len(rows) > n, err
}

// before are the last n entries before a place, or of all, and whether there are more.
func (l *log) before(ctx context.Context, place *authz.AuditCursor, n int) (rows []authz.AuditEntry, more bool, err error) {
	q, same := l.query(), []authz.AuditEntry(nil)
	if place != nil {
		err := l.ofInstant(ctx, place.At, func(e authz.AuditEntry) bool {
			if !e.Cursor().Before(*place) {
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
		q.To = &place.At
	}
	if limit := int64(n + 1 - len(same)); limit > 0 && (q.From == nil || q.To == nil || *q.From < *q.To) {
		q.Limit = &limit
		if rows, err = taken(l.entries(ctx, q), Page{Limit: n + 1}); err != nil {
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

// events is a page of a log. An application that knows no search by subject refuses the
// member, and one whose storage has no index of subjects the search: the page is looked
// for instead.
func events(ctx context.Context, to applications.Asked, f AuditFilter, p Page) (List[authz.AuditEntry], error) {
	l := &log{to: to, f: f}
	list, err := l.page(ctx, p)
	if f.About != nil && (invalid(err) || unsupported(err)) {
		l.sifting = true
		list, err = l.page(ctx, p)
	}
	return list, err
}

// page lists entries. What the application cannot select is looked for among what it has,
// a bounded number of entries for each page, which may end before it is full.
func (l *log) page(ctx context.Context, p Page) (List[authz.AuditEntry], error) {
	to, f, list := l.to, l.f, List[authz.AuditEntry]{Rows: []authz.AuditEntry{}}
	place, err := cursorOf(p.After)
	if err != nil {
		return List[authz.AuditEntry]{}, err
	}
	more, begun := true, p.After != ""
	for looked := 0; more && len(list.Rows) < p.Limit && looked < maxSifted; {
		n := p.Limit
		if l.sifts() {
			n = siftedPiece
		}
		var rows []authz.AuditEntry
		switch {
		case f.Export:
			rows, more, err = l.newer(ctx, place, n)
		case begun:
			rows, more, err = l.before(ctx, &place, n)
		default:
			rows, more, err = l.before(ctx, nil, n)
		}
		if rows, err = matching(rows, err, to.ID, l.asked); err != nil {
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
			if !l.selects(e) {
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
