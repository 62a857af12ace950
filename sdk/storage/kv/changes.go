package kv

import (
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// applyChange judges and writes one change over those before it.
func applyChange(p *partition, change storage.Change) (result storage.ChangeResult) {
	switch ch := change.(type) {
	case storage.InsertGrant:
		insert(p, grants, ch.Grant)
	case storage.InsertRevoke:
		insert(p, revokes, ch.Revoke)
	case storage.InsertRequest:
		insert(p, requests, ch.Request)
	case storage.DeleteGrant:
		result.Grant = remove(p, grants, ch.ID, ch.MustExist)
	case storage.DeleteRevoke:
		result.Revoke = remove(p, revokes, ch.ID, ch.MustExist)
	case storage.DeleteRequest:
		result.Request = remove(p, requests, ch.ID, ch.MustExist)
		expect(p, result.Request, ch.Expect)
	case storage.UpdateRequest:
		expect(p, remove(p, requests, ch.Request.ID, true), ch.Expect)
		requests.put(p, ch.Request)
	case storage.UpsertRole:
		roles.put(p, ch.Role)
	case storage.UpsertGroup:
		groups.put(p, ch.Group)
	case storage.UpsertUser:
		users.put(p, ch.User)
	case storage.PatchUser:
		user := authz.User{UserID: ch.UserID, Active: true}
		if stored := users.get(p, ch.UserID); stored != nil {
			user = *stored
		}
		patch(&user.Active, ch.Active)
		patch(&user.GroupIDs, ch.GroupIDs)
		patch(&user.OrgIDs, ch.OrgIDs)
		patch(&user.ManagerUserID, ch.ManagerUserID)
		users.put(p, user)
	case storage.DeleteRole:
		deleteRole(p, ch)
	case storage.DeleteGroup:
		groups.remove(p, ch.ID)
	case storage.DeleteUser:
		users.remove(p, ch.UserID)
	case storage.PutCatalog:
		putHead(p, head{Name: "catalog", Version: ch.Version, Document: ch.Document}, ch.Expect)
	case storage.PutImports:
		putHead(p, head{Name: "imports", Version: ch.Version, Document: ch.Manifest}, ch.Expect)
	case storage.PutScopeParents:
		scopes.put(p, scopeParents{ch.Scope, ch.Parents})
	case storage.DeleteScopeParents:
		scopes.remove(p, ch.Scope)
	case storage.PutRecord:
		atRecord(p, ch.Record.Collection, ch.Record.ID, ch.Expect)
		ch.Record.Version, result.Version = ch.Expect+1, ch.Expect+1
		records.put(p, ch.Record)
	case storage.DeleteRecord:
		atRecord(p, ch.Collection, ch.ID, ch.Expect)
		records.remove(p, recordKey(ch.Collection, ch.ID))
	}
	return result
}

func insert[R any](p *partition, t table[R], row R) {
	if t.get(p, t.key(&row)) != nil {
		p.refuse(storage.CodeConflict, "%s %s exists already", t.entity, spell.Quote(t.key(&row)))
	}
	t.put(p, row)
}

func remove[R any](p *partition, t table[R], key string, mustExist bool) *R {
	row := t.remove(p, key)
	if row == nil && mustExist {
		p.refuse(storage.CodeNotFound, "%s %s does not exist", t.entity, spell.Quote(key))
	}
	return row
}

func expect(p *partition, r *authz.Request, want *storage.RequestExpect) {
	if r != nil && want != nil && *want != (storage.RequestExpect{State: r.State, StageIndex: r.StageIndex}) {
		p.refuse(storage.CodeConflict, "request %s is %s at stage %d", spell.Quote(r.ID), spell.Echo(string(r.State)), r.StageIndex)
	}
}

func patch[T any](member, to *T) {
	if to != nil {
		*member = *to
	}
}

func deleteRole(p *partition, ch storage.DeleteRole) {
	if ch.Unnamed {
		refusal := storage.Errorf(storage.CodeConflict, "grants name role %s", spell.Quote(ch.ID))
		for range grants.with(p, "role/"+ch.ID, "") {
			refusal.Grants++
		}
		if refusal.Grants > 0 {
			p.fail(refusal)
		}
	}
	roles.remove(p, ch.ID)
}

func putHead(p *partition, row head, expect *int64) {
	if current := version(p, row.Name); expect != nil {
		same(p, "the "+row.Name+" head", current, *expect)
	}
	heads.put(p, row)
}

// atRecord refuses a record at another version than expected; 0 is absent.
func atRecord(p *partition, collection, id string, expect int64) {
	var current int64
	if row := records.get(p, recordKey(collection, id)); row != nil {
		current = row.Version
	}
	same(p, "record "+spell.Quote(id), current, expect)
}

func same(p *partition, what string, current, expect int64) {
	if current != expect {
		refusal := storage.Errorf(storage.CodeConflict, "%s is at version %d, not %d", what, current, expect)
		refusal.Version = current
		p.fail(refusal)
	}
}

// version of a head that was never written is 0.
func version(p *partition, name string) int64 {
	if row := heads.get(p, name); row != nil {
		return row.Version
	}
	return 0
}
