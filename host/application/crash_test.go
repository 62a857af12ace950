package application_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// rehearsed fails when an operation that writes is missing from the table.
func rehearsed[Do any](t *testing.T, table map[string]Do) {
	t.Helper()
	want := []string{"importDirectory", "reconcileRows", "notifyScopeMoved"}
	for _, op := range provider.Operations {
		if op.Kind == provider.Write {
			want = append(want, op.Op)
		}
	}
	for _, op := range want {
		if _, ok := table[op]; !ok {
			t.Errorf("%s is not rehearsed", op)
		}
	}
}

// crashWrites is one write of each operation on the seed with its litter.
var crashWrites = map[string]func(context.Context, *application.Application) error{
	"createGrant": createGrant(provider.GrantInput{Subject: "user:u", RoleID: "reader"}),
	"createGrants": func(ctx context.Context, a *application.Application) error {
		_, err := a.CreateGrants(ctx, []provider.GrantInput{{Subject: "user:u", RoleID: "reader"}, {Subject: "everyone", Pattern: "docs.*"}}, root)
		return err
	},
	"deleteGrant": func(ctx context.Context, a *application.Application) error {
		return a.DeleteGrant(ctx, "g-global", root)
	},
	"changeGrants": changeGrants(provider.GrantsChange{Delete: []string{"g-global"}, Expire: []provider.GrantExpiry{{GrantID: "g-doc", ExpiresAt: ptr(now + 9)}},
		Create: []provider.GrantInput{{Subject: "user:u", RoleID: "reader"}, {Subject: "everyone", Pattern: "docs.*"}}}),
	"createRevoke": createRevoke(provider.RevokeInput{UserID: "u", Pattern: "docs.*"}),
	"deleteRevoke": func(ctx context.Context, a *application.Application) error {
		return a.DeleteRevoke(ctx, "v-global", root)
	},
	"deleteSubject": deleteSubject("user:u", root),
	"deleteScope":   deleteScope("docs.doc:1", root),
	"reconcileRows": reconcile(provider.Reconciliation{UserExists: nothing(), Sweep: true, Provenance: root}),
	"createRole":    createRole(provider.RoleInput{Name: "r", Patterns: []string{"docs.*"}}),
	"updateRole": func(ctx context.Context, a *application.Application) error {
		_, err := a.UpdateRole(ctx, "reader", provider.RoleUpdate{Patterns: &[]string{"docs.*"}}, root)
		return err
	},
	"deleteRole":  func(ctx context.Context, a *application.Application) error { return a.DeleteRole(ctx, "none", root) },
	"createGroup": createGroup(provider.GroupInput{Name: "g", Parents: []string{"a"}}),
	"updateGroup": func(ctx context.Context, a *application.Application) error {
		_, err := a.UpdateGroup(ctx, "a", provider.GroupUpdate{Name: ptr("x")}, root)
		return err
	},
	"setGroupParents":       setParents("c", "a", "b"),
	"deleteGroup":           func(ctx context.Context, a *application.Application) error { return a.DeleteGroup(ctx, "b", root) },
	"dissolveVirtualParent": dissolve("b", root),
	"setGroupMembership": func(ctx context.Context, a *application.Application) error {
		return a.SetGroupMembership(ctx, "u", []string{"c"}, root)
	},
	"changeGroupMembership": changeMembership("u", provider.MembershipChange{Add: []string{"c"}, Remove: []string{"a"}}),
	"setUserActive": func(ctx context.Context, a *application.Application) error {
		return a.SetUserActive(ctx, "u", false, root)
	},
	"setReportingEdge": func(ctx context.Context, a *application.Application) error {
		return a.SetReportingEdge(ctx, "u", "chief", root)
	},
	"publishCatalog":  publish(`{"formatVersion":1,"namespace":"docs","namespaces":["docs"],"leaves":[],"groups":[],"scopeTypes":[],"navigation":[]}`),
	"publishImports":  publishImports(`{"formatVersion":1,"namespace":"docs","imports":[]}`),
	"setScopeParents": setScopeParents(under("docs.folder:1", "docs.folder:2"), under("docs.doc:1", "docs.folder:1")),
	"notifyScopeMoved": func(ctx context.Context, a *application.Application) error {
		return a.NotifyScopeMoved(ctx, "docs.doc:1")
	},
	"importDirectory": importing(directory.Snapshot{
		Groups: []directory.Group{{ID: "a", Name: "A", Parents: []string{"b"}}}, Memberships: map[string][]string{"u": {"a"}},
		ReportingEdges: map[string]string{"u": "chief"}, Orgs: map[string][]string{"u": {"o"}}, Users: []directory.User{{UserID: "new"}}}),
	"submitRequest": asking(provider.RequestInput{RequesterUserID: "u", RoleID: "jit"}),
	"decideRequest": deciding("q", provider.DecisionInput{DeciderUserID: "ann", Decision: authz.DecisionApproved}),
	"cancelRequest": cancelling("q", "u"),
	"reportMetrics": func(ctx context.Context, a *application.Application) error {
		return a.ReportMetrics(ctx, counted(now, matched("g-global", 2), matched("g-doc", 1)))
	},
	"applyOrgSnapshot": func(ctx context.Context, a *application.Application) error {
		return a.ApplyOrgSnapshot(ctx, applying(org(), func(in *provider.ApplyOrgSnapshotInput) { in.Authority = ptr(false) }))
	},
}

// sentOnce are the writes that no commit id makes recognisable: of an unknown
// outcome they are not sent again.
var sentOnce = map[string]bool{"reportMetrics": true}

// stage adds what crashWrites need beside the seed: who may decide, and a role
// whose request is granted at once.
func stage(t testing.TB, store storage.Store) {
	t.Helper()
	_, err := store.Commit(context.Background(), storage.Commit{ID: "stage", At: now, Changes: []storage.Change{
		storage.UpsertRole{Role: authz.Role{ID: "jit", Name: "JIT", Patterns: []string{"docs.files.read"}, Requestable: &authz.Requestable{Stages: stages(met)}}},
		storage.InsertGrant{Grant: authz.Grant{ID: "g-ann", Subject: "user:ann", RoleID: "approver", Scope: "*", Provenance: root}},
	}})
	must(t, err)
}

// remaining is everything, with what is stored beside rows.
func remaining(t testing.TB, store storage.Store) map[string]any {
	t.Helper()
	found := everything(t, store)
	found["authority"] = string(authorityRecord(t, store).Data)
	found["usage"] = rows(t, store.ReadMetrics(context.Background(), storage.MetricFilter{Dimension: "grant"}))
	return found
}

// afterCrash is what a second application finds in the store, and what the first
// one told its listeners.
type afterCrash struct {
	Stored map[string]any
	Access []authz.SubjectAccess
	Chain  authz.HashChainReport
	Heard  []authz.Event
}

// crash performs one write over a store that fails as fault says. fault gets the
// number of the sending, and the end of the caller's patience.
func crash(t *testing.T, do func(context.Context, *application.Application) error,
	fault func(n int, apply func() (storage.CommitResult, error), leave func()) (storage.CommitResult, error)) (afterCrash, error) {
	t.Helper()
	store := openStore(t)
	seed(t, store)
	litter(t, store)
	stage(t, store)
	f := &faulty{Store: store}
	options := application.Options{Store: resending(t, f), IDs: ascending(), HashChain: true, Metrics: &application.Metrics{}}
	app := newApp(t, options)
	var after afterCrash
	app.OnInvalidate(func(e authz.Event) { after.Heard = append(after.Heard, e) })
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	sent := 0
	f.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
		sent++
		return fault(sent, func() (storage.CommitResult, error) { return store.Commit(context.WithoutCancel(ctx), c) }, leave)
	}
	f.recordMetrics = func(ctx context.Context, deltas []storage.MetricBucket) error {
		sent++
		_, err := fault(sent, func() (storage.CommitResult, error) {
			return storage.CommitResult{}, store.RecordMetrics(context.WithoutCancel(ctx), deltas)
		}, leave)
		return err
	}
	err := do(ctx, app)

	second := newApp(t, application.Options{Store: store})
	after.Stored = remaining(t, store)
	for _, user := range []string{"u", "member", "report", "new"} {
		access, err := second.GetSubjectAccess(t.Context(), authz.UserPrincipal(user))
		must(t, err)
		after.Access = append(after.Access, access)
	}
	var verifyErr error
	after.Chain, verifyErr = second.VerifyAuditChain(t.Context(), "")
	must(t, verifyErr)
	return after, err
}

type sending = func(n int, apply func() (storage.CommitResult, error), leave func()) (storage.CommitResult, error)

func TestAWriteThatDiesAtItsCommitIsThereWholeOrNotAtAll(t *testing.T) {
	rehearsed(t, crashWrites)
	lost := func() (storage.CommitResult, error) { return storage.CommitResult{}, unknownOutcome() }
	cases := []struct {
		sentence string
		sending  sending
		applied  bool
		heard    bool                    // also what may have been applied: caches must not outlive it
		check    func(*testing.T, error) // nil: the write succeeds
	}{
		{"it never left, and the driver says so", func(int, func() (storage.CommitResult, error), func()) (storage.CommitResult, error) {
			return storage.CommitResult{}, storage.Unavailable(authz.OutcomeNotApplied, nil, driverText)
		}, false, false, isUnavailable(authz.OutcomeNotApplied)},
		{"it was lost on its way, again and again", func(n int, _ func() (storage.CommitResult, error), leave func()) (storage.CommitResult, error) {
			if n == 2 {
				leave()
			}
			return lost()
		}, false, true, isUnavailable(authz.OutcomeUnknown)},
		{"it was applied, and nobody ever said so", func(n int, apply func() (storage.CommitResult, error), leave func()) (storage.CommitResult, error) {
			if n == 1 {
				if _, err := apply(); err != nil {
					return storage.CommitResult{}, err
				}
			} else {
				leave()
			}
			return lost()
		}, true, true, isUnavailable(authz.OutcomeUnknown)},
		{"it was applied, and the second sending is told so", func(n int, apply func() (storage.CommitResult, error), _ func()) (storage.CommitResult, error) {
			result, err := apply()
			if n == 1 && err == nil {
				return lost()
			}
			return result, err
		}, true, true, nil},
	}
	for op, do := range crashWrites {
		undisturbed, err := crash(t, do, func(_ int, apply func() (storage.CommitResult, error), _ func()) (storage.CommitResult, error) {
			return apply()
		})
		if err != nil || !undisturbed.Chain.OK {
			t.Fatalf("%s: %v, chain %+v", op, err, undisturbed.Chain)
		}
		untouched, _ := crash(t, func(context.Context, *application.Application) error { return nil }, nil)
		if cmp.Equal(untouched.Stored, undisturbed.Stored, unexported) {
			t.Fatalf("%s changes nothing, so nothing is rehearsed", op)
		}
		for _, c := range cases {
			t.Run(op+": "+c.sentence, func(t *testing.T) {
				t.Parallel() // a caller who left is waited for
				got, err := crash(t, do, c.sending)
				switch {
				case c.check != nil:
					c.check(t, err)
				case sentOnce[op]:
					isUnavailable(authz.OutcomeUnknown)(t, err)
				default:
					must(t, err)
				}
				want := untouched
				if c.applied {
					want = undisturbed
				}
				if want.Heard = nil; c.heard {
					want.Heard = undisturbed.Heard
				}
				if diff := cmp.Diff(want, got, unexported); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}
