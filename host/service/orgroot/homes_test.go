package orgroot_test

import (
	"net/http"
	"testing"

	"github.com/authzhost/authz/host/service/orgroot"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

func groupInput(id string) provider.GroupInput { return provider.GroupInput{ID: &id, Name: id} }

// A write is routed by what it would create (spec: hosted-api §10).
func TestAWriteGoesHome(t *testing.T) {
	w := newWorld(t)
	w.give(t, "user:olga", "authz_internal.access.*")
	a := w.by(t, "olga")
	for _, c := range []struct {
		in   provider.GrantInput
		want string
		home orgroot.Home
	}{
		{provider.GrantInput{Pattern: "docs.admin.read"}, "ok", orgroot.Home{Kind: "root"}},
		{provider.GrantInput{Pattern: "cloud.seats.read"}, "ok", orgroot.Home{Kind: "account"}},
		{provider.GrantInput{Pattern: "cloud.applications.read", Scope: "cloud.app:docs"}, "ok", orgroot.Home{Kind: "account"}},
		{provider.GrantInput{Pattern: "docs.files.read", Scope: "docs.doc:1"}, "ok", orgroot.Home{Kind: "application", Application: "docs"}},
		{provider.GrantInput{Pattern: "billing.files.read", Scope: "billing.doc:1"}, "ok", orgroot.Home{Kind: "application", Application: "billing"}},
		{provider.GrantInput{Pattern: "x.y.z", Scope: "nowhere.doc:1"}, "ProviderWriteRejectedError validation", orgroot.Home{}},
		{provider.GrantInput{Pattern: "cloud.seats.read", Scope: "cloud.app:absent"}, "ProviderWriteRejectedError validation", orgroot.Home{Kind: "account"}},
	} {
		c.in.Subject = "user:u"
		_, home, err := w.root.CreateGrant(ctx, a, c.in)
		if got := said(t, err); got != c.want || home != c.home {
			t.Errorf("%+v: %s at %+v", c.in, got, home)
		}
	}
	bulk := func(in ...provider.GrantInput) error {
		for i := range in {
			in[i].Subject = "user:b"
		}
		_, _, err := w.root.CreateGrants(ctx, a, in)
		return err
	}
	if got := said(t, bulk(provider.GrantInput{Pattern: "docs.admin.read"}, provider.GrantInput{Pattern: "cloud.seats.read"})); got != "CloudError mixed_homes" {
		t.Error(got)
	}
	must(t, bulk(provider.GrantInput{Pattern: "docs.admin.read"}, provider.GrantInput{Pattern: "*"}))
}

func TestAGateComesBeforeWhatIsThere(t *testing.T) {
	w := newWorld(t)
	a := w.by(t, "olga")
	there := w.give(t, "user:u", "docs.admin.read")
	const denied = "AccessDeniedError forbidden"
	for _, id := range []string{there.ID, "absent"} {
		if got := said(t, w.root.DeleteGrant(ctx, a, id, "")); got != denied {
			t.Error(got)
		}
	}
	if _, _, err := w.root.CreateGrant(ctx, a, provider.GrantInput{Subject: "user:u", Pattern: "x.y", Scope: "nowhere.doc:1"}); said(t, err) != denied {
		t.Error(err)
	}
	if _, err := w.root.Request(ctx, a, "absent", ""); said(t, err) != denied {
		t.Error(err)
	}
}

func TestRowsOfRootAndAccountAreOneList(t *testing.T) {
	w := newWorld(t)
	w.give(t, "user:olga", "authz_internal.access.*")
	a := w.by(t, "olga")
	for i := range 10 {
		pattern := "docs.admin.read"
		if i%2 == 0 {
			pattern = "cloud.seats.read"
		}
		_, _, err := w.root.CreateGrant(ctx, a, provider.GrantInput{Subject: "user:u", Pattern: pattern})
		must(t, err)
	}
	subject := "user:u"
	q := authz.GrantSearch{Subject: &subject}
	homes, last, p := map[string]int{}, "", orgroot.Page{Limit: 3}
	for pages := 1; ; pages++ {
		l, err := w.root.Grants(ctx, a, q, p)
		must(t, err)
		for _, g := range l.Rows {
			if g.ID <= last {
				t.Fatalf("%s after %s", g.ID, last)
			}
			last = g.ID
			homes[g.Home.Kind]++
		}
		if p.After = l.Next; p.After == "" {
			if pages != 4 {
				t.Errorf("%d pages", pages)
			}
			break
		}
	}
	if homes["root"] != 5 || homes["account"] != 5 {
		t.Errorf("%v", homes)
	}
	if n, err := w.root.CountGrants(ctx, a, provider.GrantQuery{Subject: &subject}); err != nil || n != 10 {
		t.Errorf("%d, %v", n, err)
	}
	roles, err := w.root.Roles(ctx, a, "", orgroot.Page{Limit: 1})
	must(t, err)
	if len(roles.Rows) != 1 || roles.Rows[0].ID != "cloud_admin" || roles.Next == "" {
		t.Errorf("%+v", roles)
	}
}

func TestGlobalRowsGoThroughTheRootAlone(t *testing.T) {
	w := newWorld(t)
	a := w.by(t, "olga")
	global := w.give(t, "user:u", "docs.admin.read")
	const invalid = "CloudError invalid_request"
	if got := said(t, w.root.DeleteAppGrant(ctx, a, "docs", global.ID)); got != invalid {
		t.Error(got)
	}
	for _, scope := range []string{"", "*", "billing.doc:1", "nowhere.doc:1"} {
		if _, err := w.root.CreateAppGrant(ctx, a, "docs", provider.GrantInput{Subject: "user:u", Pattern: "docs.files.read", Scope: scope}); said(t, err) != invalid {
			t.Errorf("%q: %v", scope, err)
		}
	}
	g, err := w.root.CreateAppGrant(ctx, a, "docs", provider.GrantInput{Subject: "user:u", Pattern: "docs.files.read", Scope: "docs.doc:1"})
	must(t, err)
	l, err := w.root.AppGrants(ctx, a, "docs", authz.GrantSearch{}, orgroot.Page{Limit: 10})
	must(t, err)
	if len(l.Rows) != 1 || l.Rows[0].ID != g.ID {
		t.Errorf("%+v", l)
	}
	must(t, w.root.DeleteAppGrant(ctx, a, "docs", g.ID))
	if got := said(t, w.root.DeleteAppGrant(ctx, a, "docs", g.ID)); got != "ProviderWriteRejectedError not_found" {
		t.Error(got)
	}
}

func TestARequestIsDecidedByItsHomeAndNeverByItsRequester(t *testing.T) {
	w := newWorld(t)
	role := "reader"
	_, err := w.docs.CreateRole(ctx, provider.RoleInput{ID: &role, Name: role, Patterns: []string{"docs.admin.read"},
		Requestable: &authz.Requestable{Stages: []authz.Stage{{Kind: authz.StageNamedApprovers, RoleID: role}}}}, authz.AdminProvenance("root"))
	must(t, err)
	w.give(t, "user:olga", "authz_internal.requests.*")
	a := w.by(t, "olga")
	entry, err := w.root.Submit(ctx, a, provider.RequestInput{RoleID: role})
	must(t, err)
	if entry.Application != nil || entry.Request.RequesterUserID != "olga" {
		t.Errorf("%+v", entry)
	}
	if _, err := w.root.DecideRequest(ctx, a, entry.Request.ID, "", provider.DecisionInput{Decision: authz.DecisionApproved}); said(t, err) != "ProviderWriteRejectedError validation" {
		t.Error(err)
	}
	if _, err := w.root.DecideRequest(ctx, a, entry.Request.ID, "docs", provider.DecisionInput{Decision: authz.DecisionApproved}); said(t, err) != "ProviderWriteRejectedError not_found" {
		t.Error(err)
	}
	in, err := w.root.Requests(ctx, a, orgroot.RequestFilter{Mine: true}, orgroot.Page{Limit: 10})
	must(t, err)
	if len(in.Rows) != 1 || len(in.Unavailable) != 0 {
		t.Errorf("%+v", in)
	}
	w.answer(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	in, err = w.root.Requests(ctx, a, orgroot.RequestFilter{Mine: true}, orgroot.Page{Limit: 10})
	must(t, err)
	if len(in.Rows) != 0 || len(in.Unavailable) != 1 || in.Unavailable[0] != (orgroot.Unavailable{Application: "docs", Code: "application_timeout"}) {
		t.Errorf("%+v", in)
	}
}

func grantQuery() authz.GrantSearch { return authz.GrantSearch{} }
