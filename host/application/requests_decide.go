package application

import (
	"context"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

// DecideRequest decides the current stage, then runs the auto stages behind it.
func (a *Application) DecideRequest(ctx context.Context, id string, in provider.DecisionInput) (authz.Request, error) {
	if in.Decision != authz.DecisionApproved && in.Decision != authz.DecisionDenied {
		return authz.Request{}, authz.Validation(`decision must be "approved" or "denied"`)
	}
	var s shape
	s.text("requestId", id, maxID)
	s.id("deciderUserId", in.DeciderUserID)
	s.text("note", in.Note, maxText)
	if s.err != nil {
		return authz.Request{}, s.err
	}
	return a.runOnRequest(ctx, "decideRequest", id, func(ctx context.Context, d *draft, row *authz.Request) error {
		if err := requirePending(*row); err != nil {
			return err
		}
		if err := d.requireOrgRootAt(row.Scope, nounDeciding); err != nil {
			return err
		}
		decider, err := a.approver(ctx, a.judged, in.DeciderUserID, d.now)
		if err != nil {
			return err
		}
		entitled, err := decider.mayDecide(ctx, *row)
		if err != nil {
			return err
		}
		if !entitled {
			return authz.Validation("not an approver for the current stage")
		}
		return d.decide(ctx, row, in)
	})
}

// decide applies a human decision. The grant of an approval is not validated anew;
// only its role must still be there.
func (d *draft) decide(ctx context.Context, row *authz.Request, in provider.DecisionInput) error {
	d.decided(row, in.DeciderUserID, in.Decision, in.Note)
	approvedBy := in.DeciderUserID
	switch {
	case in.Decision == authz.DecisionDenied:
		d.end(row, authz.RequestDenied)
	case atLastStage(*row):
		d.end(row, authz.RequestApproved)
	default:
		approvedBy = ""
		row.StageIndex++
		if err := d.runAuto(ctx, row); err != nil {
			return err
		}
	}
	if row.State == authz.RequestApproved && row.RoleID != "" {
		_, found, err := d.app.store.GetRole(ctx, row.RoleID)
		if err != nil {
			return err
		}
		if !found {
			return authz.Rejected(authz.CodeConflict, "the requested role no longer exists")
		}
		d.require(storage.RequireRole{ID: row.RoleID})
	}
	d.auditAs(in.DeciderUserID, "request."+in.Decision, row.ID, struct {
		Note string `json:"note,omitempty"`
	}{in.Note})
	if row.State == authz.RequestApproved {
		d.grantRequested(*row, approvedBy)
	}
	return nil
}

// CancelRequest withdraws a pending request.
func (a *Application) CancelRequest(ctx context.Context, id, byUserID string) (authz.Request, error) {
	var s shape
	s.text("requestId", id, maxID)
	s.id("byUserId", byUserID)
	if s.err != nil {
		return authz.Request{}, s.err
	}
	return a.runOnRequest(ctx, "cancelRequest", id, func(_ context.Context, d *draft, row *authz.Request) error {
		if row.RequesterUserID != byUserID {
			return authz.Validation("only the requester may cancel")
		}
		if err := requirePending(*row); err != nil {
			return err
		}
		if err := d.requireOrgRootAt(row.Scope, nounCancelling); err != nil {
			return err
		}
		d.end(row, authz.RequestCancelled)
		d.auditAs(byUserID, "request.cancel", row.ID, nil)
		return nil
	})
}

// runOnRequest changes one stored request in its section. The commit expects it
// where it was read: clean-up cancels requests without taking the section.
func (a *Application) runOnRequest(ctx context.Context, op, id string, change func(context.Context, *draft, *authz.Request) error) (authz.Request, error) {
	var row authz.Request
	plan := func(ctx context.Context, d *draft) error {
		var found bool
		var err error
		if row, found, err = a.store.GetRequest(ctx, id); err != nil {
			return err
		}
		if !found {
			return authz.Rejected(authz.CodeNotFound, "request not found")
		}
		expect := asRead(row)
		if err := change(ctx, d, &row); err != nil {
			return err
		}
		d.change(storage.UpdateRequest{Request: row, Expect: expect})
		return nil
	}
	if err := a.run(ctx, write{op: op, sections: []string{sectionRequest + id}, plan: plan}); err != nil {
		return authz.Request{}, err
	}
	return row, nil
}

func requirePending(row authz.Request) error {
	if row.State != authz.RequestPending {
		return authz.Rejected(authz.CodeConflict, "request is %s", row.State)
	}
	return nil
}

// currentStage is the zero Stage, which nobody decides, where a foreign row points
// outside its own stages.
func currentStage(row authz.Request) authz.Stage {
	if row.StageIndex < 0 || row.StageIndex >= int64(len(row.Stages)) {
		return authz.Stage{}
	}
	return row.Stages[row.StageIndex]
}

func atLastStage(row authz.Request) bool { return row.StageIndex >= int64(len(row.Stages))-1 }

// decided notes a decision of the current stage.
func (d *draft) decided(row *authz.Request, by, decision, note string) {
	row.Decisions = append(row.Decisions, authz.Decision{
		StageIndex: row.StageIndex, DecidedBy: by, Decision: decision, At: d.now, Note: note})
}

func (d *draft) end(row *authz.Request, state authz.RequestState) {
	at := d.now
	row.State, row.DecidedAt = state, &at
}

// grantRequested drafts the grant of an approved request; approvedBy is "" when an
// auto stage was the last to decide.
func (d *draft) grantRequested(row authz.Request, approvedBy string) {
	prov := authz.Provenance{Kind: authz.ProvenanceRequest, RequestID: row.ID, ApprovedBy: approvedBy}
	grant := authz.Grant{ID: d.app.ids(), Subject: authz.SubjectOf(authz.SubjectUser, row.RequesterUserID),
		RoleID: row.RoleID, Pattern: row.Pattern, Scope: row.Scope, ExpiresAt: row.ProposedExpiresAt, Provenance: d.via(prov), CreatedAt: d.now}
	d.change(storage.InsertGrant{Grant: grant})
	d.auditAs(prov.Actor(), "grant.create", grant.ID, detailOf(grant))
	d.emit(authz.SubjectEvents(grant.Subject)...)
}
