package application_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/internal/lacking"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

const dutiesCatalog = `{
  "namespaces": ["app"], "includeAuthzInternal": false,
  "scopeTypes": {"app.folder": {}, "app.doc": {}},
  "permissions": {
    "app.pay.create": {"scopes": ["app.folder"]}, "app.pay.approve": {"scopes": ["app.folder", "app.doc"]}, "app.pay.audit": true,
    "app.keys.k0": true, "app.keys.k1": true, "app.keys.k2": true, "app.keys.k3": true, "app.keys.k4": true,
    "app.keys.k5": true, "app.keys.k6": true, "app.keys.k7": true, "app.keys.k8": true, "app.keys.k9": true,
    "app.lock.open": true
  },
  "constraints": {"sod": [
    {"id": "pay", "description": "four eyes", "sets": [["app.pay.create"], ["app.pay.approve"], ["app.pay.audit"]]},
    {"id": "lock", "sets": [["app.keys.*"], ["app.lock.open"]]}
  ]}
}`

// dutyRows: "half" may create payments, in several ways.
func dutyRows(t testing.TB, store storage.Store) {
	t.Helper()
	grant := func(id, subject, pattern, scope string) storage.Change {
		return storage.InsertGrant{Grant: authz.Grant{ID: id, Subject: subject, Pattern: pattern, Scope: scope, Provenance: root}}
	}
	_, err := store.Commit(context.Background(), storage.Commit{ID: "duties", At: now, Changes: []storage.Change{
		storage.UpsertRole{Role: authz.Role{ID: "payer", Name: "Payer", Patterns: []string{"app.keys.k0", "app.pay.create"}}},
		storage.UpsertRole{Role: authz.Role{ID: "both", Name: "Both", Patterns: []string{"app.pay.create", "app.pay.approve"}}},
		storage.UpsertGroup{Group: authz.Group{ID: "creators", Name: "C"}},
		storage.UpsertUser{User: authz.User{UserID: "by-group", Active: true, GroupIDs: []string{"creators"}}},
		storage.UpsertUser{User: authz.User{UserID: "left", GroupIDs: []string{"creators"}}},
		grant("s1", "user:half", "app.pay.create", "*"),
		grant("s2", "group:creators", "app.pay.create", "app.folder:1"),
		grant("s3", "user:freed", "app.pay.create", "*"),
		grant("s4", "user:scoped", "app.pay.create", "*"),
		grant("s5", "user:violator", "app.pay.*", "*"),
		storage.InsertGrant{Grant: authz.Grant{ID: "s6", Subject: "user:late", Pattern: "app.pay.create", Scope: "*", ExpiresAt: authz.ExpiresAt(now), Provenance: root}},
		grant("s7", "user:elsewhere", "app.pay.create", "app.doc:1"), // not grantable there
		storage.InsertGrant{Grant: authz.Grant{ID: "s8", Subject: "user:by-role", RoleID: "payer", Scope: "*", Provenance: root}},
		storage.InsertRevoke{Revoke: authz.Revoke{ID: "v1", UserID: "freed", Pattern: "app.*", Scope: "*", Provenance: root}},
		storage.InsertRevoke{Revoke: authz.Revoke{ID: "v2", UserID: "scoped", Pattern: "app.*", Scope: "app.folder:1", Provenance: root}},
	}})
	must(t, err)
}

func dutiesApp(t testing.TB, store storage.Store, enforce application.SoDEnforce) *application.Application {
	t.Helper()
	return newApp(t, application.Options{Catalog: buildCatalog(t, []byte(dutiesCatalog)), Store: store, SoD: application.SoD{Enforce: enforce}})
}

func grantOf(subject, pattern string) provider.GrantInput {
	return provider.GrantInput{Subject: subject, Pattern: pattern}
}

func createGrants(in ...provider.GrantInput) func(context.Context, *application.Application) error {
	return func(ctx context.Context, a *application.Application) error {
		_, err := a.CreateGrants(ctx, in, root)
		return err
	}
}

const twoHalves = `grant violates separation-of-duty constraint "pay": the subject would hold [app.pay.create] and [app.pay.approve]`

func TestAGrantThatBreaksAConstraintIsRefused(t *testing.T) {
	for _, c := range []struct {
		sentence string
		do       func(context.Context, *application.Application) error
		message  string // "" is written
	}{
		{"the second half", createGrant(grantOf("user:half", "app.pay.approve")), twoHalves},
		{"both halves by one wildcard", createGrant(grantOf("user:new", "app.pay.*")),
			`grant violates separation-of-duty constraint "pay": the subject would hold [app.pay.create] and [app.pay.approve] and [app.pay.audit]`},
		{"both halves by one role, held nowhere else", createGrant(provider.GrantInput{Subject: "user:new", RoleID: "both"}), twoHalves},
		{"a half held by a role", createGrant(grantOf("user:by-role", "app.pay.approve")), twoHalves},
		{"a half held by a group, at another scope", createGrant(provider.GrantInput{Subject: "user:by-group", Pattern: "app.pay.approve", Scope: "app.doc:1"}), twoHalves},
		{"an inactive user is judged by the rows", createGrant(grantOf("user:left", "app.pay.approve")), twoHalves},
		{"a revoke below the global scope does not clear", createGrant(grantOf("user:scoped", "app.pay.approve")), twoHalves},
		{"another constraint than the one that is violated already", createGrants(grantOf("user:violator", "app.lock.open"), grantOf("user:violator", "app.keys.k1")),
			`grant violates separation-of-duty constraint "lock": the subject would hold [app.keys.k1] and [app.lock.open]`},
		{"rows of one batch for one subject count together", createGrants(grantOf("user:new", "app.pay.create"), grantOf("user:other", "app.pay.audit"), grantOf("user:new", "app.pay.approve")), twoHalves},
		{"of a wildcard, the keys that are grantable at its scope", createGrant(provider.GrantInput{Subject: "user:half", Pattern: "app.pay.*", Scope: "app.folder:1"}), twoHalves},
		{"a message repeats eight keys of a set", createGrants(grantOf("user:new", "app.lock.open"), grantOf("user:new", "app.keys.*")),
			`the subject would hold [app.keys.k0, app.keys.k1, app.keys.k2, app.keys.k3, app.keys.k4, app.keys.k5, app.keys.k6, app.keys.k7, …(+2 more)] and [app.lock.open]`},
		{"a grant that is taken away leaves the halves that it did not hold", changeGrants(provider.GrantsChange{Delete: []string{"s7"}, Create: []provider.GrantInput{grantOf("user:half", "app.pay.approve")}}), twoHalves},
		{"an expired half that is to count again", changeGrants(provider.GrantsChange{Expire: []provider.GrantExpiry{{GrantID: "s6"}}, Create: []provider.GrantInput{grantOf("user:late", "app.pay.approve")}}), twoHalves},

		{"two halves change places", changeGrants(provider.GrantsChange{Delete: []string{"s1"}, Create: []provider.GrantInput{grantOf("user:half", "app.pay.approve")}}), ""},
		{"a live grant that lasts longer", changeGrants(provider.GrantsChange{Expire: []provider.GrantExpiry{{GrantID: "s1"}}}), ""},
		{"a global revoke clears", createGrant(grantOf("user:freed", "app.pay.approve")), ""},
		{"an expired half does not count", createGrant(grantOf("user:late", "app.pay.approve")), ""},
		{"a half at a scope where it does not apply does not count", createGrant(grantOf("user:elsewhere", "app.pay.approve")), ""},
		{"what is violated already blocks nothing", createGrant(grantOf("user:violator", "app.pay.audit")), ""},
		{"the rows of a batch for different users are judged apart", createGrants(grantOf("user:a", "app.pay.create"), grantOf("user:b", "app.pay.approve")), ""},
		{"two keys of one set", createGrants(grantOf("user:new", "app.keys.k1"), grantOf("user:new", "app.keys.k2")), ""},
		{"rows of groups pass", createGrant(grantOf("group:creators", "app.pay.*")), ""},
		{"rows of everyone pass", createGrant(grantOf("everyone", "app.pay.*")), ""},
		{"a service of the same name is another subject", createGrant(grantOf("service:half", "app.pay.approve")), ""},
		{"memberships pass", func(ctx context.Context, a *application.Application) error {
			return a.SetGroupMembership(ctx, "violator", []string{"creators"}, root)
		}, ""},
		{"role edits pass", func(ctx context.Context, a *application.Application) error {
			_, err := a.UpdateRole(ctx, "payer", provider.RoleUpdate{Patterns: &[]string{"app.*"}}, root)
			return err
		}, ""},
	} {
		for _, expand := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, driver expands %v", c.sentence, expand), func(t *testing.T) {
				store := openStore(t)
				dutyRows(t, store)
				if !expand {
					store = lacking.Store(store, storage.CapExpand)
				}
				app := dutiesApp(t, store, application.SoDReject)
				before := everything(t, store)
				err := c.do(t.Context(), app)
				if c.message == "" {
					must(t, err)
					return
				}
				if authz.CodeOf(err) != authz.CodeConflict || !strings.HasSuffix(err.Error(), c.message) {
					t.Fatalf("got %v, want a conflict …%s", err, c.message)
				}
				if diff := cmp.Diff(before, everything(t, store), unexported); diff != "" {
					t.Errorf("the refusal left:\n%s", diff)
				}
				must(t, c.do(t.Context(), dutiesApp(t, store, application.SoDOff)))
			})
		}
	}
}

func TestDutiesAreJudgedAfterTheOtherChecks(t *testing.T) {
	store := openStore(t)
	dutyRows(t, store)
	app := dutiesApp(t, store, application.SoDReject)
	for sentence, c := range map[string]struct {
		in   provider.GrantInput
		code authz.Code
	}{
		"the pattern":   {grantOf("user:half", "app.pay.nothing"), authz.CodeValidation},
		"the expiry":    {provider.GrantInput{Subject: "user:half", Pattern: "app.pay.approve", ExpiresAt: authz.ExpiresAt(now)}, authz.CodeValidation},
		"the role":      {provider.GrantInput{Subject: "user:half", RoleID: "gone"}, authz.CodeNotFound},
		"of every row":  {grantOf("user:", "app.pay.approve"), authz.CodeValidation},
		"and then duty": {grantOf("user:half", "app.pay.approve"), authz.CodeConflict},
	} {
		if err := createGrant(c.in)(t.Context(), app); authz.CodeOf(err) != c.code {
			t.Errorf("%s: got %v, want %s", sentence, err, c.code)
		}
		if c.code == authz.CodeConflict {
			continue
		}
		if err := createGrants(grantOf("user:half", "app.pay.approve"), c.in)(t.Context(), app); authz.CodeOf(err) != c.code {
			t.Errorf("%s, behind a row that breaks a constraint: got %v, want %s", sentence, err, c.code)
		}
	}
	leaf := newApp(t, application.Options{Catalog: buildCatalog(t, []byte(dutiesCatalog)), Store: openStore(t), OrgRoot: ptr(false), SoD: application.SoD{Enforce: application.SoDReject}})
	if err := createGrant(grantOf("user:u", "app.pay.*"))(t.Context(), leaf); authz.CodeOf(err) != authz.CodeNotOrgRoot {
		t.Errorf("the org root comes first: %v", err)
	}
}

func TestUnknownEnforcementIsRefusedAtConstruction(t *testing.T) {
	_, err := application.New(t.Context(), application.Options{Catalog: testCatalogBuilt(t), Store: openStore(t), SoD: application.SoD{Enforce: "warn"}})
	if authz.CodeOf(err) != authz.CodeValidation || !strings.Contains(err.Error(), "sod.enforce") {
		t.Errorf("got %v", err)
	}
}

// locks notes the sections that are taken.
type locks struct {
	storage.Store
	taken []string
}

func (l *locks) Acquire(ctx context.Context, key string) (storage.Section, error) {
	l.taken = append(l.taken, key)
	return l.Store.Acquire(ctx, key)
}

func TestOnlyJudgedWritesTakeTheSectionsOfTheirUsersInOrder(t *testing.T) {
	batch := createGrants(grantOf("user:c", "app.keys.k1"), grantOf("everyone", "app.keys.k1"), grantOf("user:a:b", "app.keys.k1"),
		grantOf("user:c", "app.keys.k2"), grantOf("user:a", "app.keys.k1"))
	free := strings.Replace(dutiesCatalog, `"constraints"`, `"constraints": {"sod": []}, "was"`, 1)
	free = free[:strings.Index(free, `, "was"`)] + "}"
	for sentence, c := range map[string]struct {
		catalog string
		enforce application.SoDEnforce
		want    []string
	}{
		"enforced":       {dutiesCatalog, application.SoDReject, []string{"sod:a", "sod:a:b", "sod:c"}},
		"off":            {dutiesCatalog, application.SoDOff, nil},
		"by default":     {dutiesCatalog, "", nil},
		"no constraints": {free, application.SoDReject, nil},
	} {
		store := &locks{Store: openStore(t)}
		app := newApp(t, application.Options{Catalog: buildCatalog(t, []byte(c.catalog)), Store: store, SoD: application.SoD{Enforce: c.enforce}})
		must(t, batch(t.Context(), app))
		if diff := cmp.Diff(c.want, store.taken); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
	}
}

func TestABatchNamesABoundedNumberOfUsersWhileDutiesAreEnforced(t *testing.T) {
	store := openStore(t)
	in := []provider.GrantInput{}
	for i := range application.MaxDutyUsers + 1 {
		in = append(in, grantOf(fmt.Sprint("user:u", i), "app.keys.k1"))
	}
	app := dutiesApp(t, store, application.SoDReject)
	if err := createGrants(in...)(t.Context(), app); authz.CodeOf(err) != authz.CodeValidation || !strings.Contains(err.Error(), "1000") {
		t.Errorf("one too many: %v", err)
	}
	must(t, createGrants(append(slices.Clone(in[1:]), in[1])...)(t.Context(), app))
	must(t, createGrants(in...)(t.Context(), dutiesApp(t, store, application.SoDOff)))
}

func TestOfTwoHalvesOfAViolationOneIsWritten(t *testing.T) {
	for range 30 {
		store := openStore(t)
		one, two := dutiesApp(t, store, application.SoDReject), dutiesApp(t, store, application.SoDReject)
		wins(t, authz.CodeConflict, race(
			func() error { return createGrant(grantOf("user:u", "app.pay.create"))(context.Background(), one) },
			func() error { return createGrant(grantOf("user:u", "app.pay.approve"))(context.Background(), two) },
			func() error {
				return createGrants(grantOf("user:u", "app.keys.k1"), grantOf("user:u", "app.pay.audit"))(context.Background(), one)
			}))
		if found := rows(t, one.ListSodViolations(t.Context(), nil)); len(found) != 0 {
			t.Fatalf("a violation slipped in: %v", found)
		}
	}
}

// Batches that name the same users in opposite orders neither wait for one
// another for ever nor let halves meet.
func TestCrossingBatchesEndAndBreakNothing(t *testing.T) {
	users := []string{"user:a", "user:b", "user:c", "user:d"}
	batch := func(pattern string, order []string) []provider.GrantInput {
		var in []provider.GrantInput
		for _, u := range order {
			in = append(in, grantOf(u, pattern))
		}
		return in
	}
	backwards := slices.Clone(users)
	slices.Reverse(backwards)
	for range 20 {
		store := openStore(t)
		one, two := dutiesApp(t, store, application.SoDReject), dutiesApp(t, store, application.SoDReject)
		wins(t, authz.CodeConflict, race(
			func() error {
				return createGrants(batch("app.pay.create", users)...)(context.Background(), one)
			},
			func() error {
				return createGrants(batch("app.pay.approve", backwards)...)(context.Background(), two)
			},
			func() error { return createGrants(batch("app.pay.audit", users[1:3])...)(context.Background(), two) }))
	}
}

func TestAnOutageWhileJudgingWritesNothing(t *testing.T) {
	store := openStore(t)
	dutyRows(t, store)
	faulty := &faulty{Store: store, readAccess: func(context.Context, storage.AccessQuery) (storage.Access, error) {
		return storage.Access{}, storage.Unavailable("", nil, driverText)
	}}
	app := dutiesApp(t, faulty, application.SoDReject)
	before := everything(t, store)
	err := createGrant(grantOf("user:half", "app.keys.k1"))(t.Context(), app)
	if down := asUnavailable(err); down == nil || down.Outcome != authz.OutcomeNotApplied || strings.Contains(err.Error(), driverText) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(before, everything(t, store), unexported); diff != "" {
		t.Error(diff)
	}
}

func TestTheReportFindsWhatPassesByTheGate(t *testing.T) {
	store := openStore(t)
	dutyRows(t, store)
	app := dutiesApp(t, store, application.SoDReject)
	must(t, createGrant(grantOf("group:creators", "app.pay.approve"))(t.Context(), app))
	var found []string
	for _, v := range rows(t, app.ListSodViolations(t.Context(), nil)) {
		found = append(found, v.UserID)
	}
	if diff := cmp.Diff([]string{"by-group", "left", "violator"}, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got := rows(t, app.ListSodViolations(t.Context(), &[]string{"violator", "half", "left"}))
	want := []access.Violations{
		{UserID: "violator", Violations: []access.Violation{{ConstraintID: "pay", Description: "four eyes", Sets: []access.HeldSet{
			{SetIndex: 0, Keys: []string{"app.pay.create"}}, {SetIndex: 1, Keys: []string{"app.pay.approve"}}, {SetIndex: 2, Keys: []string{"app.pay.audit"}}}}}},
		{UserID: "left", Violations: []access.Violation{{ConstraintID: "pay", Description: "four eyes", Sets: []access.HeldSet{
			{SetIndex: 0, Keys: []string{"app.pay.create"}}, {SetIndex: 1, Keys: []string{"app.pay.approve"}}}}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
