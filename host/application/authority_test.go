package application_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/internal/lacking"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

func authorityRecord(t testing.TB, s storage.Store) storage.Record {
	t.Helper()
	row, found, err := s.GetRecord(context.Background(), "system", "authority")
	must(t, err)
	if !found {
		t.Fatal("no authority record")
	}
	return row
}

func moveAuthority(t testing.TB, s storage.Store, data string) {
	t.Helper()
	row := authorityRecord(t, s)
	row.Data = json.RawMessage(data)
	_, err := s.Commit(context.Background(), storage.Commit{ID: data, At: now, Changes: []storage.Change{storage.PutRecord{Record: row, Expect: row.Version}}})
	must(t, err)
}

func TestTheOptionIsOnlyTheFirstValueOfAuthority(t *testing.T) {
	store := openStore(t)
	if app := newApp(t, application.Options{Store: store, OrgRoot: ptr(false)}); app.OrgRoot() {
		t.Error("the first value was not taken")
	}
	record := authorityRecord(t, store)
	if got := string(record.Data); got != `{"orgRoot":false,"source":""}` || record.Version != 1 {
		t.Errorf("stored %s at version %d", got, record.Version)
	}
	app := newApp(t, application.Options{Store: store, OrgRoot: ptr(true)})
	capabilities, err := app.Capabilities(t.Context())
	must(t, err)
	if app.OrgRoot() || capabilities.OrgRoot {
		t.Error("the option overruled the record")
	}
}

func TestWithoutRecordsTheOptionDecides(t *testing.T) {
	store := lacking.Store(openStore(t), storage.CapRecords)
	newApp(t, application.Options{Store: store, OrgRoot: ptr(false)})
	app := newApp(t, application.Options{Store: store})
	if !app.OrgRoot() {
		t.Error("the default is not the org root")
	}
	must(t, createRole(provider.RoleInput{Name: "r"})(t.Context(), app))
}

func TestAWriteThatHasNotHeardOfAMoveIsRefused(t *testing.T) {
	for _, c := range []struct {
		sentence, record string
		code             authz.Code
		message          string
	}{
		{"authority went elsewhere", `{"orgRoot":false,"source":"mesh:7"}`, authz.CodeNotOrgRoot, "a role definition is organizational-domain data: this Application is not the org root and holds it as a read model"},
		{"authority is moving", `{"orgRoot":true,"source":"","moving":"p1"}`, authz.CodeConflict, "the organization is being moved"},
		{"authority stayed, the record moved", `{"orgRoot":true,"source":"hosted","position":4}`, "", ""},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			store := openStore(t)
			app := newApp(t, application.Options{Store: store})
			moveAuthority(t, store, c.record)
			before := everything(t, store)
			for range 2 { // once as the stale object, once having heard
				_, err := app.CreateRole(t.Context(), provider.RoleInput{ID: ptr("r"), Name: "r"}, root)
				if c.code == "" {
					must(t, err)
					return
				}
				if authz.CodeOf(err) != c.code || err.Error() != c.message {
					t.Fatalf("got %v", err)
				}
			}
			if diff := cmp.Diff(before, everything(t, store), unexported); diff != "" {
				t.Error(diff)
			}
			must(t, createGrant(provider.GrantInput{Subject: "everyone", Pattern: "docs.*", Scope: "docs.doc:1"})(t.Context(), app))
		})
	}
}

func TestAWriteAfterAMoveThatWasTakenBackGoesThrough(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store})
	moveAuthority(t, store, `{"orgRoot":true,"source":"","moving":"p1"}`)
	create := createRole(provider.RoleInput{ID: ptr("r"), Name: "r"})
	if err := create(t.Context(), app); authz.CodeOf(err) != authz.CodeConflict {
		t.Fatal(err)
	}
	moveAuthority(t, store, `{"orgRoot":true,"source":""}`)
	must(t, create(t.Context(), app))
}

func TestASlowReadOfAuthorityDoesNotUndoAFasterOne(t *testing.T) {
	store := &faulty{Store: openStore(t)}
	app := newApp(t, application.Options{Store: store})
	stored := func() bool {
		t.Helper()
		orgRoot, err := app.StoredOrgRoot(t.Context())
		must(t, err)
		return orgRoot
	}
	store.recordRead = func() { // with the record of before in hand
		store.recordRead = nil
		moveAuthority(t, store, `{"orgRoot":false,"source":"mesh:7"}`)
		if stored() {
			t.Error("the faster read did not see the move")
		}
	}
	if stored() {
		t.Error("the slow read put the earlier record back")
	}
}

func TestASnapshotDoesNotUndoALaterMove(t *testing.T) {
	store := &faulty{Store: openStore(t)}
	app := newApp(t, application.Options{Store: store})
	store.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
		store.commit = nil
		result, err := store.Store.Commit(ctx, c)
		moveAuthority(t, store, `{"orgRoot":true,"source":"mesh:7"}`)
		if orgRoot, err := app.StoredOrgRoot(ctx); err != nil || !orgRoot {
			t.Errorf("the later move was not seen: %v", err)
		}
		return result, err
	}
	must(t, app.ApplyOrgSnapshot(t.Context(), applying(noOrg(), func(in *provider.ApplyOrgSnapshotInput) { in.Authority = ptr(false) })))
	must(t, createRole(provider.RoleInput{Name: "r"})(t.Context(), app)) // gated by what the application holds
}

func TestAnAuthorityRecordThatVanishedWithItsStoreIsStoredAnew(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store})
	_, err := store.Commit(t.Context(), storage.Commit{ID: "lost", At: now, Changes: []storage.Change{
		storage.DeleteRecord{Collection: "system", ID: "authority", Expect: 1}}})
	must(t, err)
	must(t, createRole(provider.RoleInput{Name: "r"})(t.Context(), app))
	if got := string(authorityRecord(t, store).Data); got != `{"orgRoot":true,"source":""}` {
		t.Errorf("stored %s", got)
	}
}

func TestAnAuthorityRecordThatCannotBeReadOpensNothing(t *testing.T) {
	store := openStore(t)
	newApp(t, application.Options{Store: store})
	moveAuthority(t, store, `{"orgRoot":"yes"}`)
	_, err := application.New(t.Context(), application.Options{Store: store, Catalog: testCatalogBuilt(t)})
	var fault *application.StorageFault
	if !errors.As(err, &fault) {
		t.Fatalf("got %v, want a fault", err)
	}
}

func TestConstructionRefusesWhatItCannotKeep(t *testing.T) {
	store := openStore(t)
	without := func(c storage.Capability) storage.Store {
		return lacking.Store(store, c)
	}
	c := testCatalogBuilt(t)
	for sentence, o := range map[string]struct {
		options application.Options
		code    authz.Code
	}{
		"a catalog is required":                    {application.Options{Store: store}, authz.CodeValidation},
		"storage is required":                      {application.Options{Catalog: c}, authz.CodeValidation},
		"retention is not negative":                {application.Options{Catalog: c, Store: store, EventRetention: application.EventRetention{MaxAge: -1}}, authz.CodeValidation},
		"retained rows are not negative":           {application.Options{Catalog: c, Store: store, EventRetention: application.EventRetention{MaxRows: -1}}, authz.CodeValidation},
		"events are not persisted without a log":   {application.Options{Catalog: c, Store: without(storage.CapEvents), PersistEvents: ptr(true)}, authz.CodeUnsupported},
		"ancestry is not recorded without a place": {application.Options{Catalog: c, Store: without(storage.CapAncestry), Ancestry: application.Stored(store)}, authz.CodeUnsupported},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := application.New(t.Context(), o.options)
			isRefused(o.code)(t, err)
		})
	}
}
