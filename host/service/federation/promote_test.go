package federation_test

import (
	"slices"
	"testing"

	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/federation"
	"github.com/authzhost/authz/host/service/orgroot"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

func TestAFirstPromotionMovesTheOrganizationAndBack(t *testing.T) {
	w := newWorld(t, "docs")
	docs := w.far["docs"].administered(t)
	_, err := docs.CreateGroup(ctx, provider.GroupInput{ID: new("staff"), Name: "Staff"}, root)
	must(t, err)
	must(t, docs.SetGroupMembership(ctx, "ann", []string{"staff"}, root))
	docs.give(t, "group:staff", "docs.files.read")
	_, err = docs.CreateGrant(ctx, provider.GrantInput{Subject: "user:ann", Pattern: "docs.files.read", Scope: "docs.doc:1"}, root)
	must(t, err)

	plan, err := w.federate("docs", federation.Input{DryRun: true})
	must(t, err)
	if !plan.DryRun || plan.Imported.Groups != 1 || plan.Imported.GlobalGrants != 2 || len(plan.Conflicts) != 0 || w.org().Moving != "" || w.app("docs").State != applications.Linked {
		t.Fatalf("the dry run: %+v, %+v", plan, w.org())
	}

	done, err := w.federate("docs", federation.Input{})
	must(t, err)
	if done.Application.State != applications.Federated || done.Org.Mode != account.ModeFederated || done.Org.Moving != "" ||
		done.Application.Operation != nil || done.Application.FederatedAt == nil || done.Imported.Users != 1 {
		t.Fatalf("federated: %+v %+v", done.Application, done.Org)
	}
	if got := w.rootsNow(); !slices.Equal(got, []string{"hosted"}) {
		t.Fatalf("the writers are %v", got)
	}
	if n := w.staged(); n != 0 {
		t.Errorf("%d pieces were left", n)
	}
	// Checks of the member do not notice, and its own rows stay.
	access, err := docs.GetSubjectAccess(ctx, authz.UserPrincipal("ann"))
	must(t, err)
	if len(access.Grants) != 2 {
		t.Errorf("ann holds %v", access.Grants)
	}
	// The org's writes go to the hosted root, and no more to the application.
	if _, err := docs.CreateGroup(ctx, provider.GroupInput{Name: "Other"}, root); authz.CodeOf(err) != authz.CodeNotOrgRoot {
		t.Errorf("the member takes a group: %v", err)
	}
	a := w.by(t, "olga")
	grant, home, err := w.root.CreateGrant(ctx, a, provider.GrantInput{Subject: "user:bob", Pattern: "docs.admin.read"})
	must(t, err)
	if home.Kind != "root" {
		t.Errorf("its home is %+v", home)
	}
	if _, _, err := w.root.CreateGrant(ctx, a, provider.GrantInput{Subject: "user:bob", Pattern: "docs.nothing.read"}); codeOf(err) != "validation" {
		t.Errorf("a pattern that nobody published: %v", err)
	}
	status, err := w.root.Status(ctx, "acme")
	must(t, err)
	if status.Home != "hosted" || !status.Reachable || status.Application != "" {
		t.Errorf("the root is %+v", status)
	}
	users, err := w.root.Users(ctx, a, orgroot.UserFilter{}, orgroot.Page{Limit: 10})
	must(t, err)
	if !users.Complete || len(users.Rows) != 1 || users.Rows[0].UserID != "ann" {
		t.Errorf("users: %+v", users)
	}
	// A sync brings what was written there.
	results, err := w.moves.Sync(ctx, a, "")
	must(t, err)
	if len(results) != 1 || !results[0].Applied {
		t.Fatalf("synced: %+v", results)
	}
	if rows, _ := docs.GetSubjectAccess(ctx, authz.UserPrincipal("bob")); len(rows.Grants) != 1 || rows.Grants[0].ID != grant.ID {
		t.Errorf("bob holds %v at the member", rows.Grants)
	}
	if w.app("docs").LastSyncAt == nil {
		t.Error("lastSyncAt is absent")
	}

	back, err := w.demote("docs")
	must(t, err)
	if back.Application.State != applications.Linked || back.Org.Mode != account.ModeLinked || *back.Org.PrimaryApplication != "docs" || back.Exported.GlobalGrants != 3 {
		t.Fatalf("demoted: %+v %+v %+v", back.Application, back.Org, back.Exported)
	}
	if got := w.rootsNow(); !slices.Equal(got, []string{"docs"}) {
		t.Fatalf("the writers are %v", got)
	}
	if _, err := docs.CreateGroup(ctx, provider.GroupInput{Name: "Other"}, root); err != nil {
		t.Errorf("the root refuses a group: %v", err)
	}
	// And again: nothing of before comes back.
	_, err = docs.DeleteSubject(ctx, "user:ann", root)
	must(t, err)
	_, err = w.federate("docs", federation.Input{})
	must(t, err)
	for _, u := range w.hosted().Users {
		if u.UserID == "ann" {
			t.Errorf("the hosted root has %+v again", u)
		}
	}
}
