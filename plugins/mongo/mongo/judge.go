package mongo

import (
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// judge carries the commit out on the draft: requirements, changes with their
// preconditions, audit, the required head.
func (d *draft) judge(c storage.Commit) (result storage.CommitResult, err error) {
	for _, r := range c.Requires {
		if err := d.require(r); err != nil {
			return result, err
		}
	}
	result.Results = make([]storage.ChangeResult, len(c.Changes))
	for i, change := range c.Changes {
		if result.Results[i], err = d.change(change); err != nil {
			return result, err
		}
	}
	for _, entry := range c.Audit {
		if err := d.audit.insert(entry); err != nil {
			return result, err
		}
	}
	for _, r := range c.Requires {
		if head, ok := r.(storage.RequireHead); ok && !d.epoch.head().Is(authz.Position(head)) {
			return result, storage.Errorf(storage.CodeConflict, "the log head is %s, not %s", d.epoch.head(), authz.Position(head))
		}
	}
	if len(c.Events) > 0 {
		result.UpTo.Seq = d.epoch.Seq + int64(len(c.Events))
		result.UpTo.Identity = storage.Follow(d.epoch.Identity, c.ID, result.UpTo.Seq)
	}
	return result, nil
}

// require judges one requirement; the head is judged last.
func (d *draft) require(r storage.Requirement) error {
	switch r := r.(type) {
	case storage.RequireRole:
		if d.roles.at(r.ID).now == nil {
			return seam.Absent("role", r.ID)
		}
	case storage.RequireRecord:
		row := d.records.at(recordKey(r.Collection, r.ID)).now
		if row == nil {
			return storage.Errorf(storage.CodeConflict, "record %s does not exist", spell.Quote(r.ID))
		}
		if row.Version != r.Version {
			return seam.Moved(row.Version, "record %s is at version %d, not %d", spell.Quote(r.ID), row.Version, r.Version)
		}
	case storage.RequireHead:
	default:
		return storage.Errorf(storage.CodeValidation, "%T is no requirement", r)
	}
	return nil
}

// change judges one change over those before it.
func (d *draft) change(change storage.Change) (result storage.ChangeResult, err error) {
	switch ch := change.(type) {
	case storage.InsertGrant:
		if err = d.grants.insert(ch.Grant); err == nil {
			d.added[ch.Grant.RoleID]++
		}
	case storage.DeleteGrant:
		if result.Grant, err = d.grants.remove(ch.ID, ch.MustExist); result.Grant != nil {
			d.added[result.Grant.RoleID]--
		}
	case storage.InsertRevoke:
		err = d.revokes.insert(ch.Revoke)
	case storage.DeleteRevoke:
		result.Revoke, err = d.revokes.remove(ch.ID, ch.MustExist)
	case storage.InsertRequest:
		err = d.requests.insert(ch.Request)
	case storage.UpdateRequest:
		if err = d.expected(ch.Request.ID, true, ch.Expect); err == nil {
			d.requests.at(ch.Request.ID).put(ch.Request)
		}
	case storage.DeleteRequest:
		if err = d.expected(ch.ID, ch.MustExist, ch.Expect); err == nil {
			result.Request, err = d.requests.remove(ch.ID, ch.MustExist)
		}
	case storage.UpsertRole:
		d.roles.at(ch.Role.ID).put(ch.Role)
	case storage.DeleteRole:
		if n := d.named[ch.ID] + d.added[ch.ID]; ch.Unnamed && n > 0 {
			refusal := storage.Errorf(storage.CodeConflict, "%d grants name role %s", n, spell.Quote(ch.ID))
			refusal.Grants = n
			return result, refusal
		}
		_, err = d.roles.remove(ch.ID, false)
	case storage.UpsertGroup:
		d.groups.at(ch.Group.ID).put(ch.Group)
	case storage.DeleteGroup:
		_, err = d.groups.remove(ch.ID, false)
	case storage.UpsertUser:
		d.users.at(ch.User.UserID).put(ch.User)
	case storage.PatchUser:
		d.patchUser(ch)
	case storage.DeleteUser:
		_, err = d.users.remove(ch.UserID, false)
	case storage.PutCatalog:
		err = d.catalog.put("catalog", ch.Version, ch.Document, ch.Expect)
	case storage.PutImports:
		err = d.imports.put("import manifest", ch.Version, ch.Manifest, ch.Expect)
	case storage.PutScopeParents:
		d.scopes.at(ch.Scope).put(scopeParents{ch.Scope, ch.Parents})
	case storage.DeleteScopeParents:
		_, err = d.scopes.remove(ch.Scope, false)
	case storage.PutRecord:
		row := ch.Record
		if err = d.recordAt(row.Collection, row.ID, ch.Expect); err == nil {
			row.Version = ch.Expect + 1
			d.records.at(recordKey(row.Collection, row.ID)).put(row)
			result.Version = row.Version
		}
	case storage.DeleteRecord:
		if err = d.recordAt(ch.Collection, ch.ID, ch.Expect); err == nil {
			_, err = d.records.remove(recordKey(ch.Collection, ch.ID), false)
		}
	default:
		err = storage.Errorf(storage.CodeValidation, "%T is no change", change)
	}
	return result, err
}

// expected judges whether a change may touch a request.
func (d *draft) expected(id string, mustExist bool, expect *storage.RequestExpect) error {
	row := d.requests.at(id).now
	switch {
	case row == nil && mustExist:
		return seam.Absent("request", id)
	case row != nil && expect != nil && (row.State != expect.State || row.StageIndex != expect.StageIndex):
		return storage.Errorf(storage.CodeConflict, "request %s is %s at stage %d, not %s at stage %d",
			spell.Quote(id), spell.Echo(string(row.State)), row.StageIndex, spell.Echo(string(expect.State)), expect.StageIndex)
	}
	return nil
}

func (d *draft) patchUser(p storage.PatchUser) {
	cell := d.users.at(p.UserID)
	row := authz.User{UserID: p.UserID, Active: true}
	if cell.now != nil {
		row = *cell.now
	}
	if p.Active != nil {
		row.Active = *p.Active
	}
	if p.GroupIDs != nil {
		row.GroupIDs = *p.GroupIDs
	}
	if p.OrgIDs != nil {
		row.OrgIDs = *p.OrgIDs
	}
	if p.ManagerUserID != nil {
		row.ManagerUserID = *p.ManagerUserID
	}
	cell.put(row)
}

// recordAt expects a record at a version; 0 is the absent one.
func (d *draft) recordAt(collection, id string, expect int64) error {
	var current int64
	if row := d.records.at(recordKey(collection, id)).now; row != nil {
		current = row.Version
	}
	if current != expect {
		return seam.Moved(current, "record %s is at version %d, not %d", spell.Quote(id), current, expect)
	}
	return nil
}
