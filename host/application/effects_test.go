package application_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// effects is what one write recorded and told.
type effects struct {
	Audit  []string // actor action target detail
	Events []authz.Event
}

// observe runs a write and returns its effects.
func observe(t *testing.T, app *application.Application, write func() error) effects {
	t.Helper()
	var e effects
	before := len(rows(t, app.ListAuditEvents(t.Context(), provider.AuditQuery{})))
	defer app.OnInvalidate(func(ev authz.Event) { e.Events = append(e.Events, ev) })()
	must(t, write())
	for _, a := range rows(t, app.ListAuditEvents(t.Context(), provider.AuditQuery{}))[before:] {
		line := a.Actor + " " + a.Action + " " + a.Target
		if a.Detail != nil {
			line += " " + string(a.Detail)
		}
		e.Audit = append(e.Audit, line)
	}
	return e
}

func TestEffectsAreAsTheTableSays(t *testing.T) {
	reconciler := authz.Provenance{Kind: authz.ProvenanceReconciler, IntegrationID: "okta"}
	cases := []struct {
		sentence string
		write    func(context.Context, *application.Application) error
		want     effects
	}{
		{"deleting a group takes edges, memberships and grants with it", func(ctx context.Context, a *application.Application) error {
			return a.DeleteGroup(ctx, "b", root)
		}, effects{
			[]string{`root grant.delete g-global {"reason":"group deleted"}`, `root group.delete b {"name":"B","members":1}`},
			[]authz.Event{authz.SubjectEvent("group:c"), authz.SubjectEvent("group:b"), authz.UserEvent("member")},
		}},
		{"a bulk of grants is one entry and one event for each subject", func(ctx context.Context, a *application.Application) error {
			_, err := a.CreateGrants(ctx, []provider.GrantInput{
				{Subject: "user:x", Pattern: "docs.*"}, {Subject: "group:a", RoleID: "reader", Scope: "docs.doc:1", ExpiresAt: authz.ExpiresAt(now + 1)}, {Subject: "user:x", Pattern: "*"},
			}, reconciler)
			return err
		}, effects{
			[]string{`reconciler:okta grant.create_bulk id000004 {"count":3,"grantIds":["id000001","id000002","id000003"],"grants":[` +
				`{"id":"id000001","subject":"user:x","pattern":"docs.*","scope":"*"},` +
				`{"id":"id000002","subject":"group:a","roleId":"reader","scope":"docs.doc:1","expiresAt":1700000000001},` +
				`{"id":"id000003","subject":"user:x","pattern":"*","scope":"*"}]}`},
			[]authz.Event{authz.SubjectEvent("user:x"), authz.UserEvent("x"), authz.SubjectEvent("group:a")},
		}},
		{"a change of grants is one entry, and one event for each subject", changeGrants(provider.GrantsChange{Delete: []string{"g-global"}, Expire: []provider.GrantExpiry{{GrantID: "g-doc", ExpiresAt: ptr(now + 5)}},
			Create: []provider.GrantInput{{Subject: "user:x", Pattern: "docs.*"}, {Subject: "group:b", RoleID: "reader"}}}), effects{
			[]string{`root grant.change id000003 {"deleted":[{"id":"g-global","subject":"group:b","pattern":"docs.*","scope":"*"}],` +
				`"changed":[{"id":"g-doc","subject":"user:u","pattern":"docs.*","scope":"docs.doc:1","expiresAt":1700000000005}],` +
				`"created":[{"id":"id000001","subject":"user:x","pattern":"docs.*","scope":"*"},{"id":"id000002","subject":"group:b","roleId":"reader","scope":"*"}]}`},
			[]authz.Event{authz.SubjectEvent("group:b"), authz.SubjectEvent("user:u"), authz.UserEvent("u"), authz.SubjectEvent("user:x"), authz.UserEvent("x")}}},
		{"an empty bulk leaves no trace", func(ctx context.Context, a *application.Application) error {
			_, err := a.CreateGrants(ctx, nil, root)
			return err
		}, effects{}},
		{"renaming a group tells nobody", func(ctx context.Context, a *application.Application) error {
			_, err := a.UpdateGroup(ctx, "a", provider.GroupUpdate{Name: ptr("Z")}, root)
			return err
		}, effects{Audit: []string{`root group.update a {"name":"Z"}`}}},
		{"memberships are stored once and audited as given", func(ctx context.Context, a *application.Application) error {
			return a.SetGroupMembership(ctx, "x", []string{"b", "a", "b"}, root)
		}, effects{[]string{`root user.set_groups x {"groupIds":["b","a","b"]}`}, []authz.Event{authz.UserEvent("x")}}},
		{"a changed membership is audited as it is then", changeMembership("x", provider.MembershipChange{Add: []string{"b", "b"}, Remove: []string{"a", "gone"}}),
			effects{[]string{`root user.set_groups x {"groupIds":["b"]}`}, []authz.Event{authz.UserEvent("x")}}},
		{"deleting an absent role is recorded", func(ctx context.Context, a *application.Application) error {
			return a.DeleteRole(ctx, "ghost", root)
		}, effects{[]string{`root role.delete ghost`}, []authz.Event{authz.RoleEvent("ghost")}}},
		{"clearing a manager is audited as null", func(ctx context.Context, a *application.Application) error {
			return a.SetReportingEdge(ctx, "x", "", root)
		}, effects{[]string{`root user.set_manager x {"managerUserId":null}`},
			[]authz.Event{authz.UserEvent("x"), authz.SubjectEvent("directs:x"), authz.SubjectEvent("orgof:x")}}},
		{"a moved scope is an event and no entry", func(ctx context.Context, a *application.Application) error {
			return a.NotifyScopeMoved(ctx, "docs.doc:1")
		}, effects{Events: []authz.Event{authz.ScopeEvent("docs.doc:1")}}},
		{"a source is cut and cleaned in actor and target", func(ctx context.Context, a *application.Application) error {
			_, err := a.ImportDirectory(ctx, snapshotOf(`{}`), "h\nr", optionsOf(false))
			return err
		}, effects{[]string{`import:h\x0ar directory.import h\x0ar {"warnings":0}`}, []authz.Event{{Type: authz.EventAll}}}},
	}
	for _, c := range cases {
		t.Run(c.sentence, func(t *testing.T) {
			store := openStore(t)
			seed(t, store)
			app := newApp(t, application.Options{Store: store, IDs: ascending()})
			got := observe(t, app, func() error { return c.write(t.Context(), app) })
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDeletingAGroupLeavesNothingThatNamesIt(t *testing.T) {
	store := openStore(t)
	seed(t, store)
	app := newApp(t, application.Options{Store: store})
	must(t, app.DeleteGroup(t.Context(), "b", root))
	c, _, err := store.GetGroup(t.Context(), "c")
	must(t, err)
	user, _, err := store.GetUser(t.Context(), "member")
	must(t, err)
	subject := "group:b"
	held := rows(t, store.ListGrants(t.Context(), storage.GrantFilter{Subject: &subject}, storage.Page{}))
	if len(c.Parents) != 0 || len(held) != 0 || cmp.Diff([]string{"c"}, user.GroupIDs) != "" {
		t.Errorf("child %v, member %v, grants %v", c, user, held)
	}
}

func TestARoleKeepsWhatAnUpdateLeavesOut(t *testing.T) {
	app := newApp(t, application.Options{})
	must(t, app.SetReportingEdge(t.Context(), "u", "boss", root))
	policy := &authz.Requestable{Stages: []authz.Stage{
		{Kind: authz.StageManagement, RoleID: "dropped"},
		{Kind: authz.StageAuto, Predicate: &authz.Predicate{Type: authz.PredicateInOrg, OrgID: "o", Pattern: "dropped"}},
	}}
	made, err := app.CreateRole(t.Context(), provider.RoleInput{Name: "n", Description: "d", Patterns: []string{"docs.*"}, Requestable: policy}, root)
	must(t, err)
	want := authz.Role{ID: made.ID, Name: "n", Description: "d", Patterns: []string{"docs.*"}, Requestable: &authz.Requestable{Stages: []authz.Stage{
		{Kind: authz.StageManagement}, {Kind: authz.StageAuto, Predicate: &authz.Predicate{Type: authz.PredicateInOrg, OrgID: "o"}}}}}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Errorf("stages hold more than the members of their kind:\n%s", diff)
	}
	renamed, err := app.UpdateRole(t.Context(), made.ID, provider.RoleUpdate{Name: ptr("m")}, root)
	must(t, err)
	want.Name = "m"
	if diff := cmp.Diff(want, renamed); diff != "" {
		t.Error(diff)
	}
	cleared, err := app.UpdateRole(t.Context(), made.ID, provider.RoleUpdate{Description: ptr(""), ClearRequestable: true, Patterns: &[]string{}}, root)
	must(t, err)
	if cleared.Description != "" || cleared.Requestable != nil || len(cleared.Patterns) != 0 {
		t.Errorf("got %+v", cleared)
	}
}

func TestAFrozenRoleMayBeRenamed(t *testing.T) {
	store := openStore(t)
	seed(t, store)
	app := newApp(t, application.Options{Store: store})
	_, err := app.UpdateRole(t.Context(), "wanted", provider.RoleUpdate{Name: ptr("x"), Patterns: &[]string{"docs.admin.read"}}, root)
	must(t, err)
}

func TestSettersOfOneUserDoNotUndoEachOther(t *testing.T) {
	store := openStore(t)
	seed(t, store)
	app := newApp(t, application.Options{Store: store})
	for _, err := range race(
		func() error { return app.SetUserActive(context.Background(), "u", false, root) },
		func() error { return app.SetGroupMembership(context.Background(), "u", []string{"a"}, root) },
		func() error { return app.SetReportingEdge(context.Background(), "u", "boss", root) }) {
		must(t, err)
	}
	got, _, err := store.GetUser(t.Context(), "u")
	must(t, err)
	want := authz.User{UserID: "u", GroupIDs: []string{"a"}, OrgIDs: got.OrgIDs, ManagerUserID: "boss"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, found, _ := store.GetUser(t.Context(), "boss"); !found {
		t.Error("the manager's record was not created")
	}
}

func TestPublishingKeepsEveryVersion(t *testing.T) {
	store := openStore(t)
	app := newApp(t, application.Options{Store: store})
	none, err := app.GetPublishedCatalog(t.Context())
	must(t, err)
	if none != nil {
		t.Errorf("got %v before any publication", none)
	}
	document, err := app.Catalog().Document()
	must(t, err)
	for want := int64(1); want <= 2; want++ {
		got, err := app.PublishCatalog(t.Context(), document, root)
		must(t, err)
		if got != want {
			t.Errorf("version %d, want %d", got, want)
		}
	}
	head, err := app.GetPublishedCatalog(t.Context())
	must(t, err)
	if head.Version != 2 || !json.Valid(head.Document) {
		t.Errorf("head %d", head.Version)
	}
	if kept := rows(t, store.ListCatalogVersions(t.Context())); len(kept) != 2 || kept[0].PublishedAt != now {
		t.Errorf("kept %v", kept)
	}
}

func TestListsAreFilteredAndPaged(t *testing.T) {
	store := openStore(t)
	seed(t, store)
	app := newApp(t, application.Options{Store: store})
	ids := func(q provider.GrantQuery) (found []string) {
		for _, g := range rows(t, app.ListGrants(t.Context(), q)) {
			found = append(found, g.ID)
		}
		return found
	}
	for _, c := range []struct {
		sentence string
		query    provider.GrantQuery
		want     []string
	}{
		{"no filter lists everything, expired rows too", provider.GrantQuery{}, []string{"g-doc", "g-expired", "g-global"}},
		{"members combine", provider.GrantQuery{Subject: ptr("user:u"), Scope: ptr("*")}, []string{"g-expired"}},
		{"an empty member selects nothing", provider.GrantQuery{RoleID: ptr("")}, nil},
		{"a page follows the key", provider.GrantQuery{Paging: provider.Paging{After: "g-doc", Limit: 1}}, []string{"g-expired"}},
	} {
		if diff := cmp.Diff(c.want, ids(c.query)); diff != "" {
			t.Errorf("%s:\n%s", c.sentence, diff)
		}
	}
	n, err := app.CountGrants(t.Context(), provider.GrantQuery{Scope: ptr("*")})
	must(t, err)
	if n != 2 {
		t.Errorf("counted %d", n)
	}
	members, err := app.GetGroupMembers(t.Context(), "ghost")
	must(t, err)
	if members == nil || len(members) != 0 {
		t.Errorf("an unknown group has members %v", members)
	}
}
