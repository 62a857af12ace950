package plugin

import (
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"

	pluginv1 "github.com/authzhost/authz/sdk/plugin/proto/authz/plugin/v1"
)

func encodeCommit(c storage.Commit) (*pluginv1.Commit, error) {
	requires, err := tryRows(c.Requires, encodeRequirement)
	if err != nil {
		return nil, err
	}
	changes, err := tryRows(c.Changes, encodeChange)
	if err != nil {
		return nil, err
	}
	return &pluginv1.Commit{
		Id: c.ID, At: c.At, Incarnation: c.Incarnation, Fences: mapRows(c.Fences, encodeFence), Requires: requires, Changes: changes,
		Audit: mapRows(c.Audit, encodeAudit), Events: mapRows(c.Events, encodeEvent),
	}, nil
}

func encodeFence(f storage.Fence) *pluginv1.Fence {
	return &pluginv1.Fence{Key: f.Key, Fence: f.Fence}
}

func encodeRequirement(r storage.Requirement) (*pluginv1.Requirement, error) {
	switch r := r.(type) {
	case storage.RequireRole:
		return &pluginv1.Requirement{Of: &pluginv1.Requirement_RoleId{RoleId: r.ID}}, nil
	case storage.RequireRecord:
		return &pluginv1.Requirement{Of: &pluginv1.Requirement_Record{Record: &pluginv1.RecordVersion{
			Collection: r.Collection, Id: r.ID, Version: r.Version}}}, nil
	case storage.RequireHead:
		return &pluginv1.Requirement{Of: &pluginv1.Requirement_Head{Head: r.Seq}, HeadIdentity: r.Identity}, nil
	}
	return nil, storage.Errorf(storage.CodeValidation, "%T is no requirement of a commit", r)
}

func encodeExpect(e *storage.RequestExpect) *pluginv1.RequestExpect {
	if e == nil {
		return nil
	}
	return &pluginv1.RequestExpect{State: string(e.State), StageIndex: e.StageIndex}
}

func encodeListPointer(list *[]string) *pluginv1.StringList {
	if list == nil {
		return nil
	}
	return &pluginv1.StringList{Values: *list}
}

func encodeChange(c storage.Change) (*pluginv1.Change, error) {
	out := &pluginv1.Change{}
	switch c := c.(type) {
	case storage.InsertGrant:
		out.Of = &pluginv1.Change_InsertGrant{InsertGrant: encodeGrant(c.Grant)}
	case storage.InsertRevoke:
		out.Of = &pluginv1.Change_InsertRevoke{InsertRevoke: encodeRevoke(c.Revoke)}
	case storage.InsertRequest:
		row, err := encodeRequest(c.Request)
		if err != nil {
			return nil, err
		}
		out.Of = &pluginv1.Change_InsertRequest{InsertRequest: row}
	case storage.DeleteGrant:
		out.Of = &pluginv1.Change_DeleteGrant{DeleteGrant: &pluginv1.DeleteRow{Id: c.ID, MustExist: c.MustExist}}
	case storage.DeleteRevoke:
		out.Of = &pluginv1.Change_DeleteRevoke{DeleteRevoke: &pluginv1.DeleteRow{Id: c.ID, MustExist: c.MustExist}}
	case storage.DeleteRequest:
		out.Of = &pluginv1.Change_DeleteRequest{DeleteRequest: &pluginv1.DeleteRow{
			Id: c.ID, MustExist: c.MustExist, Expect: encodeExpect(c.Expect)}}
	case storage.UpsertRole:
		row, err := encodeRole(c.Role)
		if err != nil {
			return nil, err
		}
		out.Of = &pluginv1.Change_UpsertRole{UpsertRole: row}
	case storage.UpsertGroup:
		out.Of = &pluginv1.Change_UpsertGroup{UpsertGroup: encodeGroup(c.Group)}
	case storage.UpsertUser:
		out.Of = &pluginv1.Change_UpsertUser{UpsertUser: encodeUser(c.User)}
	case storage.PatchUser:
		out.Of = &pluginv1.Change_PatchUser{PatchUser: &pluginv1.PatchUser{
			UserId: c.UserID, Active: c.Active, GroupIds: encodeListPointer(c.GroupIDs), OrgIds: encodeListPointer(c.OrgIDs),
			ManagerUserId: c.ManagerUserID}}
	case storage.DeleteRole:
		out.Of = &pluginv1.Change_DeleteRole{DeleteRole: &pluginv1.DeleteRole{Id: c.ID, Unnamed: c.Unnamed}}
	case storage.DeleteGroup:
		out.Of = &pluginv1.Change_DeleteGroup{DeleteGroup: c.ID}
	case storage.DeleteUser:
		out.Of = &pluginv1.Change_DeleteUser{DeleteUser: c.UserID}
	case storage.UpdateRequest:
		row, err := encodeRequest(c.Request)
		if err != nil {
			return nil, err
		}
		out.Of = &pluginv1.Change_UpdateRequest{UpdateRequest: &pluginv1.UpdateRequest{
			Request: row, Expect: encodeExpect(c.Expect)}}
	case storage.PutCatalog:
		out.Of = &pluginv1.Change_PutCatalog{PutCatalog: &pluginv1.PutCatalog{
			Version: c.Version, DocumentJson: c.Document, PublishedAt: c.PublishedAt, Expect: c.Expect}}
	case storage.PutImports:
		out.Of = &pluginv1.Change_PutImports{PutImports: &pluginv1.PutImports{
			Version: c.Version, ManifestJson: c.Manifest, Expect: c.Expect}}
	case storage.PutScopeParents:
		out.Of = &pluginv1.Change_PutScopeParents{PutScopeParents: &pluginv1.PutScopeParents{
			Scope: c.Scope, Parents: c.Parents}}
	case storage.DeleteScopeParents:
		out.Of = &pluginv1.Change_DeleteScopeParents{DeleteScopeParents: c.Scope}
	case storage.PutRecord:
		out.Of = &pluginv1.Change_PutRecord{PutRecord: &pluginv1.PutRecord{
			Record: encodeRecord(c.Record), Expect: c.Expect}}
	case storage.DeleteRecord:
		out.Of = &pluginv1.Change_DeleteRecord{DeleteRecord: &pluginv1.DeleteRecord{
			Collection: c.Collection, Id: c.ID, Expect: c.Expect}}
	default:
		return nil, storage.Errorf(storage.CodeValidation, "%T is no change of a commit", c)
	}
	return out, nil
}

func encodeResult(r storage.CommitResult) (*pluginv1.CommitResult, error) {
	results, err := tryRows(r.Results, encodeChangeResult)
	if err != nil {
		return nil, err
	}
	return &pluginv1.CommitResult{Replayed: r.Replayed, Results: results, UpTo: r.UpTo.Seq, Identity: r.UpTo.Identity}, nil
}

func encodeChangeResult(r storage.ChangeResult) (*pluginv1.ChangeResult, error) {
	out := &pluginv1.ChangeResult{Version: r.Version}
	if r.Grant != nil {
		out.Grant = encodeGrant(*r.Grant)
	}
	if r.Revoke != nil {
		out.Revoke = encodeRevoke(*r.Revoke)
	}
	var err error
	if r.Request != nil {
		out.Request, err = encodeRequest(*r.Request)
	}
	return out, err
}

func decodeResult(r *pluginv1.CommitResult) (storage.CommitResult, error) {
	results, err := tryRows(r.GetResults(), decodeChangeResult)
	return storage.CommitResult{Replayed: r.GetReplayed(), Results: results,
		UpTo: authz.Position{Seq: r.GetUpTo(), Identity: r.GetIdentity()}}, err
}

func decodeChangeResult(r *pluginv1.ChangeResult) (storage.ChangeResult, error) {
	out := storage.ChangeResult{Version: r.GetVersion()}
	if r.Grant != nil {
		grant := decodeGrant(r.Grant)
		out.Grant = &grant
	}
	if r.Revoke != nil {
		revoke := decodeRevoke(r.Revoke)
		out.Revoke = &revoke
	}
	if r.Request == nil {
		return out, nil
	}
	request, err := decodeRequest(r.Request)
	out.Request = &request
	return out, err
}

func decodeFence(f *pluginv1.Fence) storage.Fence {
	return storage.Fence{Key: f.GetKey(), Fence: f.GetFence()}
}

func decodeExpect(e *pluginv1.RequestExpect) *storage.RequestExpect {
	if e == nil {
		return nil
	}
	return &storage.RequestExpect{State: authz.RequestState(e.GetState()), StageIndex: e.GetStageIndex()}
}
