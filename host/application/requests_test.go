package application_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/host/application"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// Each stage list is walked from the submission on by the decisions given; what is
// left is the state, the trace, the audit log and the events.
func TestRequestsWalkTheirStages(t *testing.T) {
	const submitted = `rex request.submit id000001 {"roleId":"jit","scope":"*","requesterUserId":"rex"}`
	type outcome struct {
		State  authz.RequestState
		Index  int64
		Trace  []string // stage, who, decision
		Audit  []string
		Events []authz.Event
	}
	told := []authz.Event{authz.SubjectEvent("user:rex"), authz.UserEvent("rex")}
	grant := func(actor, id string) string {
		return actor + ` grant.create ` + id + ` {"subject":"user:rex","roleId":"jit","scope":"*"}`
	}
	for _, c := range []struct {
		sentence  string
		stages    []authz.Stage
		decisions []string // of ann
		want      outcome
	}{
		{"it waits at a human stage", stages(named("approver")), nil, outcome{"pending", 0, nil, []string{submitted}, nil}},
		{"approval of the last stage is the grant", stages(named("approver")), []string{"approved"}, outcome{"approved", 0, []string{"0 ann approved"},
			[]string{submitted, `ann request.approved id000001 {}`, grant("ann", "id000004")}, told}},
		{"a denial is final at any stage and grants nothing", stages(named("approver"), named("approver")), []string{"denied"}, outcome{"denied", 0, []string{"0 ann denied"},
			[]string{submitted, `ann request.denied id000001 {}`}, nil}},
		{"an approval with a stage behind it moves on", stages(named("approver"), named("approver")), []string{"approved"}, outcome{"pending", 1, []string{"0 ann approved"},
			[]string{submitted, `ann request.approved id000001 {}`}, nil}},
		{"each human stage is decided", stages(named("approver"), named("approver")), []string{"approved", "approved"}, outcome{"approved", 1,
			[]string{"0 ann approved", "1 ann approved"},
			[]string{submitted, `ann request.approved id000001 {}`, `ann request.approved id000001 {}`, grant("ann", "id000005")}, told}},
		{"a met auto stage at the end grants at once", stages(met), nil, outcome{"approved", 0, []string{"0 auto approved"},
			[]string{submitted, grant("auto", "id000003")}, told}},
		{"a met auto stage moves on", stages(met, met, named("approver")), nil, outcome{"pending", 2, []string{"0 auto approved", "1 auto approved"}, []string{submitted}, nil}},
		{"an unmet auto stage abstains", stages(unmet, unmet, named("approver")), nil, outcome{"pending", 2, nil, []string{submitted}, nil}},
		{"an unmet auto stage at the end denies", stages(met, unmet), nil, outcome{"denied", 1, []string{"0 auto approved", "1 auto denied auto-denied"}, []string{submitted}, nil}},
		{"abstentions do not hinder an approval", stages(unmet, met), nil, outcome{"approved", 1, []string{"1 auto approved"}, []string{submitted, grant("auto", "id000003")}, told}},
		{"auto stages behind a human one run with the decision", stages(named("approver"), unmet, met), []string{"approved"}, outcome{"approved", 2,
			[]string{"0 ann approved", "2 auto approved"}, []string{submitted, `ann request.approved id000001 {}`, grant("auto", "id000004")}, told}},
		{"and may deny what a human approved", stages(named("approver"), unmet), []string{"approved"}, outcome{"denied", 1,
			[]string{"0 ann approved", "1 auto denied auto-denied"}, []string{submitted, `ann request.approved id000001 {}`}, nil}},
		{"a human decides between auto stages", stages(met, named("approver"), met, named("approver")), []string{"approved", "denied"}, outcome{"denied", 3,
			[]string{"0 auto approved", "1 ann approved", "2 auto approved", "3 ann denied"},
			[]string{submitted, `ann request.approved id000001 {}`, `ann request.denied id000001 {}`}, nil}},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			w := newWorkflow(t, c.stages)
			var row authz.Request
			e := observe(t, w.Application, func() error {
				row = w.submit()
				for _, decision := range c.decisions {
					var err error
					if row, err = w.decide(row.ID, "ann", decision); err != nil {
						return err
					}
				}
				return nil
			})
			got := outcome{State: row.State, Index: row.StageIndex, Audit: e.Audit, Events: e.Events}
			for _, d := range row.Decisions {
				line := string(rune('0'+d.StageIndex)) + " " + d.DecidedBy + " " + d.Decision
				if d.Note != "" {
					line += " " + d.Note[:len("auto-denied")]
				}
				got.Trace = append(got.Trace, line)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			stored, _, err := w.store.GetRequest(t.Context(), row.ID)
			must(t, err)
			if diff := cmp.Diff(row, stored, unexported); diff != "" {
				t.Errorf("(-returned +stored):\n%s", diff)
			}
			if (row.DecidedAt != nil) != (row.State != authz.RequestPending) || (len(w.granted()) == 1) != (row.State == authz.RequestApproved) {
				t.Errorf("%s at %v with the grants %v", row.State, row.DecidedAt, w.granted())
			}
		})
	}
}

func TestTheGrantOfAnApprovalCarriesTheProposal(t *testing.T) {
	w := newWorkflow(t, nil)
	row, err := w.SubmitRequest(t.Context(), provider.RequestInput{RequesterUserID: "rex", Pattern: "docs.files.*", Scope: "docs.folder:low",
		Justification: map[string]string{"why": "audit", "env": "dev", "ticket": "T-1"}})
	must(t, err)
	limit := authz.ExpiresAt(now + 1000)
	want := authz.Request{ID: "id000001", RequesterUserID: "rex", Pattern: "docs.files.*", Scope: "docs.folder:low", ProposedExpiresAt: limit,
		Justification: map[string]string{"why": "audit", "env": "dev", "ticket": "T-1"}, State: authz.RequestPending, Stages: stages(named("approver")), CreatedAt: now}
	if diff := cmp.Diff(want, row, unexported); diff != "" {
		t.Error(diff)
	}
	w.now += 5000 // past the proposed expiry: an approval is not validated anew
	var decided authz.Request
	e := observe(t, w.Application, func() error {
		decided, err = w.DecideRequest(t.Context(), row.ID, provider.DecisionInput{DeciderUserID: "ann", Decision: "approved", Note: "fine"})
		return err
	})
	if diff := cmp.Diff([]string{`ann request.approved id000001 {"note":"fine"}`,
		`ann grant.create id000004 {"subject":"user:rex","pattern":"docs.files.*","scope":"docs.folder:low","expiresAt":1700000001000}`}, e.Audit); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]authz.Grant{{ID: "id000004", Subject: "user:rex", Pattern: "docs.files.*", Scope: "docs.folder:low", ExpiresAt: limit, CreatedAt: w.now,
		Provenance: authz.Provenance{Kind: authz.ProvenanceRequest, RequestID: "id000001", ApprovedBy: "ann"}}}, w.granted(), unexported); diff != "" {
		t.Error(diff)
	}
	want.State, want.DecidedAt = authz.RequestApproved, &w.now
	want.Decisions = []authz.Decision{{DecidedBy: "ann", Decision: "approved", At: w.now, Note: "fine"}}
	if diff := cmp.Diff(want, decided, unexported); diff != "" {
		t.Error(diff)
	}
}

func TestProposedExpiries(t *testing.T) {
	for _, c := range []struct {
		sentence    string
		requestable authz.Requestable
		proposed    authz.Expiry
		want        authz.Expiry
	}{
		{"none is needed", authz.Requestable{}, authz.Expiry{}, authz.Expiry{}},
		{"any is kept", authz.Requestable{}, authz.ExpiresAt(now + 1), authz.ExpiresAt(now + 1)},
		{"the maximum stands in for none", authz.Requestable{MaxDurationMs: 10}, authz.Expiry{}, authz.ExpiresAt(now + 10)},
		{"exactly the maximum is allowed", authz.Requestable{MaxDurationMs: 10, RequireExpiry: true}, authz.ExpiresAt(now + 10), authz.ExpiresAt(now + 10)},
		{"a maximum beyond all instants ends with them", authz.Requestable{MaxDurationMs: authz.MaxInstant}, authz.Expiry{}, authz.ExpiresAt(authz.MaxInstant)},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			c.requestable.Stages = stages(named("approver"))
			w := newWorkflow(t, nil, storage.UpsertRole{Role: authz.Role{ID: "dated", Name: "Dated", Requestable: &c.requestable}})
			row, err := w.SubmitRequest(t.Context(), provider.RequestInput{RequesterUserID: "rex", RoleID: "dated", ProposedExpiresAt: c.proposed})
			must(t, err)
			if row.ProposedExpiresAt != c.want {
				t.Errorf("proposed %v, want %v", row.ProposedExpiresAt, c.want)
			}
		})
	}
}

func TestPolicyIsASnapshotAndTheWorldIsNot(t *testing.T) {
	w := newWorkflow(t, stages(named("approver"), auto(authz.Predicate{Type: authz.PredicateInGroup, GroupID: "late"})),
		storage.UpsertGroup{Group: authz.Group{ID: "late", Name: "Late"}})
	row := w.submit()
	_, err := w.UpdateRole(t.Context(), "jit", provider.RoleUpdate{Requestable: &authz.Requestable{Stages: stages(met)}}, root)
	must(t, err)
	must(t, w.SetGroupMembership(t.Context(), "rex", []string{"late"}, root))
	row, err = w.decide(row.ID, "ann", "approved")
	must(t, err)
	if row.State != authz.RequestApproved || len(row.Stages) != 2 || len(row.Decisions) != 2 {
		t.Errorf("%+v", row)
	}
}

func TestCancellationIsTheRequestersAndLeavesNoEvent(t *testing.T) {
	w := newWorkflow(t, stages(named("approver")))
	row := w.submit()
	w.now += 7
	var got authz.Request
	e := observe(t, w.Application, func() (err error) { got, err = w.CancelRequest(t.Context(), row.ID, "rex"); return err })
	row.State, row.DecidedAt = authz.RequestCancelled, &w.now
	if diff := cmp.Diff(row, got, unexported); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(effects{Audit: []string{"rex request.cancel " + row.ID}}, e); diff != "" {
		t.Error(diff)
	}
	_, err := w.decide(row.ID, "ann", "approved")
	isRefused(authz.CodeConflict)(t, err)
}

func TestRequestsAreListedByFilter(t *testing.T) {
	w := newWorkflow(t, stages(named("approver")))
	pending, denied := w.submit(), w.submit()
	other, err := w.SubmitRequest(t.Context(), provider.RequestInput{RequesterUserID: "__proto__", RoleID: "jit"})
	must(t, err)
	_, err = w.decide(denied.ID, "ann", "denied")
	must(t, err)
	for _, c := range []struct {
		sentence string
		query    provider.RequestQuery
		want     []string
	}{
		{"everything", provider.RequestQuery{}, []string{pending.ID, denied.ID, other.ID}},
		{"by state", provider.RequestQuery{State: ptr(authz.RequestPending)}, []string{pending.ID, other.ID}},
		{"by an unheard-of state", provider.RequestQuery{State: ptr(authz.RequestState("open"))}, nil},
		{"by requester", provider.RequestQuery{RequesterUserID: ptr("__proto__")}, []string{other.ID}},
		{"by both", provider.RequestQuery{State: ptr(authz.RequestDenied), RequesterUserID: ptr("rex")}, []string{denied.ID}},
		{"a page", provider.RequestQuery{Paging: provider.Paging{After: pending.ID, Limit: 1}}, []string{denied.ID}},
		{"the last page", provider.RequestQuery{Paging: provider.Paging{After: other.ID, Limit: 1}}, nil},
	} {
		var got []string
		for _, q := range rows(t, w.ListRequests(t.Context(), c.query)) {
			got = append(got, q.ID)
		}
		if !slices.Equal(c.want, got) {
			t.Errorf("%s: %v, want %v", c.sentence, got, c.want)
		}
	}
}

func TestAnAncestryThatFailsIsAnOutageOfTheSubmission(t *testing.T) {
	stage := auto(authz.Predicate{Type: authz.PredicateHoldsPattern, Pattern: "docs.files.read"})
	// Held globally already: even so the answer must not depend on what resolves.
	here, everywhere := holds("g", "user:rex", "docs.files.read", "docs.folder:1"), holds("g0", "user:rex", "docs.files.read", "*")
	down := errors.New("ancestry is down")
	w := openWorkflow(t, openStore(t), application.Options{Ancestry: application.AncestryFunc(func(context.Context, string) ([]string, error) {
		return nil, down
	})}, stages(stage, met), here, everywhere)
	before := everything(t, w.store)
	_, err := w.SubmitRequest(t.Context(), provider.RequestInput{RequesterUserID: "rex", RoleID: "jit"})
	isUnavailable(authz.OutcomeNotApplied)(t, err)
	if !errors.Is(err, down) {
		t.Errorf("the cause is lost: %v", err)
	}
	if diff := cmp.Diff(before, everything(t, w.store), unexported); diff != "" {
		t.Error(diff)
	}
}
