package service_test

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/account"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/internal/audited"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

func TestWhoMayCreateOrgs(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	u1 := w.member(owner, "u1", account.SeatAdmin)
	create := func(c service.Caller, id, owner string) error {
		_, _, err := w.s.CreateOrg(t.Context(), c, service.OrgInput{ID: &id, Name: id, OwnerUserID: owner})
		return err
	}
	const disabled = "CloudError org_creation_disabled"
	expect(t, "a taken id", create(owner.Caller, "acme", bootUser), "CloudError org_id_taken")
	expect(t, "another user", create(u1.Caller, "mine", "u1"), disabled)
	expect(t, "the form of an id", create(owner.Caller, "No", bootUser), invalid)
	w.s = w.host(service.Options{OrgCreation: service.CreationSession})
	expect(t, "org_creation: session", create(u1.Caller, "mine", "u1"), "ok")
	expect(t, "for somebody else", create(u1.Caller, "yours", "u2"), disabled)
	expect(t, "what exists, by one who may not create it", create(u1.Caller, "acme", "u2"), disabled)

	org, seat, err := w.s.CreateOrg(t.Context(), u1.Caller, service.OrgInput{Name: "Generated", OwnerUserID: "u1"})
	if err != nil || !account.ValidOrgID(org.ID) || seat.State != account.SeatActive || seat.Kind != account.SeatOwner || org.Mode != account.ModeUnlinked {
		t.Errorf("%+v, %+v, %v", org, seat, err)
	}
}

func TestTheSeatOfAnotherOwnerIsInvitedAndListed(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	w.pass(time.Second)
	if _, seat, err := w.s.CreateOrg(t.Context(), owner.Caller, service.OrgInput{ID: new("beta"), Name: "Beta", OwnerUserID: "u1"}); err != nil || seat.State != account.SeatInvited {
		t.Fatalf("%+v, %v", seat, err)
	}
	w.member(owner, "u1", account.SeatPortal)
	u1 := w.caller(w.signIn("acme", "u1").Token)
	list, err := w.s.Orgs(t.Context(), u1, service.Page{Limit: 1})
	if err != nil || len(list.Rows) != 1 || list.Rows[0].ID != "acme" || list.Next == "" {
		t.Fatalf("%+v, %v", list, err)
	}
	list, err = w.s.Orgs(t.Context(), u1, service.Page{Limit: 1, After: list.Next})
	if err != nil || len(list.Rows) != 1 || list.Rows[0].ID != "beta" || list.Rows[0].Seat.State != account.SeatInvited || list.Next != "" {
		t.Fatalf("%+v, %v", list, err)
	}
	list, err = w.s.Orgs(t.Context(), owner.Caller, service.Page{Limit: 10})
	if err != nil || len(list.Rows) != 1 {
		t.Errorf("the creator has no seat in beta: %+v, %v", list, err)
	}
}

func TestOrgUpdatesAreForOwnersAndRefuseLostOnes(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	admin := w.member(owner, "admin", account.SeatAdmin)
	w.register("docs", "docs")
	update := func(a *service.Access, in service.OrgUpdate, match service.Match) error {
		_, err := w.s.UpdateOrg(t.Context(), a, in, match)
		return err
	}
	is := func(want string) service.Match { return func(etag string) bool { return etag == want } }
	expect(t, "an admin", update(admin, service.OrgUpdate{Name: new("x")}, nil), ownerOnly)
	expect(t, "the etag read", update(owner, service.OrgUpdate{Name: new("x")}, is(account.FirstEtag)), "ok")
	expect(t, "the same again", update(owner, service.OrgUpdate{Name: new("y")}, is(account.FirstEtag)), "CloudError precondition_failed")
	expect(t, "an absent application", update(owner, service.OrgUpdate{PrimaryApplication: new("none")}, nil), "CloudError application_not_found")
	expect(t, "an application", update(owner, service.OrgUpdate{PrimaryApplication: new("docs")}, nil), "ok")

	row, _, err := account.Orgs.Get(t.Context(), w.accounts, "acme", account.OrgID)
	if err != nil {
		t.Fatal(err)
	}
	row.Value.Mode = account.ModeFederated
	tx := w.accounts.Begin(t.Context())
	account.Orgs.Put(tx, "acme", account.OrgID, row.Value, row.Version)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	expect(t, "while federated", update(owner, service.OrgUpdate{PrimaryApplication: new("docs")}, nil), "CloudError invalid_transition")
}

func TestSeatsAreInvitedChangedAndRemoved(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	admin := w.member(owner, "admin", account.SeatAdmin)
	portal := w.member(owner, "portal", "")
	w.allow(owner, provider.GrantInput{Subject: "user:portal", Pattern: cloud.InviteSeat}, provider.GrantInput{Subject: "user:portal", Pattern: cloud.UpdateSeat})
	portal = w.enter(portal.Caller, "acme")
	invite := func(a *service.Access, user, kind string) error {
		_, err := w.s.InviteSeat(t.Context(), a, service.SeatInput{UserID: user, Kind: kind})
		return err
	}
	update := func(a *service.Access, user string, in service.SeatUpdate) error {
		_, err := w.s.UpdateSeat(t.Context(), w.enter(a.Caller, "acme"), user, in, nil)
		return err
	}
	kind := func(k string) service.SeatUpdate { return service.SeatUpdate{Kind: &k} }

	expect(t, "a seat that is there", invite(admin, "portal", ""), "CloudError seat_exists")
	expect(t, "an owner by an admin", invite(admin, "o2", account.SeatOwner), ownerOnly)
	expect(t, "an admin by a portal seat that may invite", invite(portal, "a2", account.SeatAdmin), escalates)
	expect(t, "a portal seat by it", invite(portal, "p2", account.SeatPortal), "ok")
	expect(t, "a user whom no path could name", invite(owner, "a/b", ""), invalid)
	expect(t, "a strange kind", invite(owner, "x", "king"), invalid)

	expect(t, "oneself to admin", update(portal, "portal", kind(account.SeatAdmin)), escalates)
	expect(t, "an admin to owner by an admin", update(admin, "admin", kind(account.SeatOwner)), ownerOnly)
	expect(t, "the owner by an admin", update(admin, bootUser, kind(account.SeatPortal)), ownerOnly)
	expect(t, "the last owner", update(owner, bootUser, kind(account.SeatAdmin)), "CloudError last_owner")
	expect(t, "an absent seat", update(owner, "none", kind(account.SeatAdmin)), "CloudError seat_not_found")
	plain := w.member(owner, "plain", account.SeatPortal)
	expect(t, "one's own display name", update(plain, "plain", service.SeatUpdate{DisplayName: new("P")}), "ok")
	expect(t, "one's own mail", update(plain, "plain", service.SeatUpdate{Email: new("p@x")}), denied)
	expect(t, "another's name", update(plain, "portal", service.SeatUpdate{DisplayName: new("P")}), denied)

	remove := func(a *service.Access, user string) error { return w.s.RemoveSeat(t.Context(), a, user, nil) }
	expect(t, "the owner by an admin", remove(admin, bootUser), ownerOnly)
	expect(t, "the last owner", remove(owner, bootUser), "CloudError last_owner")
	expect(t, "a seat with rows", remove(owner, "portal"), "ok")
	expect(t, "again", remove(owner, "portal"), "CloudError seat_not_found")
	_, err := w.s.Authorize(t.Context(), portal.Caller, "acme", "", service.AnySeat, false)
	expect(t, "its user", err, noOrg)
	expect(t, "invited again", invite(owner, "portal", ""), "ok")
	again := w.enter(w.caller(w.signIn("acme", "portal").Token), "acme")
	if can, err := again.Can(t.Context(), cloud.InviteSeat, "*"); can || err != nil {
		t.Errorf("rows of the removed seat came back: %v, %v", can, err)
	}
	list, err := w.s.Seats(t.Context(), owner, service.SeatQuery{Kind: account.SeatPortal}, service.Page{Limit: 2})
	if err != nil || len(list.Rows) != 2 || list.Rows[0].UserID != "p2" || list.Rows[1].UserID != "plain" {
		t.Fatalf("%+v, %v", list, err)
	}
	list, err = w.s.Seats(t.Context(), owner, service.SeatQuery{Kind: account.SeatPortal}, service.Page{Limit: 2, After: list.Next})
	if err != nil || len(list.Rows) != 1 || list.Rows[0].UserID != "portal" || list.Next != "" {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestOwnersWhoLeaveAtTheSameTimeLeaveOne(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	owners := []*service.Access{owner}
	for i := range 4 {
		owners = append(owners, w.member(owner, fmt.Sprintf("o%d", i), account.SeatOwner))
	}
	var wg sync.WaitGroup
	results := make(chan string, len(owners))
	for _, a := range owners {
		wg.Go(func() { results <- said(w.s.RemoveSeat(t.Context(), a, a.Caller.UserID, nil)) })
	}
	wg.Wait()
	close(results)
	count := map[string]int{}
	for r := range results {
		count[r]++
	}
	if count["ok"] != len(owners)-1 || count["CloudError last_owner"] != 1 {
		t.Errorf("%v", count)
	}
}

func TestRepeatedInvitationsAndOrgsAreTheFirstOnes(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	work := uuid.New()
	for _, repeated := range []bool{false, true} {
		ctx := account.WithWork(t.Context(), &account.Work{ID: work, At: w.clock.Load(), Repeated: repeated})
		seat, err := w.s.InviteSeat(ctx, owner, service.SeatInput{UserID: "u1"})
		if err != nil || seat.UserID != "u1" || seat.Etag != account.FirstEtag {
			t.Errorf("repeated %v: %+v, %v", repeated, seat, err)
		}
	}
	work = uuid.New()
	ids := []string{}
	for _, repeated := range []bool{false, true} {
		ctx := account.WithWork(t.Context(), &account.Work{ID: work, At: w.clock.Load(), Repeated: repeated})
		org, _, err := w.s.CreateOrg(ctx, owner.Caller, service.OrgInput{Name: "x", OwnerUserID: bootUser})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, org.ID)
	}
	if ids[0] != ids[1] {
		t.Errorf("two orgs: %v", ids)
	}
}

func TestAccountRowsConferOnlyWhatTheirWriterHolds(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	w.register("docs", "docs")
	portal := w.member(owner, "portal", account.SeatPortal)
	write := func(a *service.Access, in provider.GrantInput) error {
		_, err := w.s.CreateAccountGrants(t.Context(), w.enter(a.Caller, "acme"), []provider.GrantInput{in}, true)
		return err
	}
	const rejects = "ProviderWriteRejectedError validation"
	expect(t, "without update_seat", write(portal, provider.GrantInput{Subject: "user:x", Pattern: cloud.BillingRead}), denied)
	w.allow(owner, provider.GrantInput{Subject: "user:portal", Pattern: cloud.UpdateSeat}, provider.GrantInput{Subject: "user:portal", Pattern: cloud.LinkApplication, Scope: cloud.App("docs")})
	expect(t, "what it holds", write(portal, provider.GrantInput{Subject: "user:x", Pattern: cloud.LinkApplication, Scope: cloud.App("docs")}), "ok")
	expect(t, "wider than it holds", write(portal, provider.GrantInput{Subject: "user:x", Pattern: cloud.LinkApplication}), escalates)
	expect(t, "more than it holds", write(portal, provider.GrantInput{Subject: "user:x", Pattern: cloud.Everything}), escalates)
	expect(t, "a built-in role", write(portal, provider.GrantInput{Subject: "user:portal", RoleID: cloud.RoleOwner}), escalates)
	for name, in := range map[string]provider.GrantInput{
		"everyone":          {Subject: "everyone", Pattern: cloud.BillingRead},
		"directs":           {Subject: "directs:u", Pattern: cloud.BillingRead},
		"orgof":             {Subject: "orgof:u", Pattern: cloud.BillingRead},
		"no subject":        {Subject: "x", Pattern: cloud.BillingRead},
		"a bare *":          {Subject: "user:x", Pattern: "*"},
		"other vocabulary":  {Subject: "user:x", Pattern: "docs.*", Scope: cloud.App("docs")},
		"an unknown key":    {Subject: "user:x", Pattern: "cloud.seats.fly"},
		"not at that scope": {Subject: "user:x", Pattern: cloud.BillingRead, Scope: cloud.App("docs")},
		"an absent app":     {Subject: "user:x", Pattern: cloud.LinkApplication, Scope: cloud.App("none")},
		"both":              {Subject: "user:x", Pattern: cloud.BillingRead, RoleID: cloud.RoleAdmin},
		"neither":           {Subject: "user:x"},
	} {
		expect(t, name, write(owner, in), rejects)
	}
	expect(t, "an absent role", write(owner, provider.GrantInput{Subject: "user:x", RoleID: "none"}), "ProviderWriteRejectedError not_found")

	role, err := w.s.CreateAccountRole(t.Context(), owner, provider.RoleInput{ID: new("billing"), Name: "Billing", Patterns: []string{cloud.BillingRead}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.s.CreateAccountRole(t.Context(), owner, provider.RoleInput{ID: new("billing"), Name: "Billing", Patterns: []string{cloud.BillingRead}})
	expect(t, "a taken role id", err, "ProviderWriteRejectedError conflict")
	_, err = w.s.CreateAccountRole(t.Context(), owner, provider.RoleInput{Name: "Mixed", Patterns: []string{cloud.BillingRead, "docs.*"}})
	expect(t, "a mixed role", err, rejects)
	_, err = w.s.CreateAccountRole(t.Context(), w.enter(portal.Caller, "acme"), provider.RoleInput{Name: "R", Patterns: []string{cloud.BillingRead}})
	expect(t, "a role of what one does not hold", err, escalates)
	_, err = w.s.UpdateAccountRole(t.Context(), w.enter(portal.Caller, "acme"), role.ID, provider.RoleUpdate{Patterns: &[]string{cloud.UpdateSeat}}, nil)
	expect(t, "an old pattern that one does not hold", err, escalates)
	_, err = w.s.UpdateAccountRole(t.Context(), owner, cloud.RoleAdmin, provider.RoleUpdate{Name: new("x")}, nil)
	expect(t, "a built-in role", err, rejects)
	expect(t, "a grant of the role", write(owner, provider.GrantInput{Subject: "user:portal", RoleID: role.ID}), "ok")
	expect(t, "deleting a role in use", w.s.DeleteAccountRole(t.Context(), owner, role.ID, nil), "ProviderWriteRejectedError conflict")
	for g, err := range w.s.AccountGrants(t.Context(), "acme", authz.GrantSearch{RoleID: &role.ID}) {
		if err != nil {
			t.Fatal(err)
		}
		if can, err := w.enter(portal.Caller, "acme").Can(t.Context(), cloud.BillingRead, "*"); !can || err != nil {
			t.Errorf("the role confers: %v, %v", can, err)
		}
		expect(t, "deleting the grant", w.s.DeleteAccountGrant(t.Context(), owner, g.ID), "ok")
		expect(t, "again", w.s.DeleteAccountGrant(t.Context(), owner, g.ID), "ProviderWriteRejectedError not_found")
	}
	expect(t, "deleting the role", w.s.DeleteAccountRole(t.Context(), owner, role.ID, nil), "ok")
	for _, action := range []string{"role.create", "grant.create", "grant.delete", "role.delete"} {
		if !slices.Contains(w.actions("acme"), action) {
			t.Errorf("%s is not in the log", action)
		}
	}
}

func TestEvaluateAnswersForTheKeysOwnServiceOnly(t *testing.T) {
	w := newWorld(t)
	w.rooted()
	owner := w.org("acme")
	w.register("docs", "docs")
	w.allow(owner, provider.GrantInput{Subject: "service:ci", Pattern: cloud.RegistryRead}, provider.GrantInput{Subject: "service:ci", Pattern: cloud.LinkApplication, Scope: cloud.App("docs")})
	_, caller := w.keyFor(owner, service.KeyInput{Kind: account.KeyPrincipal, ServiceID: new("ci")})
	w.grant(provider.GrantInput{Subject: "service:ci", Pattern: "authz_internal.audit.read"})
	for _, c := range []struct {
		name, scope string
		keys        []string
		want        string
	}{
		{"any of two", "*", []string{cloud.BillingRead, cloud.RegistryRead}, "true"},
		{"none", "*", []string{cloud.BillingRead}, "false"},
		{"at an application", cloud.App("docs"), []string{cloud.LinkApplication}, "true"},
		{"not at the org", "", []string{cloud.LinkApplication}, "false"},
		{"by the org root", "*", []string{"authz_internal.audit.read"}, "true"},
		{"an application's key", "*", []string{"docs.file.read"}, "CloudError not_evaluable_here"},
		{"an instance", "docs.file:1", []string{cloud.RegistryRead}, "CloudError not_evaluable_here"},
		{"unknown", "*", []string{"cloud.seats.fly"}, "UnknownPermissionError "},
		{"no key", "*", nil, invalid},
		{"too many", "*", slices.Repeat([]string{cloud.BillingRead}, 51), invalid},
		{"a pattern", "*", []string{"cloud.*"}, invalid},
	} {
		a, err := w.s.Authorize(t.Context(), caller, "acme", "", service.Principal, false)
		if err != nil {
			t.Fatal(err)
		}
		allowed, err := w.s.Evaluate(t.Context(), a, service.EvaluateInput{Key: c.keys, Scope: c.scope})
		got := fmt.Sprint(allowed)
		if err != nil {
			got = said(err)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	a := w.enter(caller, "acme")
	_, err := w.s.Evaluate(t.Context(), a, service.EvaluateInput{Key: []string{cloud.RegistryRead}, Principal: new(authz.UserPrincipal("ci"))})
	expect(t, "another principal", err, "CloudError principal_mismatch")
}

func TestPagesOfTheAccountLogAreTheLog(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	for i := range 40 {
		if i%20 == 3 { // the rest are of one instant with those around
			w.pass(7 * time.Hour)
		}
		if _, err := w.s.InviteSeat(t.Context(), owner, service.SeatInput{UserID: fmt.Sprintf("u%02d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	page := func(q service.AuditQuery, p service.Page) (ids []string, next string) {
		t.Helper()
		list, err := w.s.Audit(t.Context(), owner, q, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list.Rows {
			ids = append(ids, e.ID)
		}
		return ids, list.Next
	}
	about, _ := audited.Of("user:u07")
	for name, q := range map[string]service.AuditQuery{"all": {}, "a family": {Action: "seat.*"}, "of one": {About: &about}} {
		export := q
		export.Export = true
		whole, _ := page(export, service.Page{Limit: 1000})
		for _, limit := range []int{1, 7, 1000} {
			var back []string
			for p := (service.Page{Limit: limit}); ; {
				ids, next := page(q, p)
				if back = append(ids, back...); next == "" {
					break
				}
				p.After = next
			}
			if len(whole) == 0 || !slices.Equal(back, whole) {
				t.Errorf("%s, pages of %d: %v, the log is %v", name, limit, back, whole)
			}
		}
	}
}

func TestTheAccountLogIsReadNewestFirstAndExportedFromTheBeginning(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	started := w.clock.Load()
	for i := range 30 {
		w.pass(7 * time.Hour)
		if _, err := w.s.InviteSeat(t.Context(), owner, service.SeatInput{UserID: fmt.Sprintf("u%02d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	read := func(q service.AuditQuery, p service.Page) (targets []string, next string) {
		t.Helper()
		q.Action = "seat.invite"
		list, err := w.s.Audit(t.Context(), owner, q, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list.Rows {
			targets = append(targets, e.Target)
		}
		return targets, list.Next
	}
	if got, next := read(service.AuditQuery{}, service.Page{Limit: 3}); !slices.Equal(got, []string{"u27", "u28", "u29"}) || next == "" {
		t.Errorf("recent: %v, %q", got, next)
	} else if got, next = read(service.AuditQuery{}, service.Page{Limit: 26, After: next}); len(got) != 26 || got[0] != "u01" || got[25] != "u26" || next == "" {
		t.Errorf("the page before: %v, %q", got, next)
	} else if got, next = read(service.AuditQuery{}, service.Page{Limit: 1, After: next}); !slices.Equal(got, []string{"u00"}) || next != "" {
		t.Errorf("the first page: %v, %q", got, next)
	}
	if got, _ := read(service.AuditQuery{}, service.Page{Limit: 1000}); len(got) != 30 || got[0] != "u00" {
		t.Errorf("all of it: %d", len(got))
	}
	seventh := started + (7 * 7 * time.Hour).Milliseconds() // u06
	if got, _ := read(service.AuditQuery{From: &seventh, To: new(seventh + (7 * time.Hour).Milliseconds())}, service.Page{Limit: 10}); !slices.Equal(got, []string{"u06"}) {
		t.Errorf("from inclusive, to exclusive: %v", got)
	}
	if got, _ := read(service.AuditQuery{Target: "u03"}, service.Page{Limit: 10}); !slices.Equal(got, []string{"u03"}) {
		t.Errorf("by target: %v", got)
	}
	var all []string
	position := ""
	for pages := 0; ; pages++ {
		got, next := read(service.AuditQuery{Export: true, From: &seventh}, service.Page{Limit: 10, After: position})
		all = append(all, got...)
		if position = next; next == "" || pages > 10 {
			break
		}
	}
	if len(all) != 24 || all[0] != "u06" || all[23] != "u29" || !slices.IsSorted(all) {
		t.Errorf("export from u06: %v", all)
	}
}

func TestARoleIsNotDeletedBesideTheGrantThatNamesIt(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	if _, err := w.s.CreateAccountRole(t.Context(), owner, provider.RoleInput{ID: new("billing"), Name: "Billing", Patterns: []string{cloud.BillingRead}}); err != nil {
		t.Fatal(err)
	}
	read, _, err := account.Roles.Get(t.Context(), w.accounts, "acme", "billing")
	if err != nil {
		t.Fatal(err)
	}
	w.allow(owner, provider.GrantInput{Subject: "user:u1", RoleID: "billing"})
	tx := w.accounts.Begin(t.Context())
	account.Roles.Delete(tx, "acme", "billing", read.Version) // as a deletion that counted its grants before
	if err := tx.Commit(); err != error(account.ErrMoved) {
		t.Errorf("the role went from under its grant: %v", err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			_, err := w.s.CreateAccountGrants(t.Context(), w.enter(owner.Caller, "acme"), []provider.GrantInput{{Subject: "user:u1", RoleID: "billing"}}, true)
			expect(t, "grants of one role at the same time", err, "ok")
		})
	}
	wg.Wait()
}

func TestTextThatNoDriverKeepsIsRefusedAndNoOutage(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	const rejects = "ProviderWriteRejectedError validation"
	role := func(id, name, description string) error {
		_, err := w.s.CreateAccountRole(t.Context(), owner, provider.RoleInput{ID: &id, Name: name, Description: description, Patterns: []string{cloud.BillingRead}})
		return err
	}
	_, err := w.s.CreateAccountGrants(t.Context(), owner, []provider.GrantInput{{Subject: "user:a\x00b", Pattern: cloud.BillingRead}}, true)
	expect(t, "a subject", err, rejects)
	_, err = w.s.CreateAccountRevoke(t.Context(), owner, provider.RevokeInput{UserID: "a\x00b", Pattern: cloud.BillingRead})
	expect(t, "a revoke's user", err, rejects)
	expect(t, "a role's id", role("a\x00b", "x", ""), rejects)
	expect(t, "a role's id that no path names", role("a/b", "x", ""), rejects)
	expect(t, "a role's name", role("r", "a\x00b", ""), rejects)
	expect(t, "a role's description", role("r", "x", "\xff"), rejects)
}

func TestTheNewestEntriesOfTheLogAreFound(t *testing.T) {
	w := newWorld(t)
	owner := w.org("acme")
	fast := account.New(w.records, func() int64 { return w.clock.Load() + 5000 }) // another host, whose clock is ahead
	for i := range 7 {
		tx := fast.Begin(t.Context())
		tx.Audit("acme", "other", "org.update", fmt.Sprint(i), nil)
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	for _, limit := range []int{1, 2, 3, 7, 100} {
		list, err := w.s.Audit(t.Context(), owner, service.AuditQuery{Actor: "other"}, service.Page{Limit: limit})
		if err != nil || len(list.Rows) != min(limit, 7) || !slices.IsSortedFunc(list.Rows, func(a, b authz.AuditEntry) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID)) }) {
			t.Errorf("%d of the newest: %+v, %v", limit, list.Rows, err)
		}
	}
	all, err := w.s.Audit(t.Context(), owner, service.AuditQuery{Actor: "other", Export: true}, service.Page{Limit: 100})
	if err != nil || len(all.Rows) != 7 {
		t.Fatalf("%+v, %v", all.Rows, err)
	}
	list, err := w.s.Audit(t.Context(), owner, service.AuditQuery{Actor: "other"}, service.Page{Limit: 3})
	if err != nil || !slices.EqualFunc(list.Rows, all.Rows[4:], func(a, b authz.AuditEntry) bool { return a.ID == b.ID }) {
		t.Errorf("not the last three: %+v, %v", list.Rows, err)
	}
}
