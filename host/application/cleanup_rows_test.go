package application_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

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

// manyRows are 5,000 grants to a user at a scope, 3,000 revokes of theirs and 2,500 requests.
func manyRows(t *testing.T) storage.Store {
	t.Helper()
	store := openStore(t)
	c := storage.Commit{ID: "many", At: now, Changes: []storage.Change{storage.UpsertUser{User: authz.User{UserID: "u", Active: true}}}}
	for i := range 5000 {
		c.Changes = append(c.Changes, storage.InsertGrant{Grant: authz.Grant{ID: fmt.Sprintf("g%04d", i), Subject: "user:u", Pattern: "docs.*", Scope: "docs.doc:1", Provenance: root}})
	}
	for i := range 3000 {
		c.Changes = append(c.Changes, storage.InsertRevoke{Revoke: authz.Revoke{ID: fmt.Sprintf("v%04d", i), UserID: "u", Pattern: "docs.*", Scope: "docs.doc:1", Provenance: root}})
	}
	for i := range 2500 {
		c.Changes = append(c.Changes, storage.InsertRequest{Request: authz.Request{ID: fmt.Sprintf("q%04d", i), RequesterUserID: "u", Pattern: "docs.files.read", Scope: "docs.doc:1",
			State: authz.RequestPending, CreatedAt: 1}})
	}
	_, err := store.Commit(t.Context(), c)
	must(t, err)
	return store
}

var largeCleanUps = map[string]struct {
	do       func(context.Context, *application.Application) error
	requests bool // go, too
	closing  string
}{
	"deleteSubject": {deleteSubject("user:u", root), true, "subject.delete"},
	"deleteScope":   {deleteScope("docs.doc:1", root), true, "scope.delete"},
	"reconcileRows": {reconcile(provider.Reconciliation{ScopeExists: nothing(), Sweep: true, Provenance: root}), false, "reconcile.sweep"},
}

func TestALargeCleanUpGoesInPartsGrantsBeforeRevokes(t *testing.T) {
	for op, c := range largeCleanUps {
		t.Run(op, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := manyRows(t)
				f := &faulty{Store: store}
				var commits []storage.Commit
				f.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
					commits = append(commits, c)
					return store.Commit(ctx, c)
				}
				app := newApp(t, application.Options{Store: f, IDs: ascending()})
				commits = nil
				heard := 0
				app.OnInvalidate(func(authz.Event) { heard++ })
				must(t, c.do(t.Context(), app))
				revokes, closed, told := 0, 0, 0
				for i, commit := range commits {
					for _, change := range commit.Changes {
						switch change.(type) {
						case storage.DeleteGrant:
							if revokes > 0 {
								t.Fatalf("a grant goes after %d revokes", revokes)
							}
						case storage.DeleteRevoke:
							revokes++
						}
					}
					for _, e := range commit.Audit {
						if e.Action == c.closing {
							closed++
							if i < len(commits)-1 {
								t.Errorf("commit %d of %d is closed", i, len(commits))
							}
						}
					}
					if told += len(commit.Events); len(commit.Events) == 0 {
						t.Errorf("commit %d tells nobody", i)
					}
				}
				left := len(rows(t, store.ListGrants(t.Context(), storage.GrantFilter{}, storage.Page{}))) + len(rows(t, store.ListRevokes(t.Context(), storage.RevokeFilter{}, storage.Page{})))
				if len(commits) < 3 || closed != 1 || revokes != 3000 || left > 0 || heard != told {
					t.Errorf("%d commits, %d revokes, closed %d times, %d rows left, %d events heard of %d", len(commits), revokes, closed, left, heard, told)
				}
				entries := rows(t, store.ListAudit(t.Context(), storage.AuditFilter{}))
				want := map[bool]int{false: 8001, true: 10_501}[c.requests]
				if last := entries[len(entries)-1]; len(entries) != want || last.Action != c.closing || !strings.HasPrefix(string(last.Detail), `{"grants":5000,"revokes":3000`) {
					t.Errorf("%d entries, want %d, at last %s %s", len(entries), want, last.Action, last.Detail)
				}
			})
		})
	}
}

func TestALargeCleanUpThatEndedInTheMiddleIsFinishedByRepeatingIt(t *testing.T) {
	for op, c := range largeCleanUps {
		t.Run(op, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := manyRows(t)
				f := &faulty{Store: store}
				ctx, leave := context.WithCancel(t.Context())
				landed := 0
				f.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
					result, err := store.Commit(ctx, c)
					if landed += len(c.Changes); landed >= 2000 {
						leave() // within the parts of grants
					}
					return result, err
				}
				app := newApp(t, application.Options{Store: f})
				err := c.do(ctx, app)
				if isUnavailable(authz.OutcomeUnknown)(t, err); !strings.Contains(err.Error(), "stand: repeating it does the rest") {
					t.Error(err)
				}
				grants, _ := store.CountGrants(t.Context(), storage.GrantFilter{})
				if revokes := len(rows(t, store.ListRevokes(t.Context(), storage.RevokeFilter{}, storage.Page{}))); grants == 0 || grants == 5000 || revokes != 3000 {
					t.Errorf("%d grants and %d revokes stand", grants, revokes)
				}
				must(t, c.do(t.Context(), app))
				deleted := map[string]int{}
				for _, e := range rows(t, store.ListAudit(t.Context(), storage.AuditFilter{})) {
					deleted[e.Target]++
				}
				for i := range 5000 {
					if id := fmt.Sprintf("g%04d", i); deleted[id] != 1 {
						t.Fatalf("the deletion of %s is recorded %d times", id, deleted[id])
					}
				}
				if n, _ := store.CountGrants(t.Context(), storage.GrantFilter{}); n > 0 {
					t.Errorf("%d grants are left", n)
				}
			})
		})
	}
}

// TestALargeSweepLooksAgain: what came to exist after the first part is spared, and what
// others deleted is not recorded as ours.
func TestALargeSweepLooksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := manyRows(t)
		exists, landed := false, 0
		f := &faulty{Store: store}
		f.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			result, err := store.Commit(ctx, c)
			if err == nil && !exists {
				exists, landed = true, len(c.Changes)
			}
			return result, err
		}
		app := newApp(t, application.Options{Store: f})
		exists = false
		found, err := app.ReconcileRows(t.Context(), provider.Reconciliation{Sweep: true, Provenance: root,
			ScopeExists: func(context.Context, string) (bool, error) { return exists, nil }})
		must(t, err)
		if left, _ := store.CountGrants(t.Context(), storage.GrantFilter{}); landed == 0 || left != int64(5000-landed) || len(found.OrphanedGrants) != landed || len(found.OrphanedRevokes) > 0 {
			t.Errorf("%d left after %d, told %d and %d", left, landed, len(found.OrphanedGrants), len(found.OrphanedRevokes))
		}

		others := manyRows(t)
		stolen := false
		f = &faulty{Store: others}
		f.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			if first, ok := first1(c.Changes).(storage.DeleteGrant); ok && first.ID != "g0000" && !stolen {
				stolen = true
				_, err := others.Commit(ctx, storage.Commit{ID: "theirs", Changes: []storage.Change{first}})
				must(t, err)
			}
			return others.Commit(ctx, c)
		}
		found, err = newApp(t, application.Options{Store: f}).ReconcileRows(t.Context(), provider.Reconciliation{ScopeExists: nothing(), Sweep: true, Provenance: root})
		must(t, err)
		if !stolen || len(found.OrphanedGrants) != 4999 || len(found.OrphanedRevokes) != 3000 {
			t.Errorf("stolen: %v, told %d and %d", stolen, len(found.OrphanedGrants), len(found.OrphanedRevokes))
		}
	})
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
