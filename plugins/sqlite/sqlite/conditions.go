package sqlite

import (
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/plugins/internal/seam"
	"github.com/authzhost/authz/sdk/storage"
)

// What these read is still so when the transaction ends: it holds the write lock.

const (
	fenceNow   = `SELECT "fence" FROM "AuthzLock" WHERE "app" = ? AND "key" = ?`
	roleThere  = `SELECT 1 FROM "AuthzRole" WHERE "app" = ? AND "id" = ?`
	recordNow  = `SELECT "version" FROM "AuthzRecord" WHERE "app" = ? AND "collection" = ? AND "id" = ?`
	catalogNow = `SELECT "version" FROM "AuthzCatalog" WHERE "app" = ?`
	importsNow = `SELECT "version" FROM "AuthzImports" WHERE "app" = ?`
)

func compareFences(w *work, app string, fences []storage.Fence) error {
	for _, want := range fences {
		var fence int64
		found, err := w.one(fenceNow, []any{app, want.Key}, &fence)
		if err != nil {
			return err
		}
		if !found || fence != want.Fence {
			return storage.Errorf(storage.CodeStaleFence, "section %s has moved on from fence %d", spell.Quote(want.Key), want.Fence)
		}
	}
	return nil
}

// require judges one requirement; the head is judged last, by apply.
func require(w *work, app string, r storage.Requirement) error {
	switch r := r.(type) {
	case storage.RequireRole:
		there, err := roleExists(w, app, r.ID)
		if err == nil && !there {
			err = seam.Absent("role", r.ID)
		}
		return err
	case storage.RequireRecord:
		version, err := recordVersion(w, app, r.Collection, r.ID)
		switch {
		case err != nil:
			return err
		case version == 0:
			return storage.Errorf(storage.CodeConflict, "record %s does not exist", spell.Quote(r.ID))
		case version != r.Version:
			return seam.Moved(version, "record %s is at version %d, not %d", spell.Quote(r.ID), version, r.Version)
		}
		return nil
	case storage.RequireHead:
		return nil
	}
	return storage.Errorf(storage.CodeValidation, "%T is no requirement", r)
}

// recordVersion is 0 for an absent record.
func recordVersion(w *work, app, collection, id string) (version int64, err error) {
	_, err = w.one(recordNow, []any{app, collection, id}, &version)
	return version, err
}

// roleExists reports whether a role is there.
func roleExists(w *work, app, id string) (bool, error) {
	var there int
	return w.one(roleThere, []any{app, id}, &there)
}

// expected finds a request that a change may touch.
func expected(w *work, app, id string, mustExist bool, expect *storage.RequestExpect) error {
	row, found, err := rowOf(w, requests.Scan, requests.get, app, id)
	switch {
	case err != nil:
		return err
	case !found && mustExist:
		return seam.Absent("request", id)
	case found && expect != nil && (row.State != expect.State || row.StageIndex != expect.StageIndex):
		return storage.Errorf(storage.CodeConflict, "request %s is %s at stage %d, not %s at stage %d",
			spell.Quote(id), spell.Echo(string(row.State)), row.StageIndex, spell.Echo(string(expect.State)), expect.StageIndex)
	}
	return nil
}

// expectVersion compares the version of a head row, 0 for none.
func expectVersion(w *work, app, now, what string, expect *int64) error {
	if expect == nil {
		return nil
	}
	var current int64
	if _, err := w.one(now, []any{app}, &current); err != nil {
		return err
	}
	if current != *expect {
		return seam.Moved(current, "%s is at version %d, not %d", what, current, *expect)
	}
	return nil
}

func expectRecord(w *work, app, collection, id string, expect int64) error {
	current, err := recordVersion(w, app, collection, id)
	if err == nil && current != expect {
		err = seam.Moved(current, "record %s is at version %d, not %d", spell.Quote(id), current, expect)
	}
	return err
}
