package application

import (
	"cmp"
	"context"
	"reflect"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// OrgMove is a step of a move of authority, as the home of an organization takes it
// (spec: federation §3).
type OrgMove struct {
	// ID names the move. Nobody but it changes the record while it is held.
	ID string

	// Held says that the organization still moves after the step: nobody writes it.
	Held bool

	// OrgRoot is whether the application is the org root from then on; nil leaves it.
	OrgRoot *bool

	// Source and Position are those of the dataset, as for ApplyOrgSnapshot. A dataset
	// of a position that stands already is not written again.
	Source   string
	Position int64

	// Snapshot is what the partition holds afterwards, and nothing else of people and
	// pending global requests: what it kept of an earlier organization goes. nil leaves
	// what is there.
	Snapshot *provider.OrgSnapshot
}

// MoveOrg takes one step of a move, in one commit. It needs a store with records. An
// organization that another move holds is CodeConflict.
func (a *Application) MoveOrg(ctx context.Context, m OrgMove) error {
	if !a.caps.Has(storage.CapRecords) {
		return authz.Rejected(authz.CodeUnsupported, "an organization moves only into a storage driver that keeps records")
	}
	var snapshot provider.OrgSnapshot
	if m.Snapshot != nil {
		var err error
		if snapshot, err = checkOrg(provider.ApplyOrgSnapshotInput{Snapshot: *m.Snapshot, Source: m.Source}); err != nil {
			return err
		}
	}
	prov, err := provenance(authz.ImportProvenance(cmp.Or(m.Source, m.ID)))
	if err != nil {
		return err
	}
	var before, next *Authority
	plan := func(ctx context.Context, d *draft) error {
		if err := a.rereadAuthority(ctx); err != nil {
			return err
		}
		before = a.authority.Load()
		d.authority = before
		if before.Moving != "" && before.Moving != m.ID {
			return authz.Rejected(authz.CodeConflict, "the organization is being moved")
		}
		next = before.step(m)
		if reflect.DeepEqual(before, next) {
			return nil
		}
		if m.Snapshot != nil {
			if err := d.replaceOrg(ctx, snapshot); err != nil {
				return err
			}
			if err := d.forgetUnlisted(ctx, snapshot); err != nil {
				return err
			}
			if err := d.fits(); err != nil {
				return err
			}
			d.audit("org.authority_received", spell.EchoN(m.Source, maxSourceEcho), orgDetail{
				len(snapshot.Groups), len(snapshot.Roles), len(snapshot.GlobalGrants), len(snapshot.GlobalRevokes), len(snapshot.Users), m.OrgRoot})
		}
		change, err := next.Change(d.now)
		if err != nil {
			return err
		}
		d.change(change)
		next.Version++
		d.emit(authz.Event{Type: authz.EventAll})
		return nil
	}
	err = a.run(ctx, write{op: "moveOrg", prov: prov, sections: OrgSections(), plan: plan})
	if err == nil && next.Version != before.Version {
		a.authority.CompareAndSwap(before, next) // else a read has brought this record, or a later one
	}
	return err
}

// step is the record after a step of a move. It is equal to r where the step was taken
// already.
func (r *Authority) step(m OrgMove) *Authority {
	next := *r
	if m.Source != "" && (m.Source != r.Source || r.Position == nil || *r.Position != m.Position) {
		next = *r.from(m.Source, &m.Position)
		next.Version = r.Version
	}
	if m.OrgRoot != nil {
		next.OrgRoot = *m.OrgRoot
	}
	next.Moving = ""
	if m.Held {
		next.Moving = m.ID
	}
	return &next
}

// forgetUnlisted deletes the people and pending global requests that the snapshot does
// not list: of an organization that lived elsewhere meanwhile they would come back with
// rights that were taken from them there.
func (d *draft) forgetUnlisted(ctx context.Context, s provider.OrgSnapshot) error {
	listed := make(map[string]bool, len(s.Users))
	for _, u := range s.Users {
		listed[u.UserID] = true
	}
	for u, err := range d.app.store.ListUsers(ctx, storage.UserFilter{}, storage.Page{}) {
		if err != nil {
			return err
		}
		if !listed[u.UserID] {
			d.change(storage.DeleteUser{UserID: u.UserID})
		}
	}
	return d.forgetRequests(ctx, s)
}

// forgetRequests deletes the pending global requests that the snapshot does not list:
// they were decided or withdrawn where the organization lived, and nobody may decide
// them again.
func (d *draft) forgetRequests(ctx context.Context, s provider.OrgSnapshot) error {
	listed := make(map[string]bool, len(s.PendingGlobalRequests))
	for _, r := range s.PendingGlobalRequests {
		listed[r.ID] = true
	}
	pending, global := authz.RequestPending, authz.Global
	for r, err := range d.app.store.ListRequests(ctx, storage.RequestFilter{State: &pending, Scope: &global}, storage.RequestPage{}) {
		if err != nil {
			return err
		}
		if !listed[r.ID] {
			d.change(storage.DeleteRequest{ID: r.ID, Expect: asRead(r)})
		}
	}
	return nil
}

// CheckOrgMove refuses a dataset that MoveOrg would refuse as it is stored now.
func (a *Application) CheckOrgMove(ctx context.Context, m OrgMove) error {
	snapshot, err := checkOrg(provider.ApplyOrgSnapshotInput{Snapshot: *m.Snapshot, Source: m.Source})
	if err != nil {
		return err
	}
	d := &draft{app: a, op: "moveOrg", page: &page{}}
	if err := d.replaceOrg(ctx, snapshot); err != nil {
		return a.readFailed("moveOrg", err)
	}
	if err := d.forgetUnlisted(ctx, snapshot); err != nil {
		return a.readFailed("moveOrg", err)
	}
	d.change(storage.PutRecord{}) // that of authority
	return d.fits()
}
