package application_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/internal/lacking"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/catalog"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

func asUnavailable(err error) *authz.UnavailableError {
	var down *authz.UnavailableError
	if errors.As(err, &down) {
		return down
	}
	return nil
}

func exported(t *testing.T, list iter.Seq2[access.UserEntitlements, error]) []string {
	t.Helper()
	ids := []string{}
	for _, u := range rows(t, list) {
		ids = append(ids, u.UserID)
	}
	return ids
}

func TestDefaultCandidatesAreStoredUsersAndThoseThatGrantsNameAscending(t *testing.T) {
	store := openStore(t)
	grant := func(id, subject string, expires authz.Expiry) storage.Change {
		return storage.InsertGrant{Grant: authz.Grant{ID: id, Subject: subject, Pattern: "docs.*", Scope: "*", ExpiresAt: expires, Provenance: root}}
	}
	_, err := store.Commit(t.Context(), storage.Commit{ID: "rows", At: now, Changes: []storage.Change{
		storage.UpsertUser{User: authz.User{UserID: "m", Active: true}},
		storage.UpsertUser{User: authz.User{UserID: "b"}},
		storage.UpsertUser{User: authz.User{UserID: "é", Active: true}},
		grant("1", "user:z", authz.Expiry{}), grant("2", "user:a", authz.ExpiresAt(1)), grant("3", "user:b", authz.Expiry{}),
		grant("4", "user:c", authz.Expiry{}), grant("5", "user:c", authz.Expiry{}), grant("6", "user:group:g", authz.Expiry{}),
		grant("7", "group:g", authz.Expiry{}), grant("8", "service:s", authz.Expiry{}), grant("9", "everyone", authz.Expiry{}),
		grant("a", "directs:d", authz.Expiry{}), grant("b", "nonsense", authz.Expiry{}),
	}})
	must(t, err)
	app := newApp(t, application.Options{Store: store})
	if diff := cmp.Diff([]string{"a", "b", "c", "group:g", "m", "z", "é"}, exported(t, app.ExportEntitlements(t.Context(), nil))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	given := []string{"z", "nobody", "a"}
	list := app.ExportEntitlements(t.Context(), &given)
	given[0] = "m" // the caller's list stays the caller's
	for range 2 {
		if diff := cmp.Diff([]string{"z", "nobody", "a"}, exported(t, list)); diff != "" {
			t.Errorf("given ids keep their order, also when the list is walked again (-want +got):\n%s", diff)
		}
	}
	if got := exported(t, app.ExportEntitlements(t.Context(), &[]string{})); len(got) != 0 {
		t.Errorf("an empty list asks about nobody, not about everybody: %v", got)
	}
	for range app.ExportEntitlements(t.Context(), nil) {
		break
	}
}

func TestAUserWithNothingIsExportedWithEmptyLists(t *testing.T) {
	app := newApp(t, application.Options{})
	got, err := json.Marshal(rows(t, app.ExportEntitlements(t.Context(), &[]string{"u"})))
	must(t, err)
	want := `[{"userId":"u","active":true,"closure":["user:u","everyone"],"entitlements":[],"revokes":[]}]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestReviewsRefuseIdsThatNameNobody(t *testing.T) {
	app := newApp(t, application.Options{})
	for name, id := range map[string]string{"empty": "", "too long": strings.Repeat("x", 1025), "not UTF-8": "\xff", "NUL": "a\x00"} {
		_, exportErr := firstOf(app.ExportEntitlements(t.Context(), &[]string{"u", id}))
		_, sodErr := firstOf(app.ListSodViolations(t.Context(), &[]string{"u", id}))
		for _, err := range []error{exportErr, sodErr} {
			if authz.CodeOf(err) != authz.CodeValidation || !strings.Contains(err.Error(), "userIds") {
				t.Errorf("%s: got %v", name, err)
			}
		}
	}
}

func firstOf[Row any](list iter.Seq2[Row, error]) (Row, error) {
	for row, err := range list {
		return row, err
	}
	var none Row
	return none, nil
}

// broken is a store whose lists end in an outage.
type broken struct {
	storage.Store
	users, grants, roles, versions bool
}

func failing[Row any](list iter.Seq2[Row, error], fails bool) iter.Seq2[Row, error] {
	if !fails {
		return list
	}
	return func(yield func(Row, error) bool) {
		for row, err := range list {
			if !yield(row, err) {
				return
			}
		}
		var none Row
		yield(none, storage.Unavailable("", nil, driverText))
	}
}

func (s *broken) ListUsers(ctx context.Context, f storage.UserFilter, p storage.Page) iter.Seq2[authz.User, error] {
	return failing(s.Store.ListUsers(ctx, f, p), s.users && f.HasManager == nil)
}

func (s *broken) ListUserIDs(ctx context.Context, prefix string, p storage.Page) iter.Seq2[string, error] {
	return failing(s.Store.ListUserIDs(ctx, prefix, p), s.users)
}

func (s *broken) ListGrants(ctx context.Context, f storage.GrantFilter, p storage.Page) iter.Seq2[authz.Grant, error] {
	return failing(s.Store.ListGrants(ctx, f, p), s.grants)
}

func (s *broken) ListRoles(ctx context.Context, p storage.Page) iter.Seq2[authz.Role, error] {
	return failing(s.Store.ListRoles(ctx, p), s.roles)
}

func (s *broken) ListCatalogVersions(ctx context.Context) iter.Seq2[storage.CatalogVersion, error] {
	return failing(s.Store.ListCatalogVersions(ctx), s.versions)
}

// ends checks that a list ends in an outage, told without the driver's text.
func ends[Row any](t *testing.T, what string, list iter.Seq2[Row, error]) {
	t.Helper()
	var last error
	for _, err := range list {
		if last != nil {
			t.Errorf("%s went on after its error", what)
		}
		last = err
	}
	if asUnavailable(last) == nil || strings.Contains(last.Error(), driverText) {
		t.Errorf("%s ended with %v", what, last)
	}
}

func TestAnOutageEndsAReviewAndIsNeverAShortOne(t *testing.T) {
	store := openStore(t)
	dutyRows(t, store)
	_, err := store.Commit(t.Context(), storage.Commit{ID: "one of whom no grant is", At: now, Changes: []storage.Change{
		storage.InsertRevoke{Revoke: authz.Revoke{ID: "r", UserID: "revoked", Pattern: "app.*", Scope: "*", Provenance: root}}}})
	must(t, err)
	open := func(s storage.Store) *application.Application { return dutiesApp(t, s, application.SoDOff) }
	publishKeys(t, open(store), "app.pay.create")
	publishKeys(t, open(store), "app.pay.create", "app.pay.approve")
	unread := &faulty{Store: store, readAccess: func(context.Context, storage.AccessQuery) (storage.Access, error) {
		return storage.Access{}, storage.Unavailable("", nil, driverText)
	}}
	for what, s := range map[string]storage.Store{
		"without users": &broken{Store: store, users: true}, "without grants": &broken{Store: store, grants: true}, "without rows": unread,
	} {
		ends(t, "the report "+what, open(s).ListSodViolations(t.Context(), nil))
		ends(t, "the export "+what, open(s).ExportEntitlements(t.Context(), nil))
		_, sodErr := open(s).ReviewSodViolations(t.Context(), provider.ReviewQuery{})
		_, exportErr := open(s).ReviewEntitlements(t.Context(), provider.ReviewQuery{})
		for _, err := range []error{sodErr, exportErr} {
			if asUnavailable(err) == nil {
				t.Errorf("a page %s: %v", what, err)
			}
		}
	}
	ends(t, "the versions", open(&broken{Store: store, versions: true}).ListCatalogVersions(t.Context()))
	for what, s := range map[string]storage.Store{"without roles": &broken{Store: store, roles: true}, "without grants": &broken{Store: store, grants: true}} {
		report, err := open(s).ListWildcardDrift(t.Context(), 1)
		must(t, err)
		ends(t, "the drift "+what, report.Findings)
		if _, err := open(s).ReviewWildcardDrift(t.Context(), provider.DriftQuery{SinceVersion: 1}); asUnavailable(err) == nil {
			t.Errorf("a page of the drift %s: %v", what, err)
		}
	}
}

func TestWithoutConstraintsNobodyIsReadAndNobodyReported(t *testing.T) {
	app := newApp(t, application.Options{Store: &broken{Store: openStore(t), users: true, grants: true}})
	if got := rows(t, app.ListSodViolations(t.Context(), nil)); len(got) != 0 {
		t.Error(got)
	}
}

func publishKeys(t *testing.T, app *application.Application, keys ...string) {
	t.Helper()
	leaves := []map[string]string{}
	for _, k := range keys {
		leaves = append(leaves, map[string]string{"key": k})
	}
	document, err := json.Marshal(map[string]any{"formatVersion": 1, "namespace": "app", "namespaces": []string{"app"},
		"leaves": leaves, "groups": []any{}, "scopeTypes": []any{}, "navigation": []any{}})
	must(t, err)
	_, err = app.PublishCatalog(t.Context(), document, root)
	must(t, err)
}

func TestDriftAndVersionsNeedHistory(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: lacking.Store(store, storage.CapHistory)})
	publishKeys(t, app, "app.a.b")
	const message = "this storage driver retains no catalog history"
	_, driftErr := app.ListWildcardDrift(t.Context(), 1)
	_, listErr := firstOf(app.ListCatalogVersions(t.Context()))
	for _, err := range []error{driftErr, listErr} {
		if authz.CodeOf(err) != authz.CodeUnsupported || !strings.HasPrefix(err.Error(), message) {
			t.Errorf("got %v", err)
		}
	}
}

func TestDriftIsReportedAgainstARetainedVersion(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store})
	if got := rows(t, app.ListCatalogVersions(t.Context())); len(got) != 0 {
		t.Error(got)
	}
	drift := func(since int64) error {
		_, err := app.ListWildcardDrift(t.Context(), since)
		return err
	}
	if err := drift(1); authz.CodeOf(err) != authz.CodeNotFound {
		t.Errorf("nothing published: %v", err)
	}
	publishKeys(t, app, "app.a.b")
	publishKeys(t, app, "app.a.c")
	want := []catalog.Publication{{Version: 1, PublishedAt: now}, {Version: 2, PublishedAt: now}}
	if diff := cmp.Diff(want, rows(t, app.ListCatalogVersions(t.Context()))); diff != "" {
		t.Error(diff)
	}
	for _, since := range []int64{0, -1, 3, authz.MaxInstant} {
		if err := drift(since); authz.CodeOf(err) != authz.CodeNotFound || !strings.HasSuffix(err.Error(), "is not retained") {
			t.Errorf("since %d: %v", since, err)
		}
	}
	if err := drift(authz.MaxInstant + 1); authz.CodeOf(err) != authz.CodeValidation {
		t.Errorf("past the largest version: %v", err)
	}
	_, err := store.Commit(t.Context(), storage.Commit{ID: "torn", At: now, Changes: []storage.Change{storage.PutCatalog{Version: 3, Document: json.RawMessage(`{}`), PublishedAt: now}}})
	must(t, err)
	var fault *application.StorageFault
	if err := drift(1); !errors.As(err, &fault) {
		t.Errorf("a stored document that does not read: %v", err)
	}
}

func TestFindingsMayBeWalkedTwice(t *testing.T) {
	store := openStore(t)
	dutyRows(t, store)
	app := dutiesApp(t, store, application.SoDOff)
	publishKeys(t, app, "app.pay.create")
	publishKeys(t, app, "app.pay.create", "app.pay.approve")
	report, err := app.ListWildcardDrift(t.Context(), 1)
	must(t, err)
	first := rows(t, report.Findings)
	if len(first) != 1 || first[0].Via.Grant.ID != "s5" || !slices.Equal(first[0].GainedKeys, []string{"app.pay.approve"}) {
		t.Fatalf("findings %+v", first)
	}
	if diff := cmp.Diff(first, rows(t, report.Findings), unexported); diff != "" {
		t.Error(diff)
	}
}
