package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/audited"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
)

// aboutUser finds the entries about a person: what they did, what was done to their
// record, and what names them as a subject, a manager or somebody who asks.
type aboutUser struct {
	id       string
	about    audited.About
	found    []authz.AuditEntry
	requests map[string]bool
	loose    map[string][]authz.AuditEntry // of requests: later entries name the request alone
}

func newAboutUser(id string) *aboutUser {
	about, _ := audited.Of(authz.SubjectOf(authz.SubjectUser, id))
	return &aboutUser{id: id, about: about, requests: map[string]bool{}, loose: map[string][]authz.AuditEntry{}}
}

func (u *aboutUser) look(e authz.AuditEntry) error {
	ofRequest := strings.HasPrefix(e.Action, "request.")
	if u.about.Named(e) {
		u.found = append(u.found, e)
		if ofRequest && e.Actor != u.id || e.Action == "request.submit" {
			u.requests[e.Target] = true
		}
		return nil
	}
	if ofRequest {
		u.loose[e.Target] = append(u.loose[e.Target], e)
	}
	return nil
}

// maxRequestsApart is how many requests are followed one by one; the log is read for more.
const maxRequestsApart = 50

// read finds the entries by subject, and then what became of each request, which names the
// request alone. A host without an index of subjects has the whole log read.
func (u *aboutUser) read(ctx context.Context, app *application, filter fields) error {
	list := func(filter fields, look func(authz.AuditEntry) error) error {
		return each(ctx, app, "listAuditEvents", "events", fields{"filter": filter}, 0, look)
	}
	if _, apart := filter["target"]; apart || app.hosted != nil {
		return list(filter, u.look)
	}
	of := func(member, value string) fields {
		with := maps.Clone(filter)
		with[member] = value
		return with
	}
	asked := maps.Clone(u.requests)
	err := list(of("subject", string(u.about)), u.look)
	if code := authz.CodeOf(err); err != nil && code != authz.CodeUnsupported && code != authz.CodeValidation {
		return err
	}
	if err != nil || len(u.requests) > maxRequestsApart {
		u.found, u.requests, u.loose = nil, asked, map[string][]authz.AuditEntry{}
		return list(filter, u.look)
	}
	for id := range u.requests {
		err := list(of("target", id), func(e authz.AuditEntry) error {
			if u.about.Named(e) {
				return nil
			}
			return u.look(e)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// newest are the last of all that was found, oldest first.
func (u *aboutUser) newest(limit int) []authz.AuditEntry {
	all := u.found
	for id := range u.requests {
		all = append(all, u.loose[id]...)
	}
	slices.SortFunc(all, func(a, b authz.AuditEntry) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID)) })
	return all[max(0, len(all)-limit):]
}

// listAbout lists what is about a person, whatever the size of the log.
func (a *admin) listAbout(c *cobra.Command, app *application, user string, filter fields, limit int, to *listing) error {
	if kind, rest, misplaced := authz.MisplacedSubject(user); misplaced && app.hosted != nil {
		return usageError{misplacedID(authz.SubjectUser, user, kind, rest)}
	}
	if err := (guarded{app.inner(), app.local != nil}).bare(c.Context(), authz.SubjectUser, user); err != nil {
		return err
	}
	u := newAboutUser(user)
	if app.hosted == nil && filter["from"] != nil {
		err := each(c.Context(), app, "listRequests", "requests", fields{"filter": fields{"requesterUserId": user}}, 0, func(r authz.Request) error {
			u.requests[r.ID] = true // asked for before --from
			return nil
		})
		if err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(c.Context(), longTimeout)
	defer cancel()
	if err := u.read(ctx, app, filter); err != nil {
		return err
	}
	newest := u.newest(limit)
	if len(newest) == 0 {
		if err := a.sureOf(c, app, user); err != nil {
			return err
		}
	}
	for _, e := range newest {
		if err := to.row(e, auditCells(e)...); err != nil {
			return err
		}
	}
	return to.end()
}

func auditCells(e authz.AuditEntry) []string {
	return []string{words.Instant(e.At), e.Actor, e.Action, e.Target, orDash(spell.EchoN(string(e.Detail), maxDetail))}
}
