package application

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// maxExports bounds how often an export reads an organization that moves.
const maxExports = 5

// ExportOrgSnapshot reads the organization's data, all of one state: lists promise
// no common instant, and a grant must not leave without the revoke that stood
// beside it. It is read again until the log stood still meanwhile, or two reads
// agree; an organization that never rests is an *authz.UnavailableError.
func (a *Application) ExportOrgSnapshot(ctx context.Context) (provider.OrgSnapshot, error) {
	const op = "exportOrgSnapshot"
	refused := func(err error) (provider.OrgSnapshot, error) { return provider.OrgSnapshot{}, a.readFailed(op, err) }
	var last []byte
	for range maxExports {
		before, err := a.head(ctx)
		if err != nil {
			return refused(err)
		}
		read, err := ReadOrg(ctx, a.store)
		if err == nil {
			read.Catalog, err = a.GetPublishedCatalog(ctx)
		}
		if err != nil {
			return refused(err)
		}
		after, err := a.head(ctx)
		if err != nil {
			return refused(err)
		}
		if a.persist && before == after {
			return read, nil
		}
		text, err := json.Marshal(read)
		if err != nil {
			return refused(fmt.Errorf("encode the organization: %w", err))
		}
		if last != nil && bytes.Equal(last, text) {
			return read, nil
		}
		last = text
	}
	return refused(&authz.UnavailableError{Message: "the organization kept changing while it was exported"})
}

// head is the log head, zero where there is no log.
func (a *Application) head(ctx context.Context) (authz.Position, error) {
	if !a.persist {
		return authz.Position{}, nil
	}
	return a.store.Head(ctx)
}

// ReadOrg reads what a snapshot holds but the catalog. Its lists are of one instant
// only where nobody writes.
func ReadOrg(ctx context.Context, from storage.Store) (s provider.OrgSnapshot, err error) {
	global, pending := authz.Global, authz.RequestPending
	var errs [6]error
	s.Groups, errs[0] = gathered(from.ListGroups(ctx, storage.Page{}))
	s.Roles, errs[1] = gathered(from.ListRoles(ctx, storage.Page{}))
	s.GlobalGrants, errs[2] = gathered(from.ListGrants(ctx, storage.GrantFilter{Scope: &global}, storage.Page{}))
	s.GlobalRevokes, errs[3] = gathered(from.ListRevokes(ctx, storage.RevokeFilter{Scope: &global}, storage.Page{}))
	s.Users, errs[4] = gathered(from.ListUsers(ctx, storage.UserFilter{}, storage.Page{}))
	s.PendingGlobalRequests, errs[5] = gathered(from.ListRequests(ctx, storage.RequestFilter{State: &pending, Scope: &global}, storage.RequestPage{}))
	return s, errors.Join(errs[:]...)
}

func gathered[Row any](list iter.Seq2[Row, error]) ([]Row, error) {
	rows := []Row{}
	for row, err := range list {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// ApplyOrgSnapshot replaces the organization's data by the snapshot's, in one
// commit of the difference, with the record of authority in it
// (spec: application §19). It needs no org root: it is how a read model is filled and
// how authority moves. After it an object whose OrgRoot differs from
// StoredOrgRoot is to be replaced by a successor.
func (a *Application) ApplyOrgSnapshot(ctx context.Context, in provider.ApplyOrgSnapshotInput) error {
	snapshot, err := checkOrg(in)
	if err != nil {
		return err
	}
	prov, err := provenance(authz.ImportProvenance(in.Source))
	if err != nil {
		return err
	}
	if err := a.checkTransfer(in); err != nil {
		return err
	}
	var before, next *Authority
	plan := func(ctx context.Context, d *draft) error {
		if a.caps.Has(storage.CapRecords) {
			if err := a.rereadAuthority(ctx); err != nil {
				return err
			}
			d.authority = a.authority.Load()
		}
		before = d.authority
		if next, err = d.moveAuthority(in); err != nil {
			return err
		}
		if err := d.holdHead(ctx, in); err != nil {
			return err
		}
		if err := d.replaceOrg(ctx, snapshot); err != nil {
			return err
		}
		if next.OrgRoot && !before.OrgRoot {
			if err := d.forgetRequests(ctx, snapshot); err != nil {
				return err
			}
		}
		if n := len(d.page.changes); n > storage.MaxCommitChanges {
			return authz.Validation("the snapshot differs from what is stored in %d rows, and %d go into the one commit that it is: nothing was changed", n, storage.MaxCommitChanges)
		}
		a.log.Info("an org snapshot is applied in one commit", "source", spell.EchoN(in.Source, maxSourceEcho), "changes", len(d.page.changes), "most", storage.MaxCommitChanges)
		action := "org.sync_applied"
		if in.Authority != nil && *in.Authority {
			action = "org.authority_received"
		}
		d.audit(action, spell.EchoN(in.Source, maxSourceEcho), orgDetail{
			len(snapshot.Groups), len(snapshot.Roles), len(snapshot.GlobalGrants), len(snapshot.GlobalRevokes), len(snapshot.Users), in.Authority})
		d.emit(authz.Event{Type: authz.EventAll})
		return nil
	}
	err = a.run(ctx, write{op: "applyOrgSnapshot", prov: prov,
		sections: []string{sectionGroups, sectionRoles, sectionReporting}, plan: plan})
	if err == nil && next.Version > 0 {
		a.authority.CompareAndSwap(before, next) // else a read has brought this record, or a later one
	}
	return err
}

type orgDetail struct {
	Groups        int   `json:"groups"`
	Roles         int   `json:"roles"`
	GlobalGrants  int   `json:"globalGrants"`
	GlobalRevokes int   `json:"globalRevokes"`
	Users         int   `json:"users"`
	Authority     *bool `json:"authority,omitempty"`
}

// checkTransfer refuses what the driver cannot hold.
func (a *Application) checkTransfer(in provider.ApplyOrgSnapshotInput) error {
	records := a.caps.Has(storage.CapRecords)
	switch {
	case in.Authority != nil && *in.Authority != a.orgRoot && !records:
		return authz.Rejected(authz.CodeUnsupported,
			"this handler cannot accept an authority transfer: the storage driver keeps no records, so other hosts would not learn of it")
	case in.ExpectHead != nil && !a.persist:
		return authz.Rejected(authz.CodeUnsupported, "expectHead needs the event log (events.persist is off)")
	case in.Position != nil && !records:
		return authz.Rejected(authz.CodeUnsupported, "position needs a storage driver that keeps records")
	}
	return nil
}

// moveAuthority drafts the record as it stands after the snapshot. Its version
// binds the commit: who writes by the old one is refused from then on.
func (d *draft) moveAuthority(in provider.ApplyOrgSnapshotInput) (*Authority, error) {
	if d.authority.Moving != "" {
		return nil, authz.Rejected(authz.CodeConflict, "the organization is being moved")
	}
	last := d.authority.positionOf(in.Source)
	if in.Position != nil && last != nil && *in.Position < *last {
		return nil, authz.Rejected(authz.CodeConflict, "a snapshot of %s at position %d was applied already, which is past %d",
			spell.Quote(in.Source), *last, *in.Position)
	}
	if in.Position != nil {
		last = in.Position
	}
	next := d.authority.from(in.Source, last)
	if in.Authority != nil {
		next.OrgRoot = *in.Authority
	}
	if d.authority.Version == 0 {
		return next, nil // the driver keeps none
	}
	next.Version = d.authority.Version
	change, err := next.Change(d.now)
	if err != nil {
		return nil, err
	}
	d.change(change)
	next.Version++
	return next, nil
}

// holdHead binds the commit to the log head, where one was named and on an org
// root: there, writes without a section may come between reading what is stored
// and replacing it, and what they wrote would survive. Without an event log it
// does survive, until the next snapshot.
func (d *draft) holdHead(ctx context.Context, in provider.ApplyOrgSnapshotInput) error {
	if !d.app.persist || in.ExpectHead == nil && !d.authority.OrgRoot {
		return nil
	}
	head, err := d.app.store.Head(ctx)
	if err != nil {
		return err
	}
	if in.ExpectHead != nil {
		if expected := (authz.Position{Seq: *in.ExpectHead, Identity: in.ExpectIdentity}); !head.Is(expected) {
			return authz.Rejected(authz.CodeConflict, "the log head is %s, not %s", head, expected)
		}
	}
	d.require(storage.RequireHead(head))
	return nil
}
