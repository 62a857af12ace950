package application_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/internal/lacking"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

func littered(t *testing.T) (storage.Store, *application.Application) {
	t.Helper()
	store := openStore(t)
	seed(t, store)
	litter(t, store)
	return store, newApp(t, application.Options{Store: store, IDs: ascending()})
}

func TestADeletedUserLeavesHistoryAndTheEdgesOfOthers(t *testing.T) {
	store, app := littered(t)
	got, err := app.DeleteSubject(t.Context(), "user:u", root)
	must(t, err)
	if diff := cmp.Diff(provider.CleanupResult{DeletedGrants: 5, DeletedRevokes: 3}, got); diff != "" {
		t.Error(diff)
	}
	if _, found, _ := store.GetUser(t.Context(), "u"); found {
		t.Error("the record is still there")
	}
	if report, _, _ := store.GetUser(t.Context(), "report"); report.ManagerUserID != "u" {
		t.Errorf("the edge of another is %q", report.ManagerUserID)
	}
	left := rows(t, store.ListRequests(t.Context(), storage.RequestFilter{}, storage.RequestPage{}))
	if len(left) != 1 || left[0].ID != "q-old" {
		t.Errorf("requests left: %v, want the decided one", left)
	}
	again, err := app.DeleteSubject(t.Context(), "user:u", root)
	must(t, err)
	if again != (provider.CleanupResult{}) {
		t.Errorf("again: %v", again)
	}
}

func TestADeletedScopeCancelsWhatWasAskedForThere(t *testing.T) {
	store, app := littered(t)
	got, err := app.DeleteScope(t.Context(), "docs.doc:1", root)
	must(t, err)
	if diff := cmp.Diff(provider.CleanupResult{DeletedGrants: 2, DeletedRevokes: 2}, got); diff != "" {
		t.Error(diff)
	}
	q, _, err := store.GetRequest(t.Context(), "q-doc")
	must(t, err)
	other, _, err := store.GetRequest(t.Context(), "q")
	must(t, err)
	if q.State != authz.RequestCancelled || q.DecidedAt == nil || *q.DecidedAt != now || other.State != authz.RequestPending {
		t.Errorf("there %+v, elsewhere %+v", q, other)
	}
}

func TestADissolvedParentHandsDownItsGrantsAndParents(t *testing.T) {
	store, app := littered(t)
	_, err := store.Commit(t.Context(), storage.Commit{ID: "more", At: now, Changes: []storage.Change{
		storage.UpsertGroup{Group: authz.Group{ID: "d", Name: "D", Parents: []string{"x", "b", "a"}}},
		storage.InsertGrant{Grant: authz.Grant{ID: "g-late", Subject: "group:b", RoleID: "reader", Scope: "docs.doc:1", ExpiresAt: authz.ExpiresAt(now), Provenance: root}},
		storage.InsertGrant{Grant: authz.Grant{ID: "g-soon", Subject: "group:b", RoleID: "reader", Scope: "docs.doc:1", ExpiresAt: authz.ExpiresAt(now + 1), Provenance: root}},
	}})
	must(t, err)
	must(t, app.DissolveVirtualParent(t.Context(), "b", root))
	copyOf := func(id, original, subject string, g authz.Grant) authz.Grant {
		g.ID, g.Subject, g.CreatedAt = id, subject, now
		g.Provenance = authz.Provenance{Kind: authz.ProvenanceDissolution, VirtualParentID: "b", OriginalGrantID: original}
		return g
	}
	global := authz.Grant{Pattern: "docs.*", Scope: "*"}
	soon := authz.Grant{RoleID: "reader", Scope: "docs.doc:1", ExpiresAt: authz.ExpiresAt(now + 1)}
	want := map[string][]authz.Grant{
		"group:b": {},
		"group:c": {copyOf("id000001", "g-global", "group:c", global), copyOf("id000005", "g-soon", "group:c", soon)},
		"group:d": {copyOf("id000003", "g-global", "group:d", global), copyOf("id000007", "g-soon", "group:d", soon)},
	}
	for subject, grants := range want {
		held := rows(t, store.ListGrants(t.Context(), storage.GrantFilter{Subject: &subject}, storage.Page{}))
		if diff := cmp.Diff(grants, held, unexported); diff != "" {
			t.Errorf("%s:\n%s", subject, diff)
		}
	}
	for id, parents := range map[string][]string{"c": {"a"}, "d": {"x", "a"}} {
		g, _, err := store.GetGroup(t.Context(), id)
		must(t, err)
		if diff := cmp.Diff(parents, g.Parents); diff != "" {
			t.Errorf("parents of %s:\n%s", id, diff)
		}
	}
	if member, _, _ := store.GetUser(t.Context(), "member"); cmp.Diff([]string{"c"}, member.GroupIDs) != "" {
		t.Errorf("memberships left: %v", member.GroupIDs)
	}
}

func ids(grants []authz.Grant) []string {
	found := []string{}
	for _, g := range grants {
		found = append(found, g.ID)
	}
	return found
}

func TestWhatIsOrphanedAndWhatDangles(t *testing.T) {
	_, app := littered(t)
	for _, c := range []struct {
		sentence                    string
		in                          provider.Reconciliation
		orphaned, dangling, revokes []string
	}{
		{"a role that is not stored dangles without any predicate", provider.Reconciliation{}, []string{}, []string{"a-dangling"}, []string{}},
		{"users stand behind their implicit groups", provider.Reconciliation{UserExists: nothing("lost")},
			[]string{"b-orgof", "c-directs", "g-doc", "g-expired", "h-doc"}, []string{"a-dangling"}, []string{"v-doc", "v-global", "w-doc"}},
		{"orgs", provider.Reconciliation{OrgExists: nothing()}, []string{"z-org"}, []string{"a-dangling"}, []string{}},
		{"scopes, whoever the subject, and never the global one", provider.Reconciliation{ScopeExists: nothing("docs.doc:1")},
			[]string{"a-gone"}, []string{"a-dangling"}, []string{}},
		{"scopes of revokes", provider.Reconciliation{ScopeExists: nothing()}, []string{"a-gone", "g-doc", "h-doc"}, []string{"a-dangling"}, []string{"v-doc", "w-doc"}},
	} {
		found, err := app.ReconcileRows(t.Context(), c.in)
		must(t, err)
		revokes := []string{}
		for _, v := range found.OrphanedRevokes {
			revokes = append(revokes, v.ID)
		}
		if diff := cmp.Diff([][]string{c.orphaned, c.dangling, c.revokes}, [][]string{ids(found.OrphanedGrants), ids(found.DanglingRoleGrants), revokes}); diff != "" || found.Swept {
			t.Errorf("%s:\n%s", c.sentence, diff)
		}
	}
}

func TestAGrantThatIsBothOrphanedAndDanglingIsOrphaned(t *testing.T) {
	store, app := littered(t)
	_, err := store.Commit(t.Context(), storage.Commit{ID: "more", At: now, Changes: []storage.Change{
		storage.InsertGrant{Grant: authz.Grant{ID: "both", Subject: "group:gone", RoleID: "ghost", Scope: "*", Provenance: root}}}})
	must(t, err)
	found, err := app.ReconcileRows(t.Context(), provider.Reconciliation{Sweep: true, Provenance: root})
	must(t, err)
	if diff := cmp.Diff([][]string{{"both"}, {"a-dangling"}}, [][]string{ids(found.OrphanedGrants), ids(found.DanglingRoleGrants)}); diff != "" || !found.Swept {
		t.Error(diff)
	}
}

func TestAPredicateThatFailsEndsTheRun(t *testing.T) {
	down := errors.New("the directory is down")
	for _, sweep := range []bool{false, true} {
		store, app := littered(t)
		before := everything(t, store)
		asked := 0
		_, err := app.ReconcileRows(t.Context(), provider.Reconciliation{Sweep: sweep, Provenance: root,
			OrgExists: nothing(), UserExists: func(context.Context, string) (bool, error) {
				if asked++; asked > 1 {
					return false, down
				}
				return false, nil
			}})
		if !errors.Is(err, down) || asked != 2 {
			t.Errorf("sweep %t: got %v after %d questions", sweep, err, asked)
		}
		if diff := cmp.Diff(before, everything(t, store), unexported); diff != "" {
			t.Errorf("sweep %t left:\n%s", sweep, diff)
		}
	}
}

// Whoever came into being while the rows were read keeps what was given then.
func TestASweepJudgesByAnswersNewerThanTheRows(t *testing.T) {
	store, app := littered(t)
	first := true
	_, err := app.ReconcileRows(t.Context(), provider.Reconciliation{Sweep: true, Provenance: root,
		OrgExists: func(context.Context, string) (bool, error) { defer func() { first = false }(); return !first, nil }})
	must(t, err)
	if _, found, _ := store.GetGrant(t.Context(), "z-org"); !found {
		t.Error("the grant of an org that exists by now was deleted")
	}
}

// Of two who delete the same rows each is recorded once.
func TestCleanUpsThatRaceRecordEachRowOnce(t *testing.T) {
	for range 20 {
		store, app := littered(t)
		for _, err := range race(
			func() error { return deleteSubject("user:u", root)(context.Background(), app) },
			func() error { return deleteScope("docs.doc:1", root)(context.Background(), app) },
			func() error {
				return reconcile(provider.Reconciliation{UserExists: nothing(), Sweep: true, Provenance: root})(context.Background(), app)
			}) {
			must(t, err)
		}
		recorded := map[string]int{}
		for _, e := range rows(t, store.ListAudit(t.Context(), storage.AuditFilter{})) {
			if e.Action == "grant.delete" || e.Action == "revoke.delete" {
				recorded[e.Target]++
			}
		}
		for id, n := range recorded {
			if n != 1 {
				t.Fatalf("the deletion of %s is recorded %d times", id, n)
			}
		}
		if left := rows(t, store.ListGrants(t.Context(), storage.GrantFilter{}, storage.Page{})); len(left)+len(recorded) != 13 {
			t.Fatalf("%d recorded, left %v", len(recorded), ids(left))
		}
	}
}

func TestACleanUpOverTheLimitIsRefusedWhole(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store})
	for page := range 6 {
		c := storage.Commit{ID: fmt.Sprint("many", page), At: now}
		for i := range 10_000 {
			c.Changes = append(c.Changes, storage.InsertGrant{Grant: authz.Grant{ID: fmt.Sprint(page, "-", i), Subject: "everyone", Pattern: "docs.*", Scope: "docs.doc:1", Provenance: root}})
		}
		_, err := store.Commit(t.Context(), c)
		must(t, err)
	}
	for op, do := range map[string]func(context.Context, *application.Application) error{
		"deleteSubject": deleteSubject("everyone", root), "deleteScope": deleteScope("docs.doc:1", root),
		"reconcileRows": reconcile(provider.Reconciliation{ScopeExists: nothing(), Sweep: true, Provenance: root}),
	} {
		err := do(t.Context(), app)
		if authz.CodeOf(err) != authz.CodeValidation || err.Error() != op+" is too large for one write" {
			t.Errorf("%s: got %v", op, err)
		}
	}
	if n, _ := store.CountGrants(t.Context(), storage.GrantFilter{}); n != 60_000 {
		t.Errorf("%d grants left", n)
	}
}

func TestWithoutManifestsBothOperationsAreUnsupported(t *testing.T) {
	app := newApp(t, application.Options{Store: lacking.Store(openStore(t), storage.CapImports)})
	_, err := app.GetPublishedImports(t.Context())
	for _, err := range []error{err, publishImports(`{}`)(t.Context(), app)} {
		isRefused(authz.CodeUnsupported)(t, err)
	}
	c, err := app.Capabilities(t.Context())
	must(t, err)
	if c.Imports {
		t.Error("told to store manifests")
	}
}
