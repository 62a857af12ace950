package application_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/internal/lacking"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

func noOrg() provider.OrgSnapshot {
	return provider.OrgSnapshot{Groups: []authz.Group{}, Roles: []authz.Role{}, GlobalGrants: []authz.Grant{}, GlobalRevokes: []authz.Revoke{},
		Users: []authz.User{}, PendingGlobalRequests: []authz.Request{}}
}

// org is a snapshot that keeps, changes, drops and adds beside what seed stores.
func org() provider.OrgSnapshot {
	s := noOrg()
	s.Groups = []authz.Group{{ID: "a", Name: "A"}, {ID: "b", Name: "B2", Parents: []string{"a", "a"}}, {ID: "n", Name: "N", Parents: []string{"ghost"}}}
	s.Roles = []authz.Role{{ID: "reader", Name: "Reader", Patterns: []string{"docs.files.read"}}, {ID: "foreign", Name: "F", Patterns: []string{"cloud.x.y", "*"}}}
	s.GlobalGrants = []authz.Grant{
		{ID: "g-global", Subject: "group:b", Pattern: "docs.*", Scope: "*", Provenance: root},
		{ID: "g-expired", Subject: "user:u", RoleID: "reader", Scope: "*", ExpiresAt: authz.ExpiresAt(2), Provenance: root, CreatedAt: 5},
		{ID: "g-new", Subject: "everyone", RoleID: "foreign", Scope: "*", Provenance: root, CreatedAt: 7},
	}
	s.GlobalRevokes = []authz.Revoke{{ID: "v-new", UserID: "u", Pattern: "cloud.*", Scope: "*", Provenance: root, CreatedAt: 8}}
	s.Users = []authz.User{{UserID: "boss", GroupIDs: []string{"a"}}, {UserID: "u", Active: true, OrgIDs: []string{"o"}, ManagerUserID: "boss"}}
	s.PendingGlobalRequests = []authz.Request{{ID: "q", RequesterUserID: "u", Pattern: "docs.*", Scope: "*", State: authz.RequestPending, CreatedAt: 9,
		Stages: []authz.Stage{{Kind: authz.StageManagement}}}}
	return s
}

func applying(s provider.OrgSnapshot, change func(*provider.ApplyOrgSnapshotInput)) provider.ApplyOrgSnapshotInput {
	in := provider.ApplyOrgSnapshotInput{Snapshot: s, Source: "hosted"}
	if change != nil {
		change(&in)
	}
	return in
}

func TestASnapshotReplacesTheOrganizationAndNothingElse(t *testing.T) {
	store := openStore(t)
	seed(t, store)
	app := newApp(t, application.Options{Store: store, IDs: ascending()})
	e := observe(t, app, func() error {
		return app.ApplyOrgSnapshot(t.Context(), applying(org(), func(in *provider.ApplyOrgSnapshotInput) { in.Authority = ptr(false) }))
	})
	want := effects{
		[]string{`import:hosted org.sync_applied hosted {"groups":3,"roles":2,"globalGrants":3,"globalRevokes":1,"users":2,"authority":false}`},
		[]authz.Event{{Type: authz.EventAll}},
	}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Error(diff)
	}
	s := org()
	s.Groups[1].Parents = []string{"a"}
	state := everything(t, store)
	wanted := map[string]any{
		"groups": s.Groups, "roles": []authz.Role{s.Roles[1], s.Roles[0]},
		"users": []authz.User{s.Users[0], {UserID: "member", Active: true, GroupIDs: []string{"b", "c"}}, s.Users[1]},
		"grants": []authz.Grant{{ID: "g-doc", Subject: "user:u", Pattern: "docs.*", Scope: "docs.doc:1", Provenance: root},
			s.GlobalGrants[1], s.GlobalGrants[0], s.GlobalGrants[2]},
		"revokes": s.GlobalRevokes,
	}
	for kind, rows := range wanted {
		if diff := cmp.Diff(rows, state[kind], unexported, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
	}
	requests, _ := state["requests"].([]authz.Request)
	var ids []string
	for _, r := range requests {
		ids = append(ids, r.ID+" "+string(r.State)+" "+r.Pattern)
	}
	if diff := cmp.Diff([]string{"q-old denied ", "q pending docs.*"}, ids); diff != "" {
		t.Error(diff)
	}
	if got := string(authorityRecord(t, store).Data); got != `{"orgRoot":false,"source":"hosted"}` {
		t.Errorf("the record is %s", got)
	}
	exported, err := app.ExportOrgSnapshot(t.Context())
	must(t, err)
	if diff := cmp.Diff(3, len(exported.Users)); diff != "" {
		t.Error(diff)
	}
}

func TestApplyingASnapshotAgainWritesOnlyTheRecord(t *testing.T) {
	store := &faulty{Store: openStore(t)}
	var last storage.Commit
	store.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
		last = c
		return store.Store.Commit(ctx, c)
	}
	app := newApp(t, application.Options{Store: store, IDs: ascending()})
	must(t, app.ApplyOrgSnapshot(t.Context(), applying(org(), nil)))
	if len(last.Changes) != 13 || len(last.Events) != 1 || len(last.Audit) != 1 || len(last.Fences) != 3 {
		t.Errorf("one commit of %d changes, %d events, %d entries, %d fences", len(last.Changes), len(last.Events), len(last.Audit), len(last.Fences))
	}
	must(t, app.ApplyOrgSnapshot(t.Context(), applying(org(), func(in *provider.ApplyOrgSnapshotInput) { in.Authority = ptr(true) })))
	if len(last.Changes) != 1 {
		t.Errorf("wrote %v", last.Changes)
	}
	entries := rows(t, store.ListAudit(t.Context(), storage.AuditFilter{}))
	if len(entries) != 2 || entries[0].Action != "org.sync_applied" || entries[1].Action != "org.authority_received" {
		t.Errorf("entries %v", entries)
	}
}

func TestASnapshotThatCannotBeAppliedChangesNothing(t *testing.T) {
	withAuthority := func(in *provider.ApplyOrgSnapshotInput) { in.Authority = ptr(false) }
	for sentence, c := range map[string]struct {
		without storage.Capability
		persist *bool
		record  string
		in      provider.ApplyOrgSnapshotInput
		code    authz.Code
		message string
	}{
		"a list that was forgotten":    {in: applying(provider.OrgSnapshot{}, nil), code: authz.CodeValidation, message: "snapshot.groups must be an array"},
		"no source":                    {in: provider.ApplyOrgSnapshotInput{Snapshot: noOrg()}, code: authz.CodeValidation, message: "an org snapshot must name its source"},
		"authority without records":    {without: storage.CapRecords, in: applying(noOrg(), withAuthority), code: authz.CodeUnsupported, message: "this handler cannot accept an authority transfer: the storage driver keeps no records, so other hosts would not learn of it"},
		"a position without records":   {without: storage.CapRecords, in: applying(noOrg(), func(in *provider.ApplyOrgSnapshotInput) { in.Position = ptr(int64(0)) }), code: authz.CodeUnsupported},
		"a head without a log":         {persist: ptr(false), in: applying(noOrg(), func(in *provider.ApplyOrgSnapshotInput) { in.ExpectHead = ptr(int64(0)) }), code: authz.CodeUnsupported},
		"another head":                 {in: applying(noOrg(), func(in *provider.ApplyOrgSnapshotInput) { in.ExpectHead = ptr(int64(1)) }), code: authz.CodeConflict, message: "the log head is 0, not 1"},
		"while the organization moves": {record: `{"orgRoot":true,"source":"","moving":"p1"}`, in: applying(noOrg(), nil), code: authz.CodeConflict, message: "the organization is being moved"},
		"a position that has passed": {record: `{"orgRoot":false,"source":"hosted","position":4}`, in: applying(noOrg(), func(in *provider.ApplyOrgSnapshotInput) { in.Position = ptr(int64(3)) }),
			code: authz.CodeConflict, message: `a snapshot of "hosted" at position 4 was applied already, which is past 3`},
		"a position that passed before another source came": {record: `{"orgRoot":false,"source":"other","earlier":{"hosted":4}}`,
			in: applying(noOrg(), func(in *provider.ApplyOrgSnapshotInput) { in.Position = ptr(int64(3)) }), code: authz.CodeConflict},
		"managers that lead back over a stored edge": {in: applying(func() provider.OrgSnapshot {
			s := noOrg()
			s.Users = []authz.User{{UserID: "top", Active: true, ManagerUserID: "low"}}
			return s
		}(), nil), code: authz.CodeGraphCycle, message: "cycle: low → top → low"},
		"an id that an instance-scoped row has": {in: applying(func() provider.OrgSnapshot {
			s := noOrg()
			s.GlobalGrants = []authz.Grant{{ID: "g-doc", Subject: "user:u", Pattern: "docs.*", Scope: "*", Provenance: root}}
			return s
		}(), nil), code: authz.CodeConflict},
		"more than a commit holds": {in: applying(func() provider.OrgSnapshot {
			s := noOrg()
			for i := range storage.MaxCommitChanges {
				s.Groups = append(s.Groups, authz.Group{ID: fmt.Sprint("x", i), Name: "X"})
			}
			return s
		}(), nil), code: authz.CodeValidation, message: "the snapshot differs from what is stored in 50011 rows, and 50000 go into the one commit that it is: nothing was changed"},
	} {
		t.Run(sentence, func(t *testing.T) {
			store := openStore(t)
			seed(t, store)
			_, err := store.Commit(t.Context(), storage.Commit{ID: "managed", At: now, Changes: []storage.Change{storage.PatchUser{UserID: "low", ManagerUserID: ptr("top")}}})
			must(t, err)
			app := newApp(t, application.Options{Store: lacking.Store(store, c.without), PersistEvents: c.persist})
			if c.record != "" {
				moveAuthority(t, store, c.record)
			}
			before := everything(t, store)
			err = app.ApplyOrgSnapshot(t.Context(), c.in)
			isRefused(c.code)(t, err)
			if c.message != "" && (err == nil || err.Error() != c.message) {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(before, everything(t, store), unexported); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPositionsAreOfTheirSource(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store})
	for i, step := range []struct {
		source   string
		position *int64
		code     authz.Code
		record   string
	}{
		{"a", ptr(int64(5)), "", `{"orgRoot":true,"source":"a","position":5}`},
		{"b", ptr(int64(1)), "", `{"orgRoot":true,"source":"b","position":1,"earlier":{"a":5}}`},
		{"a", ptr(int64(4)), authz.CodeConflict, `{"orgRoot":true,"source":"b","position":1,"earlier":{"a":5}}`},
		{"a", nil, "", `{"orgRoot":true,"source":"a","position":5,"earlier":{"b":1}}`},
		{"a", ptr(int64(4)), authz.CodeConflict, `{"orgRoot":true,"source":"a","position":5,"earlier":{"b":1}}`},
		{"a", ptr(int64(5)), "", `{"orgRoot":true,"source":"a","position":5,"earlier":{"b":1}}`},
		{"c", nil, "", `{"orgRoot":true,"source":"c","earlier":{"a":5,"b":1}}`},
	} {
		err := app.ApplyOrgSnapshot(t.Context(), provider.ApplyOrgSnapshotInput{Snapshot: noOrg(), Source: step.source, Position: step.position})
		if authz.CodeOf(err) != step.code {
			t.Fatalf("step %d: %v", i, err)
		}
		if got := string(authorityRecord(t, store).Data); got != step.record {
			t.Errorf("step %d: %s, want %s", i, got, step.record)
		}
	}
}

func TestWithoutRecordsAPlainSyncIsApplied(t *testing.T) {
	store := lacking.Store(openStore(t), storage.CapRecords)
	app := newApp(t, application.Options{Store: store})
	must(t, app.ApplyOrgSnapshot(t.Context(), applying(org(), func(in *provider.ApplyOrgSnapshotInput) { in.Authority = ptr(true) })))
	if got := rows(t, store.ListGroups(t.Context(), storage.Page{})); len(got) != 3 {
		t.Errorf("groups %v", got)
	}
}

// What an org root wrote between the reading and the commit of a snapshot must not
// survive it, for on a read model nobody could remove it.
func TestAWriteThatSlipsInBetweenMakesTheSnapshotLookAgain(t *testing.T) {
	store := &faulty{Store: openStore(t)}
	app := newApp(t, application.Options{Store: store, IDs: ascending()})
	other := newApp(t, application.Options{Store: store.Store}) // another host
	slip := func(in provider.GrantInput) {
		store.commit = func(ctx context.Context, c storage.Commit) (storage.CommitResult, error) {
			if len(c.Fences) == 3 { // the snapshot's
				store.commit = nil
				must(t, createGrant(in)(ctx, other))
			}
			return store.Store.Commit(ctx, c)
		}
	}
	slip(provider.GrantInput{Subject: "user:late", Pattern: "docs.*"})
	must(t, app.ApplyOrgSnapshot(t.Context(), applying(org(), func(in *provider.ApplyOrgSnapshotInput) { in.Authority = ptr(false) })))
	for _, g := range rows(t, store.ListGrants(t.Context(), storage.GrantFilter{}, storage.Page{})) {
		if g.Subject == "user:late" {
			t.Error("the late grant survived")
		}
	}
	// Once it is a read model nobody else writes, and instance-scoped rows do not hold it up.
	own := provider.GrantInput{Subject: "user:own", Pattern: "docs.*", Scope: "docs.doc:1"}
	slip(own)
	before := store.commits.Load()
	must(t, app.ApplyOrgSnapshot(t.Context(), applying(org(), nil)))
	if n := store.commits.Load() - before; n != 1 {
		t.Errorf("%d commits", n)
	}
	slip(own)
	err := app.ApplyOrgSnapshot(t.Context(), applying(org(), func(in *provider.ApplyOrgSnapshotInput) {
		head, err := app.EventLog().Head(t.Context())
		must(t, err)
		in.ExpectHead = &head.Seq
	}))
	isRefused(authz.CodeConflict)(t, err)
}

func TestAnotherHostRefusesFromTheMomentAuthorityLeft(t *testing.T) {
	store := openStore(t)
	here, there := newApp(t, application.Options{Store: store}), newApp(t, application.Options{Store: store})
	must(t, here.ApplyOrgSnapshot(t.Context(), applying(org(), func(in *provider.ApplyOrgSnapshotInput) { in.Authority = ptr(false) })))
	for _, app := range []*application.Application{here, there} {
		isRefused(authz.CodeNotOrgRoot)(t, createRole(provider.RoleInput{Name: "R"})(t.Context(), app))
		stored, err := app.StoredOrgRoot(t.Context())
		must(t, err)
		capabilities, err := app.Capabilities(t.Context())
		must(t, err)
		if stored || capabilities.OrgRoot || !app.OrgRoot() {
			t.Errorf("stored %v, capability %v, object %v", stored, capabilities.OrgRoot, app.OrgRoot())
		}
	}
}

func TestSnapshotsAndOrgWritesAtOnceLeaveOneOrTheOther(t *testing.T) {
	for range 20 {
		store := openStore(t)
		a, b := newApp(t, application.Options{Store: store}), newApp(t, application.Options{Store: store})
		errs := race(
			func() error {
				return a.ApplyOrgSnapshot(context.Background(), applying(noOrg(), func(in *provider.ApplyOrgSnapshotInput) { in.Authority = ptr(false) }))
			},
			func() error {
				return createGrant(provider.GrantInput{Subject: "user:x", Pattern: "docs.*"})(context.Background(), b)
			},
			func() error { return createRole(provider.RoleInput{Name: "R"})(context.Background(), b) },
		)
		must(t, errs[0])
		left := len(rows(t, store.ListGrants(t.Context(), storage.GrantFilter{}, storage.Page{}))) + len(rows(t, store.ListRoles(t.Context(), storage.Page{})))
		if left != 0 {
			t.Fatalf("%d rows survived the snapshot: %v", left, errs)
		}
		for _, err := range errs[1:] {
			if err != nil {
				isRefused(authz.CodeNotOrgRoot)(t, err)
			}
		}
	}
}

func TestASnapshotJoinsTheAuditChain(t *testing.T) {
	app := newApp(t, application.Options{HashChain: true, IDs: ascending()})
	must(t, createRole(provider.RoleInput{Name: "R"})(t.Context(), app))
	must(t, app.ApplyOrgSnapshot(t.Context(), applying(org(), nil)))
	report, err := app.VerifyAuditChain(t.Context(), "")
	must(t, err)
	if !report.OK || report.Hashed != 2 {
		t.Errorf("%+v", report)
	}
}

func TestASuccessorSharesListenersWithItsPredecessor(t *testing.T) {
	store := openStore(t)
	o := application.Options{Store: store, Catalog: testCatalogBuilt(t)}
	before := newApp(t, o)
	var old, young []string
	before.OnInvalidate(func(e authz.Event) { old = append(old, string(e.Type)) })
	must(t, before.ApplyOrgSnapshot(t.Context(), applying(org(), func(in *provider.ApplyOrgSnapshotInput) { in.Authority = ptr(false) })))
	o.Succeeds = before
	after := newApp(t, o)
	after.OnInvalidate(func(e authz.Event) { young = append(young, string(e.Type)) })
	if after.OrgRoot() {
		t.Error("the successor has the old authority")
	}
	must(t, before.Close())
	must(t, after.ApplyOrgSnapshot(t.Context(), applying(noOrg(), nil)))
	must(t, before.NotifyScopeMoved(t.Context(), "docs.doc:1"))
	must(t, after.NotifyScopeMoved(t.Context(), "docs.doc:1"))
	if diff := cmp.Diff([][]string{{"all", "all", "scope", "scope"}, {"all", "scope", "scope"}}, [][]string{old, young}); diff != "" {
		t.Error(diff)
	}
	access, err := before.GetSubjectAccess(t.Context(), authz.UserPrincipal("boss"))
	must(t, err)
	if !slices.Contains(access.Closure, "group:a") {
		t.Error("a predecessor still supplies")
	}
}

// torn answers revokes as they were before a grant that it lists.
type torn struct {
	storage.Store
	reads atomic.Int64
	churn int64 // how many reads of revokes see a revoke of their own
}

func (s *torn) ListRevokes(ctx context.Context, f storage.RevokeFilter, p storage.Page) iter.Seq2[authz.Revoke, error] {
	if n := s.reads.Add(1); n <= s.churn {
		_, err := s.Commit(ctx, storage.Commit{ID: fmt.Sprint("churn", n), At: now, Events: []authz.Event{authz.UserEvent("u")}, Changes: []storage.Change{
			storage.InsertRevoke{Revoke: authz.Revoke{ID: fmt.Sprint("v", n), UserID: "u", Pattern: "*", Scope: "*", Provenance: root}}}})
		if err != nil {
			return failing[authz.Revoke](nil, true)
		}
	}
	return s.Store.ListRevokes(ctx, f, p)
}

func TestAnExportIsOfOneState(t *testing.T) {
	for _, persist := range []bool{true, false} {
		for churn, want := range map[int64]int{0: 0, 1: 1, 3: 3, 9: -1} {
			t.Run(fmt.Sprintf("persist %v, %d changes", persist, churn), func(t *testing.T) {
				app := newApp(t, application.Options{Store: &torn{Store: openStore(t), churn: churn}, PersistEvents: &persist})
				s, err := app.ExportOrgSnapshot(t.Context())
				if want < 0 {
					if asUnavailable(err) == nil {
						t.Errorf("a moving organization was exported: %v", err)
					}
					return
				}
				must(t, err)
				if len(s.GlobalRevokes) != want {
					t.Errorf("%d revokes", len(s.GlobalRevokes))
				}
			})
		}
	}
}

func TestWhatIsExportedIsAppliedElsewhereAsItIs(t *testing.T) {
	from, to := openStore(t), openStore(t)
	seed(t, from)
	source, target := newApp(t, application.Options{Store: from}), newApp(t, application.Options{Store: to, OrgRoot: ptr(false)})
	_, err := source.PublishCatalog(t.Context(), json.RawMessage(`{"formatVersion":1,"namespace":"docs","namespaces":["docs"],"leaves":[],"groups":[],"scopeTypes":[],"navigation":[]}`), root)
	must(t, err)
	exported, err := source.ExportOrgSnapshot(t.Context())
	must(t, err)
	if exported.Catalog == nil || exported.Catalog.Version != 1 || len(exported.PendingGlobalRequests) != 1 {
		t.Errorf("exported %+v", exported)
	}
	must(t, target.ApplyOrgSnapshot(t.Context(), applying(exported, nil)))
	again, err := target.ExportOrgSnapshot(t.Context())
	must(t, err)
	exported.Catalog = nil // is not applied
	if diff := cmp.Diff(exported, again, unexported, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}
