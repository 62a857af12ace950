//go:build linux

package main

import (
	"context"

	"github.com/authzhost/authz/sdk/authz"
)

// position is where the logs of an application stand.
type position struct {
	seq     int64
	entries int
}

func (h *host) position(ctx context.Context) (p position, err error) {
	var head struct {
		Seq int64 `json:"seq"`
	}
	if err := h.caller.Call(ctx, "epoch.head", nil, &head); err != nil {
		return p, err
	}
	entries, err := h.audit(ctx)
	return position{head.Seq, len(entries)}, err
}

// audit reads the whole audit log.
func (h *host) audit(ctx context.Context) (all []authz.AuditEntry, err error) {
	const limit = 1000
	for cursor := (authz.AuditCursor{}); ; {
		var page struct {
			Events []authz.AuditEntry `json:"events"`
		}
		err := h.caller.Call(ctx, "listAuditEvents", params{"filter": params{"cursor": cursor, "limit": limit}}, &page)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Events...)
		if len(page.Events) < limit {
			return all, nil
		}
		cursor = page.Events[limit-1].Cursor()
	}
}

// events reads the event log from a number on, and the head that it must reach.
func (h *host) events(ctx context.Context, after int64) (all []authz.Event, head int64, err error) {
	var newest struct {
		Seq int64 `json:"seq"`
	}
	if err := h.caller.Call(ctx, "epoch.head", nil, &newest); err != nil {
		return nil, 0, err
	}
	for {
		var page struct {
			UpTo   int64         `json:"upTo"`
			Events []authz.Event `json:"events"`
			Gap    bool          `json:"gap"`
		}
		if err := h.caller.Call(ctx, "epoch.since", params{"seq": after, "limit": 5000}, &page); err != nil {
			return nil, 0, err
		}
		if len(page.Events) == 0 {
			return all, newest.Seq, nil
		}
		all, after = append(all, page.Events...), page.UpTo
	}
}

// rows reads a list page by page.
func (h *host) rows(ctx context.Context, op string, take func(rows)) error {
	after := ""
	for {
		ask := params{"limit": 10_000}
		if after != "" {
			ask["after"] = after
		}
		var page rows
		if err := h.caller.Call(ctx, op, ask, &page); err != nil {
			return err
		}
		take(page)
		if after = page.Next; after == "" {
			return nil
		}
	}
}

// rows is a page of whichever list was asked for.
type rows struct {
	Grants  []authz.Grant  `json:"grants"`
	Revokes []authz.Revoke `json:"revokes"`
	Roles   []authz.Role   `json:"roles"`
	Groups  []authz.Group  `json:"groups"`
	Next    string         `json:"next"`
}

// stored reads all rows that lists give, as a model without users.
func (h *host) stored(ctx context.Context) (*model, error) {
	m := newModel()
	for _, op := range []string{"listGrants", "listRevokes", "listRoles", "listGroups"} {
		err := h.rows(ctx, op, func(page rows) {
			for _, g := range page.Grants {
				g.CreatedAt = 0 // the host's clock decides it
				m.grants[g.ID] = g
			}
			for _, r := range page.Revokes {
				r.CreatedAt = 0
				m.revokes[r.ID] = r
			}
			for _, r := range page.Roles {
				m.roles[r.ID] = r
			}
			for _, g := range page.Groups {
				m.groups[g.ID] = g
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// access is what a host supplies for evaluating a user.
func (h *host) access(ctx context.Context, user string) (data authz.SubjectAccess, err error) {
	return data, h.caller.Call(ctx, "getSubjectAccess", params{"principal": authz.UserPrincipal(user)}, &data)
}

// question is one check.
type question struct{ user, key, scope string }

func (d dice) question() question { return question{d.user(), d.of(keys), d.scope()} }

func (h *host) allowed(ctx context.Context, q question) (bool, error) {
	var answer struct {
		Allowed bool `json:"allowed"`
	}
	err := h.caller.Call(ctx, "check", params{"principal": authz.UserPrincipal(q.user), "key": q.key, "scope": q.scope}, &answer)
	return answer.Allowed, err
}
