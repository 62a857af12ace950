package mongo

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/plugins/mongo/internal/layout"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// draft is the rows that a commit touches, as they stand and as it leaves them.
type draft struct {
	grants   cells[authz.Grant]
	revokes  cells[authz.Revoke]
	roles    cells[authz.Role]
	groups   cells[authz.Group]
	users    cells[authz.User]
	requests cells[authz.Request]
	scopes   cells[scopeParents]
	records  cells[storage.Record]
	audit    cells[authz.AuditEntry]
	catalog  headCell
	imports  headCell
	epoch    epochDoc

	// named is how many grants name a role: as stored, for roles that the commit
	// deletes unless named, and what its changes so far add to that.
	named, added map[string]int64
}

// headCell is a versioned singleton.
type headCell struct {
	in             layout.Name
	wanted, found  bool
	touched        bool
	version        int64
	text           string
	currentVersion int64 // 0 when there is none
}

func newDraft(c storage.Commit) *draft {
	d := &draft{
		grants: cellsOf(grants), revokes: cellsOf(revokes), roles: cellsOf(roles), groups: cellsOf(groups), users: cellsOf(users),
		requests: cellsOf(requests), scopes: cellsOf(scopes), records: cellsOf(records), audit: cellsOf(audit),
		catalog: headCell{in: layout.Catalog}, imports: headCell{in: layout.Imports},
		named: map[string]int64{}, added: map[string]int64{},
	}
	for _, r := range c.Requires {
		switch r := r.(type) {
		case storage.RequireRole:
			d.roles.want(r.ID)
		case storage.RequireRecord:
			d.records.want(recordKey(r.Collection, r.ID))
		}
	}
	for _, change := range c.Changes {
		d.want(change)
	}
	for _, entry := range c.Audit {
		d.audit.want(entry.ID)
	}
	return d
}

// want names what judging a change needs.
func (d *draft) want(change storage.Change) {
	switch ch := change.(type) {
	case storage.InsertGrant:
		d.grants.want(ch.Grant.ID)
	case storage.DeleteGrant:
		d.grants.want(ch.ID)
	case storage.InsertRevoke:
		d.revokes.want(ch.Revoke.ID)
	case storage.DeleteRevoke:
		d.revokes.want(ch.ID)
	case storage.InsertRequest:
		d.requests.want(ch.Request.ID)
	case storage.UpdateRequest:
		d.requests.want(ch.Request.ID)
	case storage.DeleteRequest:
		d.requests.want(ch.ID)
	case storage.UpsertRole:
		d.roles.want(ch.Role.ID)
	case storage.DeleteRole:
		d.roles.want(ch.ID)
		if ch.Unnamed {
			d.named[ch.ID] = 0
		}
	case storage.UpsertGroup:
		d.groups.want(ch.Group.ID)
	case storage.DeleteGroup:
		d.groups.want(ch.ID)
	case storage.UpsertUser:
		d.users.want(ch.User.UserID)
	case storage.PatchUser:
		d.users.want(ch.UserID)
	case storage.DeleteUser:
		d.users.want(ch.UserID)
	case storage.PutCatalog:
		d.catalog.wanted = true
	case storage.PutImports:
		d.imports.wanted = true
	case storage.PutScopeParents:
		d.scopes.want(ch.Scope)
	case storage.DeleteScopeParents:
		d.scopes.want(ch.Scope)
	case storage.PutRecord:
		d.records.want(recordKey(ch.Record.Collection, ch.Record.ID))
	case storage.DeleteRecord:
		d.records.want(recordKey(ch.Collection, ch.ID))
	}
}

// loadParallel is how many queries of one load run at once.
const loadParallel = 8

// load reads what the draft names, while the turn keeps it from moving.
func (d *draft) load(ctx context.Context, p *partition, g *errgroup.Group) {
	loaded := new(atomic.Int64)
	load(ctx, p, g, &d.grants, loaded)
	load(ctx, p, g, &d.revokes, loaded)
	load(ctx, p, g, &d.roles, loaded)
	load(ctx, p, g, &d.groups, loaded)
	load(ctx, p, g, &d.users, loaded)
	load(ctx, p, g, &d.requests, loaded)
	load(ctx, p, g, &d.scopes, loaded)
	load(ctx, p, g, &d.records, loaded)
	load(ctx, p, g, &d.audit, loaded)
	for _, h := range []*headCell{&d.catalog, &d.imports} {
		if h.wanted {
			g.Go(func() error { return h.load(ctx, p) })
		}
	}
	g.Go(func() (err error) {
		d.epoch, err = p.readEpoch(ctx)
		return failed(err)
	})
	if len(d.named) > 0 {
		g.Go(func() error { return d.countNamed(ctx, p) })
	}
}

func load[V any](ctx context.Context, p *partition, g *errgroup.Group, c *cells[V], loaded *atomic.Int64) {
	if len(c.order) > 0 {
		g.Go(func() error { return c.load(ctx, p, loaded) })
	}
}

func (d *draft) countNamed(ctx context.Context, p *partition) error {
	in := p.in(layout.Grants)
	for role := range d.named {
		n, err := in.Count(ctx, in.Where(eq("roleId", role), live))
		if err != nil {
			return failed(err)
		}
		d.named[role] = n
	}
	return nil
}

func (h *headCell) load(ctx context.Context, p *partition) error {
	stored, found, err := p.readHead(ctx, h.in)
	if found {
		h.found, h.currentVersion = true, stored.Version
	}
	return failed(err)
}

// put replaces the head when its version is the expected one.
func (h *headCell) put(what string, version int64, text []byte, expect *int64) error {
	if expect != nil && *expect != h.currentVersion {
		return seam.Moved(h.currentVersion, "the %s is at version %d, not %d", what, h.currentVersion, *expect)
	}
	h.version, h.text, h.touched, h.currentVersion = version, string(text), true, version
	return nil
}

func (h *headCell) emit(b *batch) error {
	if !h.touched {
		return nil
	}
	return failed(b.add(h.in, headKey, opOver, head{h.version, h.text}.members(h.in)))
}

// emit lists the documents to write. A list that looks on never sees access that
// the commit does not leave standing: revokes come before what they narrow, grants
// go before others are given.
func (d *draft) emit(b *batch, c storage.Commit) error {
	for _, step := range []func() error{
		func() error { return d.revokes.emit(b, opNew, opOver) },
		func() error { return d.grants.emit(b, opGone) },
		func() error { return d.roles.emit(b, opNew, opOver, opGone) },
		func() error { return d.groups.emit(b, opNew, opOver, opGone) },
		func() error { return d.users.emit(b, opNew, opOver, opGone) },
		func() error { return d.requests.emit(b, opNew, opOver, opGone) },
		func() error { return d.imports.emit(b) },
		func() error { return d.scopes.emit(b, opNew, opOver, opGone) },
		func() error { return d.records.emit(b, opNew, opOver, opGone) },
		func() error { return d.grants.emit(b, opNew, opOver) },
		func() error { return d.revokes.emit(b, opGone) },
		func() error { return d.catalog.emit(b) },
		func() error { return d.audit.emit(b, opNew, opOver) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if len(c.Events) > 0 {
		b.firstSeq, b.lastSeq = d.epoch.Seq+1, d.epoch.Seq+int64(len(c.Events))
		b.identity = storage.Follow(d.epoch.Identity, c.ID, b.lastSeq)
	}
	for i, event := range c.Events {
		members, err := eventMembers(event, c.At, b.identity)
		if err == nil {
			err = b.add(layout.Events, b.firstSeq+int64(i), opNew, members)
		}
		if err != nil {
			return failed(err)
		}
	}
	return nil
}
