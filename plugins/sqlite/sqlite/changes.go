package sqlite

import (
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/plugins/internal/relational"
	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	blankUser = `INSERT INTO "AuthzUser" ("app", "userId", "active", "orgIds", "managerUserId") VALUES (?, ?, 1, '[]', NULL)
		ON CONFLICT ("app", "userId") DO NOTHING`
	patchUser = `UPDATE "AuthzUser" SET "active" = coalesce(?3, "active"), "orgIds" = coalesce(?4, "orgIds"),
		"managerUserId" = CASE WHEN ?5 THEN nullif(?6, '') ELSE "managerUserId" END WHERE "app" = ?1 AND "userId" = ?2`

	putCatalogHead = `INSERT INTO "AuthzCatalog" ("app", "id", "version", "document") VALUES (?, 1, ?, ?)
		ON CONFLICT ("app", "id") DO UPDATE SET "version" = excluded."version", "document" = excluded."document"`
	putCatalogVersion = `INSERT INTO "AuthzCatalogVersion" ("app", "version", "document", "publishedAt") VALUES (?, ?, ?, ?)
		ON CONFLICT ("app", "version") DO UPDATE SET "document" = excluded."document", "publishedAt" = excluded."publishedAt"`
	putImportsHead = `INSERT INTO "AuthzImports" ("app", "id", "version", "manifest") VALUES (?, 1, ?, ?)
		ON CONFLICT ("app", "id") DO UPDATE SET "version" = excluded."version", "manifest" = excluded."manifest"`

	putParents = `INSERT INTO "AuthzScopeParent" ("app", "scope", "parents") VALUES (?, ?, ?)
		ON CONFLICT ("app", "scope") DO UPDATE SET "parents" = excluded."parents"`
	deleteParents = `DELETE FROM "AuthzScopeParent" WHERE "app" = ? AND "scope" = ?`
)

var grantsOfRole = `SELECT count(*) FROM ` + using(relational.GrantTable, "roleId") + ` WHERE "app" = ? AND "roleId" = ?`

// applyChange judges and writes one change over those before it.
func applyChange(w *work, app string, change storage.Change) (result storage.ChangeResult, err error) {
	switch ch := change.(type) {
	case storage.InsertGrant:
		return result, insert(w, app, grants, "grant", ch.Grant.ID, ch.Grant)
	case storage.InsertRevoke:
		return result, insert(w, app, revokes, "revoke", ch.Revoke.ID, ch.Revoke)
	case storage.InsertRequest:
		return result, insert(w, app, requests, "request", ch.Request.ID, ch.Request)
	case storage.DeleteGrant:
		result.Grant, err = take(w, app, grants, "grant", ch.ID, ch.MustExist)
	case storage.DeleteRevoke:
		result.Revoke, err = take(w, app, revokes, "revoke", ch.ID, ch.MustExist)
	case storage.DeleteRequest:
		if err := expected(w, app, ch.ID, ch.MustExist, ch.Expect); err != nil {
			return result, err
		}
		result.Request, err = take(w, app, requests, "request", ch.ID, ch.MustExist)
	case storage.UpdateRequest:
		if err := expected(w, app, ch.Request.ID, true, ch.Expect); err != nil {
			return result, err
		}
		err = requests.put(w, app, ch.Request)
	case storage.UpsertRole:
		err = roles.put(w, app, ch.Role)
	case storage.UpsertGroup:
		if err := groups.put(w, app, ch.Group); err != nil {
			return result, err
		}
		err = parentEdges.replace(w, app, ch.Group.ID, ch.Group.Parents)
	case storage.UpsertUser:
		if err := users.put(w, app, ch.User); err != nil {
			return result, err
		}
		if err := membershipEdges.replace(w, app, ch.User.UserID, ch.User.GroupIDs); err != nil {
			return result, err
		}
		err = orgEdges.replace(w, app, ch.User.UserID, ch.User.OrgIDs)
	case storage.PatchUser:
		err = applyPatch(w, app, ch)
	case storage.DeleteRole:
		err = deleteRole(w, app, ch)
	case storage.DeleteGroup:
		err = removeWithEdges(w, app, groups.remove, ch.ID, parentEdges)
	case storage.DeleteUser:
		err = removeWithEdges(w, app, users.remove, ch.UserID, membershipEdges, orgEdges)
	case storage.PutCatalog:
		err = putCatalog(w, app, ch)
	case storage.PutImports:
		if err := expectVersion(w, app, importsNow, "the import manifest", ch.Expect); err != nil {
			return result, err
		}
		_, err = w.exec(putImportsHead, app, ch.Version, string(ch.Manifest))
	case storage.PutScopeParents:
		err = putScopeParents(w, app, ch)
	case storage.DeleteScopeParents:
		err = removeWithEdges(w, app, deleteParents, ch.Scope, scopeEdges)
	case storage.PutRecord:
		if err := expectRecord(w, app, ch.Record.Collection, ch.Record.ID, ch.Expect); err != nil {
			return result, err
		}
		ch.Record.Version = ch.Expect + 1
		result.Version = ch.Record.Version
		err = records.put(w, app, ch.Record)
	case storage.DeleteRecord:
		if err := expectRecord(w, app, ch.Collection, ch.ID, ch.Expect); err != nil {
			return result, err
		}
		_, err = w.exec(records.remove, app, ch.Collection, ch.ID)
	default:
		err = storage.Errorf(storage.CodeValidation, "%T is no change", change)
	}
	return result, err
}

func insert[T any](w *work, app string, t table[T], what, id string, row T) error {
	free, err := t.insert(w, app, row)
	if err == nil && !free {
		err = seam.Taken(what, id)
	}
	return err
}

// take removes a row and returns it, nil when it was not there.
func take[T any](w *work, app string, t table[T], what, id string, mustExist bool) (*T, error) {
	row, found, err := rowOf(w, t.Scan, t.take, app, id)
	switch {
	case err != nil:
		return nil, err
	case found:
		return &row, nil
	case mustExist:
		return nil, seam.Absent(what, id)
	}
	return nil, nil
}

func removeWithEdges(w *work, app, remove, id string, all ...edges) error {
	_, err := w.exec(remove, app, id)
	for _, e := range all {
		if err == nil {
			_, err = w.exec(e.none, app, id)
		}
	}
	return err
}

func putScopeParents(w *work, app string, ch storage.PutScopeParents) error {
	parents, err := listOf(ch.Parents)
	if err != nil {
		return err
	}
	if _, err := w.exec(putParents, app, ch.Scope, parents); err != nil {
		return err
	}
	return scopeEdges.replace(w, app, ch.Scope, ch.Parents)
}

func applyPatch(w *work, app string, p storage.PatchUser) error {
	if _, err := w.exec(blankUser, app, p.UserID); err != nil {
		return err
	}
	var active, orgs any
	manager := ""
	if p.Active != nil {
		active = *p.Active
	}
	if p.OrgIDs != nil {
		list, err := relational.EncodeStrings(*p.OrgIDs)
		if err != nil {
			return err
		}
		orgs = list
	}
	if p.ManagerUserID != nil {
		manager = *p.ManagerUserID
	}
	if _, err := w.exec(patchUser, app, p.UserID, active, orgs, p.ManagerUserID != nil, manager); err != nil {
		return err
	}
	if p.OrgIDs != nil {
		if err := orgEdges.replace(w, app, p.UserID, *p.OrgIDs); err != nil {
			return err
		}
	}
	if p.GroupIDs == nil {
		return nil
	}
	return membershipEdges.replace(w, app, p.UserID, *p.GroupIDs)
}

func deleteRole(w *work, app string, ch storage.DeleteRole) error {
	if ch.Unnamed {
		var named int64
		if _, err := w.one(grantsOfRole, []any{app, ch.ID}, &named); err != nil {
			return err
		}
		if named > 0 {
			err := storage.Errorf(storage.CodeConflict, "%d grants name role %s", named, spell.Quote(ch.ID))
			err.Grants = named
			return err
		}
	}
	_, err := w.exec(roles.remove, app, ch.ID)
	return err
}

func putCatalog(w *work, app string, ch storage.PutCatalog) error {
	if err := expectVersion(w, app, catalogNow, "the catalog", ch.Expect); err != nil {
		return err
	}
	if _, err := w.exec(putCatalogHead, app, ch.Version, string(ch.Document)); err != nil {
		return err
	}
	_, err := w.exec(putCatalogVersion, app, ch.Version, string(ch.Document), ch.PublishedAt)
	return err
}
