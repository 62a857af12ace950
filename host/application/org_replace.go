package application

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// replaceOrg drafts the difference between what is stored and the snapshot.
func (d *draft) replaceOrg(ctx context.Context, s provider.OrgSnapshot) error {
	changes, err := OrgChanges(ctx, d.app.store, s)
	d.change(changes...)
	return err
}

// OrgChanges are the difference between what a partition holds of an organization and
// a snapshot. Users and requests that the snapshot does not list stay, as does every
// row at an instance scope.
func OrgChanges(ctx context.Context, from storage.Store, s provider.OrgSnapshot) ([]storage.Change, error) {
	stored, err := ReadOrg(ctx, from)
	if err != nil {
		return nil, err
	}
	if path := reportingCycle(slices.Concat(stored.Users, s.Users)); path != nil {
		return nil, authz.Cycle(path)
	}
	d := &differing{from: from}
	replaceRows(d, stored.Groups, s.Groups, func(g authz.Group) string { return g.ID }, rowChanges[authz.Group]{
		put:    func(g authz.Group) storage.Change { return storage.UpsertGroup{Group: g} },
		delete: func(id string) storage.Change { return storage.DeleteGroup{ID: id} },
	})
	replaceRows(d, stored.Roles, s.Roles, func(r authz.Role) string { return r.ID }, rowChanges[authz.Role]{
		put:    func(r authz.Role) storage.Change { return storage.UpsertRole{Role: r} },
		delete: func(id string) storage.Change { return storage.DeleteRole{ID: id} },
	})
	replaceRows(d, stored.Users, s.Users, func(u authz.User) string { return u.UserID }, rowChanges[authz.User]{
		put: func(u authz.User) storage.Change { return storage.UpsertUser{User: u} },
	})
	// A grant or revoke is never changed in place: another row of its id gives way.
	replaceRows(d, stored.GlobalGrants, s.GlobalGrants, func(g authz.Grant) string { return g.ID }, rowChanges[authz.Grant]{
		put:     func(g authz.Grant) storage.Change { return storage.InsertGrant{Grant: g} },
		delete:  func(id string) storage.Change { return storage.DeleteGrant{ID: id, MustExist: true} },
		replace: true,
	})
	replaceRows(d, stored.GlobalRevokes, s.GlobalRevokes, func(r authz.Revoke) string { return r.ID }, rowChanges[authz.Revoke]{
		put:     func(r authz.Revoke) storage.Change { return storage.InsertRevoke{Revoke: r} },
		delete:  func(id string) storage.Change { return storage.DeleteRevoke{ID: id, MustExist: true} },
		replace: true,
	})
	err = d.putRequests(ctx, s.PendingGlobalRequests)
	return d.changes, err
}

// differing gathers the changes that make what is stored what is wanted.
type differing struct {
	from    storage.Store
	changes []storage.Change
}

func (d *differing) change(c storage.Change) { d.changes = append(d.changes, c) }

// rowChanges is how the rows of one entity come and go. A nil delete leaves what
// the snapshot does not list; replace deletes a row before another takes its id.
type rowChanges[Row any] struct {
	put     func(Row) storage.Change
	delete  func(id string) storage.Change
	replace bool
}

func replaceRows[Row any](d *differing, stored, wanted []Row, id func(Row) string, c rowChanges[Row]) {
	old := make(map[string]Row, len(stored))
	for _, row := range stored {
		old[id(row)] = row
	}
	listed := make(map[string]bool, len(wanted))
	for _, row := range wanted {
		listed[id(row)] = true
	}
	if c.delete != nil {
		for _, row := range stored {
			if !listed[id(row)] {
				d.change(c.delete(id(row)))
			}
		}
	}
	for _, row := range wanted {
		before, found := old[id(row)]
		if found && sameRow(before, row) {
			continue
		}
		if found && c.replace {
			d.change(c.delete(id(row)))
		}
		d.change(c.put(row))
	}
}

// putRequests inserts requests, or replaces those of their ids in the state that
// they were read in.
func (d *differing) putRequests(ctx context.Context, requests []authz.Request) error {
	for _, r := range requests {
		before, found, err := d.from.GetRequest(ctx, r.ID)
		switch {
		case err != nil:
			return err
		case !found:
			d.change(storage.InsertRequest{Request: r})
		case !sameRow(before, r):
			d.change(storage.UpdateRequest{Request: r, Expect: asRead(before)})
		}
	}
	return nil
}

// sameRow compares rows as they are stored: an absent list is an empty one.
func sameRow(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
