package application_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/internal/lacking"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// olderLookups has the capability lookups as it was before users were listed.
type olderLookups struct{ storage.Store }

func (olderLookups) ListUserIDs(ctx context.Context, prefix string, p storage.Page) iter.Seq2[string, error] {
	return storage.Unimplemented{}.ListUserIDs(ctx, prefix, p)
}

var listedUsers = []string{"a", "a1", "a2", "ab", "b", "b1", "é"}

// usersByDefinition are those whom any row names.
func usersByDefinition(t testing.TB, store storage.Store) (all []provider.ListedUser) {
	t.Helper()
	ctx, named := context.Background(), map[string]provider.ListedUser{}
	name := func(id string) {
		if _, known := named[id]; !known && id != "" {
			named[id] = provider.ListedUser{UserID: id, Active: true}
		}
	}
	for _, u := range rows(t, store.ListUsers(ctx, storage.UserFilter{}, storage.Page{})) {
		named[u.UserID] = provider.ListedUser{UserID: u.UserID, Active: u.Active, Stored: true}
	}
	for _, u := range rows(t, store.ListUsers(ctx, storage.UserFilter{}, storage.Page{})) {
		name(u.ManagerUserID)
	}
	for _, g := range rows(t, store.ListGrants(ctx, storage.GrantFilter{}, storage.Page{})) {
		if id, ok := strings.CutPrefix(g.Subject, "user:"); ok {
			name(id)
		}
	}
	for _, r := range rows(t, store.ListRevokes(ctx, storage.RevokeFilter{}, storage.Page{})) {
		name(r.UserID)
	}
	for _, r := range rows(t, store.ListRequests(ctx, storage.RequestFilter{}, storage.RequestPage{})) {
		name(r.RequesterUserID)
	}
	for _, u := range named {
		all = append(all, u)
	}
	slices.SortFunc(all, func(a, b provider.ListedUser) int { return strings.Compare(a.UserID, b.UserID) })
	return all
}

// Pages of users of any size and filter, put together, are those whom rows name; also over
// a driver that cannot list them.
func TestListedUsersAreThoseWhomRowsName(test *testing.T) {
	rapid.Check(test, func(t *rapid.T) {
		store := openStore(test)
		user := rapid.SampledFrom(listedUsers)
		commit := storage.Commit{ID: "c", At: now}
		for i := range rapid.IntRange(0, 12).Draw(t, "rows") {
			id, row := string(rune('A'+i)), user.Draw(t, "user")
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				commit.Changes = append(commit.Changes, storage.UpsertUser{User: authz.User{UserID: row, Active: rapid.Bool().Draw(t, "active"), ManagerUserID: rapid.SampledFrom(append(listedUsers, "")).Draw(t, "manager")}})
			case 1:
				commit.Changes = append(commit.Changes, storage.InsertGrant{Grant: authz.Grant{ID: id, Subject: "user:" + row, Pattern: "docs.*", Scope: "*", Provenance: root}})
			case 2:
				commit.Changes = append(commit.Changes, storage.InsertGrant{Grant: authz.Grant{ID: id, Subject: rapid.SampledFrom([]string{"group:a1", "everyone", "directs:b1"}).Draw(t, "subject"), Pattern: "docs.*", Scope: "*", Provenance: root}})
			case 3:
				commit.Changes = append(commit.Changes, storage.InsertRevoke{Revoke: authz.Revoke{ID: id, UserID: row, Pattern: "docs.*", Scope: "*", Provenance: root}})
			case 4:
				commit.Changes = append(commit.Changes, storage.InsertRequest{Request: authz.Request{ID: id, RequesterUserID: row, RoleID: "r", Scope: "*", State: authz.RequestPending}})
			}
		}
		_, err := store.Commit(test.Context(), commit)
		must(test, err)
		q := provider.UserQuery{Prefix: rapid.SampledFrom([]string{"", "a", "a1", "b", "c", "é"}).Draw(t, "prefix"), Stored: rapid.Bool().Draw(t, "stored")}
		if rapid.Bool().Draw(t, "by activity?") {
			q.Active = ptr(rapid.Bool().Draw(t, "wanted"))
		}
		var want []provider.ListedUser
		for _, u := range usersByDefinition(test, store) {
			if strings.HasPrefix(u.UserID, q.Prefix) && (u.Stored || !q.Stored) && (q.Active == nil || u.Active == *q.Active) {
				want = append(want, u)
			}
		}
		switch rapid.IntRange(0, 2).Draw(t, "driver") {
		case 1:
			store = lacking.Store(store, storage.CapLookups)
		case 2:
			store = olderLookups{store}
		}
		app := newApp(test, application.Options{Store: store})
		q.Limit = rapid.IntRange(0, 3).Draw(t, "limit")
		var got []provider.ListedUser
		for {
			page := rows(test, app.ListUsers(test.Context(), q))
			if q.Limit > 0 && len(page) > q.Limit {
				t.Fatalf("a page of %d has %d", q.Limit, len(page))
			}
			if got = append(got, page...); q.Limit == 0 || len(page) < q.Limit {
				break
			}
			q.After = page[len(page)-1].UserID
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("users (-want +got):\n%s", diff)
		}
	})
}

// Pages of recorded scopes of any size and filter, put together, are those that are
// recorded.
func TestListedScopesAreThoseThatAreRecorded(test *testing.T) {
	scopes := []string{"docs.doc:1", "docs.doc:10", "docs.doc:2", "docs.folder:1", "docs.folder:2"}
	rapid.Check(test, func(t *rapid.T) {
		store, recorded := openStore(test), map[string][]string{}
		commit := storage.Commit{ID: "c", At: now}
		for _, scope := range rapid.SliceOfNDistinct(rapid.SampledFrom(scopes), 0, -1, rapid.ID).Draw(t, "scopes") {
			parents := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"docs.folder:1", "docs.folder:2"}), 0, 2, rapid.ID).Draw(t, "parents")
			recorded[scope] = parents
			commit.Changes = append(commit.Changes, storage.PutScopeParents{Scope: scope, Parents: parents})
		}
		_, err := store.Commit(test.Context(), commit)
		must(test, err)
		q := provider.RecordedScopeQuery{Prefix: rapid.SampledFrom([]string{"", "docs.", "docs.doc:1", "docs.doc:2", "x"}).Draw(t, "prefix"),
			Parent: rapid.SampledFrom([]string{"", "docs.folder:1", "docs.doc:1"}).Draw(t, "parent")}
		var want []provider.RecordedScope
		for _, scope := range scopes {
			if parents, ok := recorded[scope]; ok && strings.HasPrefix(scope, q.Prefix) && (q.Parent == "" || slices.Contains(parents, q.Parent)) {
				want = append(want, provider.RecordedScope{Scope: scope, Parents: append([]string{}, parents...)})
			}
		}
		app := newApp(test, application.Options{Store: store, Ancestry: application.Stored(store)})
		q.Limit = rapid.IntRange(0, 3).Draw(t, "limit")
		var got []provider.RecordedScope
		for {
			page := rows(test, app.ListRecordedScopes(test.Context(), q))
			if got = append(got, page...); q.Limit == 0 || len(page) < q.Limit {
				break
			}
			q.After = page[len(page)-1].Scope
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("scopes (-want +got):\n%s", diff)
		}
	})
	lacks := newApp(test, application.Options{Store: lacking.Store(openStore(test), storage.CapLookups), Ancestry: nil})
	if err := first(lacks.ListRecordedScopes(test.Context(), provider.RecordedScopeQuery{})); authz.CodeOf(err) != authz.CodeUnsupported {
		test.Errorf("without ancestry: %v", err)
	}
}
