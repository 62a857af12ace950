package memory

import (
	"slices"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// change judges and writes one change over those before it.
func (d *draft) change(change storage.Change) (storage.ChangeResult, error) {
	var result storage.ChangeResult
	switch ch := change.(type) {
	case storage.InsertGrant:
		if _, found := d.grants.byID.get(&ch.Grant); found {
			return result, seam.Taken("grant", ch.Grant.ID)
		}
		d.grants.insert(d.edit, &ch.Grant)
	case storage.InsertRevoke:
		if _, found := d.revokes.byID.get(&ch.Revoke); found {
			return result, seam.Taken("revoke", ch.Revoke.ID)
		}
		d.revokes.insert(d.edit, &ch.Revoke)
	case storage.InsertRequest:
		if _, found := d.requests.byID.get(&ch.Request); found {
			return result, seam.Taken("request", ch.Request.ID)
		}
		row := copyRequest(&ch.Request)
		d.requests.insert(d.edit, &row)
	case storage.DeleteGrant:
		row, found := d.grants.byID.get(&authz.Grant{ID: ch.ID})
		if found {
			d.grants.remove(d.edit, row)
			result.Grant = row
		} else if ch.MustExist {
			return result, seam.Absent("grant", ch.ID)
		}
	case storage.DeleteRevoke:
		row, found := d.revokes.byID.get(&authz.Revoke{ID: ch.ID})
		if found {
			d.revokes.remove(d.edit, row)
			result.Revoke = row
		} else if ch.MustExist {
			return result, seam.Absent("revoke", ch.ID)
		}
	case storage.DeleteRequest:
		row, found, err := d.expected(ch.ID, ch.MustExist, ch.Expect)
		if err != nil {
			return result, err
		}
		if found {
			d.requests.remove(d.edit, row)
			result.Request = row
		}
	case storage.UpdateRequest:
		old, _, err := d.expected(ch.Request.ID, true, ch.Expect)
		if err != nil {
			return result, err
		}
		row := copyRequest(&ch.Request)
		d.requests.remove(d.edit, old)
		d.requests.insert(d.edit, &row)
	case storage.UpsertRole:
		row := copyRole(&ch.Role)
		d.roles.set(d.edit, &row)
	case storage.UpsertGroup:
		row := copyGroup(&ch.Group)
		d.groups.set(d.edit, &row)
	case storage.UpsertUser:
		row := copyUser(&ch.User)
		d.users.put(d.edit, &row)
	case storage.PatchUser:
		d.patchUser(ch)
	case storage.DeleteRole:
		if ch.Unnamed {
			if n := d.grants.count(storage.GrantFilter{RoleID: &ch.ID}); n > 0 {
				err := storage.Errorf(storage.CodeConflict, "%d grants name role %s", n, spell.Quote(ch.ID))
				err.Grants = n
				return result, err
			}
		}
		d.roles.remove(d.edit, &authz.Role{ID: ch.ID})
	case storage.DeleteGroup:
		d.groups.remove(d.edit, &authz.Group{ID: ch.ID})
	case storage.DeleteUser:
		d.users.remove(d.edit, ch.UserID)
	case storage.PutCatalog:
		return result, d.putCatalog(ch)
	case storage.PutImports:
		var current int64
		if d.imports != nil {
			current = d.imports.Version
		}
		if ch.Expect != nil && *ch.Expect != current {
			return result, seam.Moved(current, "the import manifest is at version %d, not %d", current, *ch.Expect)
		}
		d.imports = &storage.ImportsHead{Version: ch.Version, Manifest: slices.Clone(ch.Manifest)}
	case storage.PutScopeParents:
		d.scopes.put(d.edit, &scopeParents{ch.Scope, slices.Clone(ch.Parents)})
	case storage.DeleteScopeParents:
		d.scopes.remove(d.edit, ch.Scope)
	case storage.PutRecord:
		old, err := d.recordAt(ch.Record.Collection, ch.Record.ID, ch.Expect)
		if err != nil {
			return result, err
		}
		row := copyRecord(&ch.Record)
		row.Version = ch.Expect + 1
		if old != nil {
			d.records.remove(d.edit, old)
		}
		d.records.insert(d.edit, &row)
		result.Version = row.Version
	case storage.DeleteRecord:
		old, err := d.recordAt(ch.Collection, ch.ID, ch.Expect)
		if err != nil {
			return result, err
		}
		if old != nil {
			d.records.remove(d.edit, old)
		}
	}
	return result, nil
}

// expected finds a request that a change may touch.
func (d *draft) expected(id string, mustExist bool, expect *storage.RequestExpect) (*authz.Request, bool, error) {
	row, found := d.requests.byID.get(&authz.Request{ID: id})
	switch {
	case !found && mustExist:
		return nil, false, seam.Absent("request", id)
	case found && expect != nil && (row.State != expect.State || row.StageIndex != expect.StageIndex):
		return nil, false, storage.Errorf(storage.CodeConflict, "request %s is %s at stage %d, not %s at stage %d",
			spell.Quote(id), spell.Echo(string(row.State)), row.StageIndex, spell.Echo(string(expect.State)), expect.StageIndex)
	}
	return row, found, nil
}

func (d *draft) patchUser(p storage.PatchUser) {
	row := authz.User{UserID: p.UserID, Active: true, GroupIDs: []string{}, OrgIDs: []string{}}
	if old, found := d.users.byID.get(&row); found {
		row = *old
	}
	if p.Active != nil {
		row.Active = *p.Active
	}
	if p.GroupIDs != nil {
		row.GroupIDs = slices.Clone(*p.GroupIDs)
	}
	if p.OrgIDs != nil {
		row.OrgIDs = slices.Clone(*p.OrgIDs)
	}
	if p.ManagerUserID != nil {
		row.ManagerUserID = *p.ManagerUserID
	}
	d.users.put(d.edit, &row)
}

func (d *draft) putCatalog(ch storage.PutCatalog) error {
	var current int64
	if d.catalog != nil {
		current = d.catalog.Version
	}
	if ch.Expect != nil && *ch.Expect != current {
		return seam.Moved(current, "the catalog is at version %d, not %d", current, *ch.Expect)
	}
	document := slices.Clone(ch.Document)
	d.catalog = &storage.CatalogHead{Version: ch.Version, Document: document}
	d.versions.set(d.edit, &storage.CatalogVersion{Version: ch.Version, Document: document, PublishedAt: ch.PublishedAt})
	return nil
}

// recordAt finds the record that a change expects at a version; nil is the
// absent one, version 0.
func (d *draft) recordAt(collection, id string, expect int64) (*storage.Record, error) {
	var current int64
	row, found := d.records.byID.get(&storage.Record{Collection: collection, ID: id})
	if found {
		current = row.Version
	}
	if current != expect {
		return nil, seam.Moved(current, "record %s is at version %d, not %d", spell.Quote(id), current, expect)
	}
	return row, nil
}
