package plugin

import (
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

func decodeCommit(c *pluginv1.Commit) (storage.Commit, error) {
	requires, err := tryRows(c.GetRequires(), decodeRequirement)
	if err != nil {
		return storage.Commit{}, err
	}
	changes, err := tryRows(c.GetChanges(), decodeChange)
	if err != nil {
		return storage.Commit{}, err
	}
	return storage.Commit{
		ID: c.GetId(), At: c.GetAt(), Incarnation: c.GetIncarnation(), Fences: mapRows(c.GetFences(), decodeFence), Requires: requires, Changes: changes,
		Audit: mapRows(c.GetAudit(), decodeAudit), Events: mapRows(c.GetEvents(), decodeEvent),
	}, nil
}

// errNewer refuses what a newer host says and this plugin cannot mean: guessing
// would apply half a commit.
func errNewer(what string) error {
	return storage.Errorf(storage.CodeUnsupported, "the commit holds a %s that this plugin does not know", what)
}

func decodeRequirement(r *pluginv1.Requirement) (storage.Requirement, error) {
	switch of := r.GetOf().(type) {
	case *pluginv1.Requirement_RoleId:
		return storage.RequireRole{ID: of.RoleId}, nil
	case *pluginv1.Requirement_Record:
		return storage.RequireRecord{
			Collection: of.Record.GetCollection(), ID: of.Record.GetId(), Version: of.Record.GetVersion()}, nil
	case *pluginv1.Requirement_Head:
		return storage.RequireHead{Seq: of.Head, Identity: r.GetHeadIdentity()}, nil
	}
	return nil, errNewer("requirement")
}

func decodeListPointer(list *pluginv1.StringList) *[]string {
	if list == nil {
		return nil
	}
	values := decodeList(list)
	return &values
}

func decodeChange(c *pluginv1.Change) (storage.Change, error) {
	switch of := c.GetOf().(type) {
	case *pluginv1.Change_InsertGrant:
		return storage.InsertGrant{Grant: decodeGrant(of.InsertGrant)}, nil
	case *pluginv1.Change_InsertRevoke:
		return storage.InsertRevoke{Revoke: decodeRevoke(of.InsertRevoke)}, nil
	case *pluginv1.Change_InsertRequest:
		row, err := decodeRequest(of.InsertRequest)
		return storage.InsertRequest{Request: row}, err
	case *pluginv1.Change_DeleteGrant:
		return storage.DeleteGrant{ID: of.DeleteGrant.GetId(), MustExist: of.DeleteGrant.GetMustExist()}, nil
	case *pluginv1.Change_DeleteRevoke:
		return storage.DeleteRevoke{ID: of.DeleteRevoke.GetId(), MustExist: of.DeleteRevoke.GetMustExist()}, nil
	case *pluginv1.Change_DeleteRequest:
		return storage.DeleteRequest{ID: of.DeleteRequest.GetId(), MustExist: of.DeleteRequest.GetMustExist(),
			Expect: decodeExpect(of.DeleteRequest.GetExpect())}, nil
	case *pluginv1.Change_UpsertRole:
		row, err := decodeRole(of.UpsertRole)
		return storage.UpsertRole{Role: row}, err
	case *pluginv1.Change_UpsertGroup:
		return storage.UpsertGroup{Group: decodeGroup(of.UpsertGroup)}, nil
	case *pluginv1.Change_UpsertUser:
		return storage.UpsertUser{User: decodeUser(of.UpsertUser)}, nil
	case *pluginv1.Change_PatchUser:
		p := of.PatchUser
		return storage.PatchUser{UserID: p.GetUserId(), Active: p.Active, GroupIDs: decodeListPointer(p.GetGroupIds()),
			OrgIDs: decodeListPointer(p.GetOrgIds()), ManagerUserID: p.ManagerUserId}, nil
	case *pluginv1.Change_DeleteRole:
		return storage.DeleteRole{ID: of.DeleteRole.GetId(), Unnamed: of.DeleteRole.GetUnnamed()}, nil
	case *pluginv1.Change_DeleteGroup:
		return storage.DeleteGroup{ID: of.DeleteGroup}, nil
	case *pluginv1.Change_DeleteUser:
		return storage.DeleteUser{UserID: of.DeleteUser}, nil
	case *pluginv1.Change_UpdateRequest:
		if of.UpdateRequest.GetRequest() == nil {
			return nil, errNewer("change")
		}
		row, err := decodeRequest(of.UpdateRequest.GetRequest())
		return storage.UpdateRequest{Request: row, Expect: decodeExpect(of.UpdateRequest.GetExpect())}, err
	case *pluginv1.Change_PutCatalog:
		p := of.PutCatalog
		return storage.PutCatalog{Version: p.GetVersion(), Document: p.DocumentJson, PublishedAt: p.GetPublishedAt(),
			Expect: p.Expect}, nil
	case *pluginv1.Change_PutImports:
		p := of.PutImports
		return storage.PutImports{Version: p.GetVersion(), Manifest: p.ManifestJson, Expect: p.Expect}, nil
	case *pluginv1.Change_PutScopeParents:
		return storage.PutScopeParents{Scope: of.PutScopeParents.GetScope(),
			Parents: presentList(of.PutScopeParents.GetParents())}, nil
	case *pluginv1.Change_DeleteScopeParents:
		return storage.DeleteScopeParents{Scope: of.DeleteScopeParents}, nil
	case *pluginv1.Change_PutRecord:
		if of.PutRecord.GetRecord() == nil {
			return nil, errNewer("change")
		}
		return storage.PutRecord{Record: decodeRecord(of.PutRecord.GetRecord()), Expect: of.PutRecord.GetExpect()}, nil
	case *pluginv1.Change_DeleteRecord:
		return storage.DeleteRecord{Collection: of.DeleteRecord.GetCollection(), ID: of.DeleteRecord.GetId(),
			Expect: of.DeleteRecord.GetExpect()}, nil
	}
	return nil, errNewer("change")
}
