package federation_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/host/service/billing"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/federation"
	"github.com/authzhost/authz/host/service/orgroot"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// merged is a world of two members.
func merged(t testing.TB) *world {
	t.Helper()
	w := newWorld(t, "docs")
	fill(t, w.far["docs"].administered(t), "docs")
	_, err := w.federate("docs", federation.Input{})
	must(t, err)
	fill(t, w.link("mail"), "mail")
	w.settle(t, "mail")
	_, err = w.federate("mail", federation.Input{Resolutions: w.settled})
	must(t, err)
	return w
}

func (w *world) sync(t testing.TB) {
	t.Helper()
	results, err := w.moves.Sync(ctx, w.by(t, "olga"), "")
	must(t, err)
	for _, r := range results {
		if !r.Applied {
			t.Fatalf("synced: %+v", results)
		}
	}
}

// syncDue is what a host does every two seconds.
func (w *world) syncDue(t testing.TB) {
	t.Helper()
	must(t, w.moves.SyncDue(ctx, "acme"))
	w.moves.Settled()
}

func TestAMemberCannotBeDemotedWhileThereAreOthers(t *testing.T) {
	w := merged(t)
	_, err := w.demote("docs")
	wantCode(t, err, "not_last_member")
	if !strings.HasPrefix(err.Error(), "mail is a member as well:") {
		t.Error(err)
	}
	if w.org().Moving != "" {
		t.Error("something moves")
	}
}

func TestEveryMemberHasTheMergedOrganization(t *testing.T) {
	w := merged(t)
	w.sync(t)
	want := sorted(w.hosted())
	for name := range w.far {
		if got := sorted(w.dataset(t, scene{app: name})); got != want {
			t.Errorf("%s holds\n%s\nnot\n%s", name, got, want)
		}
	}
	rows, err := w.far["mail"].GetSubjectAccess(ctx, authz.UserPrincipal("ann"))
	must(t, err)
	groups := 0
	for _, s := range rows.Closure {
		if kind, _, _ := authz.ParseSubject(s); kind == authz.SubjectGroup {
			groups++
		}
	}
	if groups != 4 {
		t.Errorf("ann's closure at mail is %v", rows.Closure)
	}
}

func TestASubjectIsDeletedAtEveryMember(t *testing.T) {
	w := merged(t)
	gone, err := w.root.DeleteSubject(ctx, w.by(t, "olga"), "user:ann")
	must(t, err)
	if len(gone.Members) != 2 || gone.Members[0].DeletedGrants != 1 || gone.Members[1].DeletedGrants != 1 || gone.Members[0].Error != "" {
		t.Errorf("deleted: %+v", gone)
	}
	w.sync(t)
	for name, f := range w.far {
		rows, err := f.GetSubjectAccess(ctx, authz.UserPrincipal("ann"))
		must(t, err)
		if len(rows.Grants) != 0 || len(rows.Closure) > 2 { // user:ann, everyone
			t.Errorf("%s still knows ann: %v %v", name, rows.Closure, rows.Grants)
		}
	}
	// One member is down: the others are cleaned, and the answer says to repeat.
	w.far["mail"].hinder(func(_ string, _ http.ResponseWriter, _ *http.Request, _ http.Handler) { panic(http.ErrAbortHandler) })
	gone, err = w.root.DeleteSubject(ctx, w.by(t, "olga"), "user:dora")
	must(t, err)
	if gone.Members[0].Error != "" || gone.Members[1].Error == "" {
		t.Errorf("deleted: %+v", gone)
	}
}

func TestTheInboxAsksTheRootAndEveryMember(t *testing.T) {
	w := merged(t)
	_, err := w.root.CreateRole(ctx, w.by(t, "olga"), provider.RoleInput{ID: new("wanted"), Name: "Wanted", Patterns: []string{"docs.admin.read"},
		Requestable: &authz.Requestable{Stages: []authz.Stage{{Kind: "named_approvers", RoleID: "docs-reader"}}}})
	must(t, err)
	_, err = w.root.Submit(ctx, w.by(t, "olga"), provider.RequestInput{RoleID: "wanted"})
	must(t, err)
	w.sync(t)
	in, err := w.root.Requests(ctx, w.by(t, "olga"), orgroot.RequestFilter{}, orgroot.Page{Limit: 10})
	must(t, err)
	if len(in.Rows) != 1 || in.Rows[0].Application != nil || len(in.Unavailable) != 0 {
		t.Errorf("the inbox: %+v", in) // the members' copies are none of it
	}
	w.far["mail"].hinder(func(_ string, _ http.ResponseWriter, _ *http.Request, _ http.Handler) { panic(http.ErrAbortHandler) })
	in, err = w.root.Requests(ctx, w.by(t, "olga"), orgroot.RequestFilter{}, orgroot.Page{Limit: 10})
	must(t, err)
	if len(in.Rows) != 1 || len(in.Unavailable) != 1 || in.Unavailable[0].Application != "mail" {
		t.Errorf("the inbox with a member down: %+v", in)
	}
}

func TestAnExplanationAtAnInstanceHasTheOwnersRows(t *testing.T) {
	w := merged(t)
	told, err := w.root.Explain(ctx, w.by(t, "olga"), authz.UserPrincipal("ann"), "mail.files.read", "mail.doc:1")
	must(t, err)
	if !told.Allowed || len(told.MatchedGrants) != 2 { // by her group at *, and her own there
		t.Errorf("explained: %+v", told)
	}
}

func TestSyncsGoToWhoIsBehindAndAreSlowedOverACap(t *testing.T) {
	w := merged(t)
	w.clock.Add(121_000) // what was before is surely before, however clocks differ
	w.syncDue(t)
	at := func(app string) int64 { return *w.app(app).LastSyncAt }
	first := at("docs")
	w.clock.Add(1000)
	w.syncDue(t)
	if at("docs") != first {
		t.Error("a member that lacks nothing was synced")
	}
	_, err := w.meters.SetCap(ctx, "olga", "acme", billing.ReadModelSyncs, new(int64(1)))
	must(t, err)
	w.clock.Add(61_000) // beyond what two clocks may differ
	w.syncDue(t)
	w.clock.Add(61_000)
	w.give(t, "user:new", "docs.admin.read")
	w.syncDue(t)
	if at("docs") != first {
		t.Error("a grant was not slowed")
	}
	_, err = w.moves.Sync(ctx, w.by(t, "olga"), "")
	must(t, err)
	_, err = w.moves.Sync(ctx, w.by(t, "olga"), "")
	wantCode(t, err, "rate_limited")
	by := at("docs")
	w.clock.Add(121_000)
	w.give(t, "user:newer", "docs.admin.read")
	w.syncDue(t)
	if at("docs") != by {
		t.Error("a grant was not slowed")
	}
	_, _, err = w.root.CreateRevoke(ctx, w.by(t, "olga"), provider.RevokeInput{UserID: "dora", Pattern: "docs.*"})
	must(t, err)
	w.syncDue(t)
	if at("docs") == by {
		t.Error("a revoke was slowed")
	}
	w.clock.Add(16 * 60_000)
	w.give(t, "user:newest", "docs.admin.read")
	w.syncDue(t)
	if rows, _ := w.far["docs"].GetSubjectAccess(ctx, authz.UserPrincipal("newest")); len(rows.Grants) != 1 {
		t.Error("a slowed sync never came")
	}
}

func TestAMemberThatMissesASyncKeepsWhatItHas(t *testing.T) {
	w := merged(t)
	w.sync(t)
	w.far["mail"].hinder(func(_ string, _ http.ResponseWriter, _ *http.Request, _ http.Handler) { panic(http.ErrAbortHandler) })
	w.give(t, "user:zoe", "docs.admin.read")
	results, err := w.moves.Sync(ctx, w.by(t, "olga"), "mail")
	must(t, err)
	if r := results[0]; r.Applied || r.Code != "application_timeout" || r.Message == "" {
		t.Errorf("synced: %+v", r)
	}
	w.syncDue(t)
	for name, want := range map[string]int{"docs": 1, "mail": 0} {
		if rows, _ := w.far[name].GetSubjectAccess(ctx, authz.UserPrincipal("zoe")); len(rows.Grants) != want {
			t.Errorf("zoe holds %v at %s", rows.Grants, name)
		}
	}
	w.far["mail"].hinder(nil)
	w.clock.Add(60_000)
	w.syncDue(t)
	if rows, _ := w.far["mail"].GetSubjectAccess(ctx, authz.UserPrincipal("zoe")); len(rows.Grants) != 1 {
		t.Errorf("zoe holds %v at mail", rows.Grants)
	}
}

// A request that was decided at the hosted root is nobody's to decide again after a
// demotion.
func TestARequestThatWasDecidedElsewhereIsNotPendingAfterADemotion(t *testing.T) {
	w := newWorld(t, "docs")
	docs := w.far["docs"].administered(t)
	_, err := docs.CreateRole(ctx, provider.RoleInput{ID: new("boss"), Name: "Boss", Patterns: []string{"docs.admin.read"},
		Requestable: &authz.Requestable{Stages: []authz.Stage{{Kind: "named_approvers", RoleID: "approver"}}}}, root)
	must(t, err)
	_, err = docs.CreateRole(ctx, provider.RoleInput{ID: new("approver"), Name: "Approver", Patterns: []string{"docs.admin.read"}}, root)
	must(t, err)
	_, err = docs.CreateGrant(ctx, provider.GrantInput{Subject: "user:olga", RoleID: "approver"}, root)
	must(t, err)
	asked, err := docs.SubmitRequest(ctx, provider.RequestInput{RequesterUserID: "ann", RoleID: "boss"})
	must(t, err)
	_, err = w.federate("docs", federation.Input{})
	must(t, err)
	_, err = w.root.DecideRequest(ctx, w.by(t, "olga"), asked.ID, "", provider.DecisionInput{Decision: "denied"})
	must(t, err)
	_, err = w.demote("docs")
	must(t, err)
	defer func() { // nor is it pending at the hosted root again, where it was decided
		_, err := docs.store.Commit(ctx, storage.Commit{ID: "restored", At: 1, Changes: []storage.Change{storage.InsertRequest{Request: asked}}})
		must(t, err)
		done, err := w.federate("docs", federation.Input{})
		must(t, err)
		if len(done.Warnings) != 1 || done.Imported.PendingRequests != 0 {
			t.Errorf("%+v", done)
		}
		if _, err = w.root.DecideRequest(ctx, w.by(t, "olga"), asked.ID, "", provider.DecisionInput{Decision: "approved"}); err == nil {
			t.Error("a request that was denied was approved")
		}
	}()
	if _, err := docs.DecideRequest(ctx, asked.ID, provider.DecisionInput{DeciderUserID: "olga", Decision: "approved"}); err == nil {
		t.Error("a request that was denied was approved")
	}
}

// What an application cannot do while it is moved, and who else may not move.
func TestWhileAMoveIsUnderWay(t *testing.T) {
	w := newWorld(t, "docs", "mail")
	w.far["docs"].administered(t)
	w.moves.At(func(point string) error {
		if point == "before flip" {
			return errKilled
		}
		return nil
	})
	if _, err := w.federate("docs", federation.Input{}); err == nil {
		t.Fatal("it was not killed")
	}
	other := w.newHost(quick)
	a := other.by(t, "olga")
	_, err := other.entries.Link(ctx, "olga", "acme", "docs", w.far["docs"].url)
	wantCode(t, err, "operation_in_progress")
	_, err = other.entries.Unlink(ctx, "olga", "acme", "docs")
	wantCode(t, err, "operation_in_progress")
	wantCode(t, other.entries.Delete(ctx, "olga", "acme", "docs", ""), "operation_in_progress")
	_, err = other.moves.Federate(ctx, a, "mail", federation.Input{})
	wantCode(t, err, "operation_in_progress")
	_, _, err = other.root.CreateGrant(ctx, a, provider.GrantInput{Subject: "user:x", Pattern: "docs.admin.read"})
	wantCode(t, err, "org_root_moving")
	wantField(t, err, "application", "docs")
	if _, err := other.root.Grants(ctx, a, authz.GrantSearch{}, orgroot.Page{Limit: 10}); err != nil {
		t.Errorf("the org is not read: %v", err)
	}
	done, err := other.moves.Federate(ctx, a, "docs", federation.Input{}) // joins
	must(t, err)
	if done.Application.State != applications.Federated {
		t.Errorf("%+v", done.Application)
	}
}

func TestPreconditionsOfAMove(t *testing.T) {
	w := newWorld(t, "docs", "mail")
	_, err := w.federate("mail", federation.Input{})
	wantCode(t, err, "invalid_transition")
	_, err = w.demote("docs")
	wantCode(t, err, "invalid_transition")
	_, err = w.federate("nothing", federation.Input{})
	wantCode(t, err, "application_not_found")
	_, err = w.federate("docs", federation.Input{})
	wantCode(t, err, "no_org_administrator")
	w.far["docs"].administered(t)
	_, err = w.meters.SetCap(ctx, "olga", "acme", billing.FederatedApplications, new(int64(0)))
	must(t, err)
	_, err = w.federate("docs", federation.Input{})
	wantCode(t, err, "cap_reached")
	_, err = w.meters.SetCap(ctx, "olga", "acme", billing.FederatedApplications, nil)
	must(t, err)
	w.far["docs"].hinder(func(_ string, _ http.ResponseWriter, _ *http.Request, _ http.Handler) { panic(http.ErrAbortHandler) })
	_, err = w.federate("docs", federation.Input{})
	wantCode(t, err, "probe_failed")
	w.far["docs"].hinder(nil)
	bare := w.serve("bare")
	_, err = w.entries.Register(ctx, "olga", "acme", applications.Registration{ID: "bare", Name: "bare", Namespaces: []string{"bare"}})
	must(t, err)
	link, err := w.entries.Link(ctx, "olga", "acme", "bare", bare.url)
	must(t, err)
	bare.secret.Store(link.ProviderSecret)
	_, err = w.federate("docs", federation.Input{})
	must(t, err)
	_, err = w.federate("bare", federation.Input{})
	wantCode(t, err, "catalog_not_published")
	// Who does not administer the hosted root merges nothing into it.
	grants, err := w.root.Grants(ctx, w.by(t, "olga"), authz.GrantSearch{}, orgroot.Page{Limit: 10})
	must(t, err)
	must(t, w.root.DeleteGrant(ctx, w.by(t, "olga"), grants.Rows[0].ID, ""))
	_, err = w.federate("mail", federation.Input{})
	wantCode(t, err, "forbidden")
}

// Who merges confers what account rows then give to the members of a group.
func TestAMergeConfersNothingThatItsCallerLacks(t *testing.T) {
	w := newWorld(t, "docs")
	fill(t, w.far["docs"].administered(t), "docs")
	_, err := w.federate("docs", federation.Input{})
	must(t, err)
	// A group of the org has an account right, and the application that joins brings
	// somebody who is in it.
	a := w.by(t, "olga")
	_, home, err := w.root.CreateGrant(ctx, a, provider.GrantInput{Subject: "group:docs-all", Pattern: "cloud.billing.read"})
	must(t, err)
	if home.Kind != "account" {
		t.Fatalf("the home is %+v", home)
	}
	mail := w.link("mail")
	_, err = mail.CreateGroup(ctx, provider.GroupInput{ID: new("docs-all"), Name: "docs all"}, root)
	must(t, err)
	must(t, mail.SetGroupMembership(ctx, "mallory", []string{"docs-all"}, root))
	_, _, err = w.root.CreateGrant(ctx, a, provider.GrantInput{Subject: "service:robot", Pattern: "cloud.applications.federate_application"})
	must(t, err)
	w.give(t, "service:robot", "authz_internal.*")
	robot, err := w.service.Authorize(ctx, service.Caller{Kind: service.CallerPrincipal, Org: "acme", ServiceID: "robot"}, "acme", "mail",
		service.CloudAtApp(cloud.FederateApplication), true)
	must(t, err)
	plan, err := w.moves.Federate(ctx, robot, "mail", federation.Input{DryRun: true})
	must(t, err)
	in := federation.Input{Fingerprint: plan.Fingerprint, Resolutions: map[string]authz.Resolution{}}
	for _, c := range plan.Conflicts {
		in.Resolutions[c.ID] = authz.Resolution{Action: c.Actions[len(c.Actions)-1]} // unite, accept
	}
	if !strings.HasPrefix(plan.Fingerprint, "sha256:") || len(plan.Conflicts) == 0 {
		t.Fatalf("%+v", plan)
	}
	for _, dry := range []bool{true, false} {
		in.DryRun = dry
		_, err = w.moves.Federate(ctx, robot, "mail", in)
		wantCode(t, err, "escalation_refused")
	}
	settled, err := w.federate("mail", federation.Input{DryRun: true, Resolutions: in.Resolutions, Fingerprint: in.Fingerprint})
	must(t, err)
	if settled.Fingerprint != in.Fingerprint || len(settled.Conflicts) != 0 {
		t.Errorf("a settled dry run: %+v", settled)
	}
	if w.app("mail").State != applications.Linked || w.org().Moving != "" {
		t.Errorf("mail is %s", w.app("mail").State)
	}
	_, err = w.federate("mail", in) // the owner holds it
	must(t, err)
}

// A dataset that no commit takes is refused before anything is frozen, a dry run included.
func TestAnOrganizationThatIsTooLarge(t *testing.T) {
	w := newWorld(t, "docs")
	w.far["docs"].administered(t)
	for _, dry := range []bool{true, false} {
		w.moves.Bound(100)
		_, err := w.federate("docs", federation.Input{DryRun: dry})
		wantCode(t, err, "validation")
	}
	if w.org().Moving != "" {
		t.Error("something moves")
	}
	w.moves.Bound(1 << 20)
	_, err := w.federate("docs", federation.Input{})
	must(t, err)
	w.moves.Bound(100)
	_, err = w.moves.Demote(ctx, w.by(t, "olga"), "docs", true)
	wantCode(t, err, "validation")
}

// What is pushed before the flip moves nothing, so its failure leaves no doubt.
func TestAFailureBeforeTheFlipIsNotApplied(t *testing.T) {
	w := newWorld(t, "docs")
	w.far["docs"].administered(t)
	_, err := w.federate("docs", federation.Input{})
	must(t, err)
	w.far["docs"].hinder(func(op string, rw http.ResponseWriter, r *http.Request, serve http.Handler) {
		if op == "applyOrgSnapshot" {
			panic(http.ErrAbortHandler)
		}
		serve.ServeHTTP(rw, r)
	})
	_, err = w.demote("docs")
	wantCode(t, err, "application_timeout")
	wantField(t, err, "outcome", string(authz.OutcomeNotApplied))
	if w.app("docs").State != applications.Federated || w.org().Moving != "" {
		t.Errorf("docs is %s", w.app("docs").State)
	}
}
