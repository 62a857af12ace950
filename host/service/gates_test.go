package service_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/secret"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/client"
	"github.com/authzhost/authz/sdk/provider"
)

const (
	notAllowed = "CloudError credential_not_allowed"
	ownerOnly  = "CloudError owner_required"
)

// keyFor makes a key and its caller.
func (w *world) keyFor(a *service.Access, in service.KeyInput) (service.IssuedKey, service.Caller) {
	w.t.Helper()
	if in.Name == "" {
		in.Name = "k"
	}
	key, err := w.s.CreateKey(w.t.Context(), a, in)
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := w.bearer(w.s, key.Secret)
	if err != nil {
		w.t.Fatal(err)
	}
	return key, c
}

func TestEveryGateForEveryCaller(t *testing.T) {
	w := newWorld(t)
	w.rooted()
	owner := w.org("acme")
	w.register("docs", "docs")
	w.register("mail", "mail")
	w.org("other")
	admin := w.member(owner, "admin", account.SeatAdmin)
	portal := w.member(owner, "portal", account.SeatPortal)
	w.allow(owner, provider.GrantInput{Subject: "user:portal", Pattern: cloud.LinkApplication, Scope: cloud.App("docs")})
	w.allow(owner, provider.GrantInput{Subject: "service:ci", Pattern: cloud.BillingRead})
	w.grant(provider.GrantInput{Subject: "user:admin", Pattern: "authz_internal.access.read"})
	_, principal := w.keyFor(owner, service.KeyInput{Kind: account.KeyPrincipal, ServiceID: new("ci")})
	w.grant(provider.GrantInput{Subject: "service:ci", Pattern: "authz_internal.access.read"}) // which the owner does not hold
	_, publisher := w.keyFor(owner, service.KeyInput{Kind: account.KeyPublisher, Namespace: new("docs")})
	_, adminKey := w.keyFor(admin, service.KeyInput{Kind: account.KeyAdmin})
	if _, err := w.s.InviteSeat(t.Context(), owner, service.SeatInput{UserID: "guest"}); err != nil {
		t.Fatal(err)
	}
	guest := service.Caller{Kind: service.CallerSession, UserID: "guest"}

	callers := []struct {
		name string
		service.Caller
	}{{"owner", owner.Caller}, {"admin", admin.Caller}, {"portal", portal.Caller}, {"guest", guest}, {"adminKey", adminKey}, {"principal", principal}, {"publisher", publisher}}
	refusedAll := []string{noOrg, noOrg, noOrg, noOrg, noOrg, noOrg, notAllowed}
	refusedAll[0] = "ok" // who owns the other org too
	for _, c := range []struct {
		name, org, app string
		gate           service.Gate
		want           []string
	}{
		{"seat", "acme", "", service.AnySeat, []string{"ok", "ok", "ok", noSeat, "ok", notAllowed, notAllowed}},
		{"me", "acme", "", service.Me, []string{"ok", "ok", "ok", noSeat, "ok", "ok", notAllowed}},
		{"owner", "acme", "", service.Owner, []string{"ok", ownerOnly, ownerOnly, noSeat, ownerOnly, notAllowed, notAllowed}},
		{"a key at the org", "acme", "", service.Cloud(cloud.BillingRead), []string{"ok", "ok", denied, noSeat, "ok", "ok", notAllowed}},
		{"a key at an application", "acme", "docs", service.CloudAtApp(cloud.LinkApplication), []string{"ok", "ok", "ok", noSeat, "ok", denied, notAllowed}},
		{"the same at another", "acme", "mail", service.CloudAtApp(cloud.LinkApplication), []string{"ok", "ok", denied, noSeat, "ok", denied, notAllowed}},
		{"at one that does not exist", "acme", "none", service.CloudAtApp(cloud.LinkApplication), []string{"ok", "ok", denied, noSeat, "ok", denied, notAllowed}},
		{"a key of the org root", "acme", "", service.OrgKey("authz_internal.access.read"), []string{denied, "ok", denied, noSeat, "ok", "ok", notAllowed}},
		{"evaluate", "acme", "", service.Principal, []string{notAllowed, notAllowed, notAllowed, notAllowed, notAllowed, "ok", notAllowed}},
		{"publish", "acme", "", service.Publisher, []string{notAllowed, notAllowed, notAllowed, notAllowed, notAllowed, notAllowed, "ok"}},
		{"another org", "other", "", service.Me, refusedAll},
		{"an absent org", "absent", "", service.Me, []string{noOrg, noOrg, noOrg, noOrg, noOrg, noOrg, notAllowed}},
		{"no org's form", "../acme", "", service.Me, []string{noOrg, noOrg, noOrg, noOrg, noOrg, noOrg, notAllowed}},
	} {
		for i, caller := range callers {
			_, err := w.s.Authorize(t.Context(), caller.Caller, c.org, c.app, c.gate, false)
			expect(t, c.name+" by "+caller.name, err, c.want[i])
		}
	}
	if !slices.Contains(w.actions("acme"), "owner.refuse") {
		t.Error("owner-only refusals are recorded")
	}
}

func TestOrgGatesAreAnErrorAndAccountGatesNarrowWithoutTheRoot(t *testing.T) {
	w := newWorld(t)
	app := w.rooted()
	owner := w.org("acme")
	w.member(owner, "u1", account.SeatPortal)
	if _, err := app.CreateGroup(t.Context(), provider.GroupInput{ID: new("ops"), Name: "ops"}, authz.AdminProvenance("t")); err != nil {
		t.Fatal(err)
	}
	if err := app.SetGroupMembership(t.Context(), "u1", []string{"ops"}, authz.AdminProvenance("t")); err != nil {
		t.Fatal(err)
	}
	w.allow(owner, provider.GrantInput{Subject: "group:ops", Pattern: cloud.BillingRead},
		provider.GrantInput{Subject: "user:u1", Pattern: cloud.RegistryRead})
	u1 := w.caller(w.signIn("acme", "u1").Token)
	ask := func(gate service.Gate) error {
		_, err := w.s.Authorize(t.Context(), u1, "acme", "", gate, false)
		return err
	}
	expect(t, "by a group of the root", ask(service.Cloud(cloud.BillingRead)), "ok")
	expect(t, "by itself", ask(service.Cloud(cloud.RegistryRead)), "ok")

	w.root.down = fault.Transport("application_timeout", "docs", "", "the application did not answer in time")
	expect(t, "the root is silent: by a group", ask(service.Cloud(cloud.BillingRead)), denied)
	expect(t, "by itself", ask(service.Cloud(cloud.RegistryRead)), "ok")
	expect(t, "an org gate", ask(service.OrgKey("authz_internal.access.read")), "ProviderTransportError application_timeout")
	w.root.down = nil

	if _, err := app.CreateGrant(t.Context(), provider.GrantInput{Subject: "user:u1", Pattern: "authz_internal.*"}, authz.AdminProvenance("t")); err != nil {
		t.Fatal(err)
	}
	if err := app.SetUserActive(t.Context(), "u1", false, authz.AdminProvenance("t")); err != nil {
		t.Fatal(err)
	}
	for name, gate := range map[string]service.Gate{"seat": service.AnySeat, "account": service.Cloud(cloud.RegistryRead), "org": service.OrgKey("authz_internal.access.read")} {
		if name != "org" { // its cache is the root's own affair
			expect(t, "whom the root reports inactive: "+name, ask(gate), "AccessDeniedError inactive")
		}
	}

	silent := fault.Transport("application_timeout", "docs", "", "the application did not answer in time")
	w.root.down = silent
	w.s = w.host(service.Options{}) // after a restart, too
	for name, gate := range map[string]service.Gate{"seat": service.AnySeat, "account": service.Cloud(cloud.RegistryRead)} {
		expect(t, "an outage of the root lets nobody back in: "+name, ask(gate), "AccessDeniedError inactive")
	}
	w.root.down = nil
	if err := app.SetUserActive(t.Context(), "u1", true, authz.AdminProvenance("t")); err != nil {
		t.Fatal(err)
	}
	expect(t, "whom the root reports active again", ask(service.AnySeat), "ok")
	w.root.down = silent
	expect(t, "the same in an outage", ask(service.Cloud(cloud.RegistryRead)), "ok")
}

func TestARevokeNarrowsEvenOwners(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	second := w.member(owner, "second", account.SeatOwner)
	r, err := w.s.CreateAccountRevoke(t.Context(), owner, provider.RevokeInput{UserID: "second", Pattern: cloud.BillingRead})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.s.Authorize(t.Context(), second.Caller, "acme", "", service.Cloud(cloud.BillingRead), false)
	expect(t, "a revoked owner", err, denied)
	second = w.enter(second.Caller, "acme")
	expect(t, "who deletes the revoke that names them", w.s.DeleteAccountRevoke(t.Context(), second, r.ID), "CloudError escalation_refused")
	expect(t, "another does", w.s.DeleteAccountRevoke(t.Context(), owner, r.ID), "ok")

	w.register("docs", "docs")
	if _, err := w.s.CreateAccountRevoke(t.Context(), owner, provider.RevokeInput{UserID: "second", Pattern: cloud.ApplicationsRead, Scope: cloud.App("docs")}); err != nil {
		t.Fatal(err)
	}
	second = w.enter(second.Caller, "acme")
	_, err = w.s.InviteSeat(t.Context(), second, service.SeatInput{UserID: "third", Kind: account.SeatOwner})
	expect(t, "who is kept out of an application makes no owner, who would not be", err, "CloudError escalation_refused")
}

func TestCredentialsAreResolvedInTheChaptersOrder(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	session := w.boot("acme").Token
	key, _ := w.keyFor(owner, service.KeyInput{Kind: account.KeyAdmin})
	_, provisional := secret.NewToken(secret.PrefixProvider)
	_, unknown := secret.NewToken(secret.PrefixAdmin)
	_, unknownSession := secret.NewToken(secret.PrefixSession)
	stolen, _ := secret.RenewToken(secret.PrefixAdmin, key.APIKey.ID)
	_, stolenText := secret.RenewToken(secret.PrefixAdmin, stolen.ID)
	_, disguised := secret.RenewToken(secret.PrefixPublisher, key.APIKey.ID)
	for _, c := range []struct {
		name          string
		authorization []string
		cookie        string
		want          string
	}{
		{"nothing", nil, "", "UnauthenticatedError credential_missing"},
		{"a session", nil, session, "ok"},
		{"a key", []string{"Bearer " + key.Secret}, "", "ok"},
		{"any case of the scheme", []string{"bEARER " + key.Secret}, "", "ok"},
		{"a bad key with a good cookie", []string{"Bearer x"}, session, badKey},
		{"an empty header with a good cookie", []string{""}, session, badKey},
		{"two headers", []string{"Bearer " + key.Secret, "Bearer " + key.Secret}, "", badKey},
		{"another scheme", []string{"Basic " + key.Secret}, "", badKey},
		{"a session as bearer", []string{"Bearer " + session}, "", badKey},
		{"a provider secret", []string{"Bearer " + provisional}, "", badKey},
		{"an unknown key", []string{"Bearer " + unknown}, "", badKey},
		{"another secret under a known id", []string{"Bearer " + stolenText}, "", badKey},
		{"another kind under a known id", []string{"Bearer " + disguised}, "", badKey},
		{"a key as cookie", nil, key.Secret, badKey},
		{"an unknown session", nil, unknownSession, expired},
	} {
		_, err := w.s.Authenticate(t.Context(), service.Presented{Authorization: c.authorization, Cookie: c.cookie})
		expect(t, c.name, err, c.want)
	}
}

func TestAPreviewOnlyNarrows(t *testing.T) {
	w := newWorld(t)
	w.rooted()
	owner := w.org("acme")
	w.register("docs", "docs")
	w.member(owner, "u1", account.SeatPortal)
	w.allow(owner, provider.GrantInput{Subject: "user:u1", Pattern: cloud.ApplicationsRead, Scope: cloud.App("docs")})
	as := &client.ViewAs{Kind: client.ViewAsUser, UserID: "u1"}
	_, err := w.s.ViewAs(t.Context(), owner, as)
	expect(t, "without the key", err, denied)
	w.grant(provider.GrantInput{Subject: "user:" + bootUser, Pattern: client.ViewAsKey})
	w.pass(time.Minute)

	work := uuid.New()
	begun := account.WithWork(t.Context(), &account.Work{ID: work, At: w.clock.Load()})
	me, err := w.s.ViewAs(begun, owner, as)
	if err != nil || me.ViewAs == nil || len(me.Permissions.Account) != 1 || me.Permissions.Account[0].Scopes[0] != cloud.App("docs") {
		t.Fatalf("me, previewed: %+v, %v", me, err)
	}
	again := account.WithWork(t.Context(), &account.Work{ID: work, At: w.clock.Load(), Repeated: true})
	_, err = w.s.ViewAs(again, owner, as)
	expect(t, "the same work again, after its host died", err, "ok")
	if n := slices.Index(w.actions("acme"), "view_as.start"); slices.Contains(w.actions("acme")[n+1:], "view_as.start") {
		t.Error("one preview is in the log twice")
	}
	check := func(gate service.Gate, want string) {
		t.Helper()
		_, err := w.s.Authorize(t.Context(), owner.Caller, "acme", "docs", gate, false)
		expect(t, gate.Key, err, want)
	}
	check(service.CloudAtApp(cloud.ApplicationsRead), "ok")
	check(service.CloudAtApp(cloud.LinkApplication), denied)
	check(service.Cloud(cloud.BillingRead), denied)
	check(service.OrgKey(client.ViewAsKey), "ok") // of the actor's real access
	expect(t, "writes outside the org", w.s.AuthorizeSession(t.Context(), owner.Caller, true), "CloudError view_as_read_only")

	_, err = w.s.ViewAs(t.Context(), owner, &client.ViewAs{Kind: client.ViewAsRole, RoleID: "none"})
	expect(t, "an absent role", err, "ProviderWriteRejectedError not_found")
	me, err = w.s.ViewAs(t.Context(), owner, &client.ViewAs{Kind: client.ViewAsRole, RoleID: cloud.RoleAdmin})
	if err != nil || len(me.Permissions.Account) != len(cloud.Catalog().Keys()) {
		t.Errorf("as cloud_admin: %d keys, %v", len(me.Permissions.Account), err)
	}
	me, err = w.s.ViewAs(t.Context(), w.enter(owner.Caller, "acme"), nil)
	if err != nil || me.ViewAs != nil {
		t.Errorf("after leaving: %+v, %v", me.ViewAs, err)
	}
	check(service.Cloud(cloud.BillingRead), "ok")
	for _, action := range []string{"view_as.start", "view_as.end"} {
		if !slices.Contains(w.actions("acme"), action) {
			t.Errorf("%s is not in the log", action)
		}
	}

	_, key := w.keyFor(owner, service.KeyInput{Kind: account.KeyAdmin})
	if me, err = w.s.ViewAs(t.Context(), w.enter(key, "acme"), as); err != nil || len(me.Permissions.Account) != 1 {
		t.Errorf("an admin key's preview: %+v, %v", me, err)
	}
	_, err = w.s.Authorize(t.Context(), key, "acme", "", service.Cloud(cloud.BillingRead), false)
	expect(t, "nothing is kept for a key", err, "ok")
	for _, bad := range []client.ViewAs{{}, {Kind: "role"}, {Kind: "user", RoleID: "r"}, {Kind: "user", UserID: "u", RoleID: "r"}} {
		_, err := w.s.ViewAs(t.Context(), owner, &bad)
		expect(t, "a preview of neither", err, "CloudError invalid_request")
	}
}

func TestMeTellsTheRootFromItsAbsence(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	me, err := w.s.Me(t.Context(), owner)
	if err != nil || me.OrgRoot.Home != service.HomeNone || me.Permissions.Org != nil {
		t.Errorf("without a root: %+v, %v", me, err)
	}
	w.rooted()
	if me, err = w.s.Me(t.Context(), owner); err != nil || me.Permissions.Org == nil || !me.OrgRoot.Reachable {
		t.Errorf("with a root: %+v, %v", me, err)
	}
	w.root.down = fault.Transport("application_timeout", "docs", "", "slow")
	if me, err = w.s.Me(t.Context(), owner); err != nil || me.Permissions.Org != nil || len(me.Permissions.Account) == 0 {
		t.Errorf("with a silent root: %+v, %v", me, err)
	}
}
