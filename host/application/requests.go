package application

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	nounRequest    = "a global-scope access request"
	nounDeciding   = "deciding a global-scope access request"
	nounCancelling = "cancelling a global-scope access request"
)

func checkRequestInput(in provider.RequestInput) error {
	var s shape
	s.id("requesterUserId", in.RequesterUserID)
	s.text("roleId", in.RoleID, maxID)
	s.text("pattern", in.Pattern, maxID)
	s.text("scope", in.Scope, maxID)
	s.newID("requesterUserId", in.RequesterUserID)
	s.newID("scope", in.Scope)
	for _, prompt := range slices.Sorted(maps.Keys(in.Justification)) {
		s.text("prompt id", prompt, maxID)
		s.text("answer", in.Justification[prompt], maxText)
	}
	return s.err
}

// SubmitRequest files a request. The requester is the actor, and need not be
// active.
func (a *Application) SubmitRequest(ctx context.Context, in provider.RequestInput) (authz.Request, error) {
	if err := checkRequestInput(in); err != nil {
		return authz.Request{}, err
	}
	scope := orGlobal(in.Scope)
	w := write{op: "submitRequest"}
	if scope == authz.Global {
		w.rootOnly = nounRequest
	}
	if in.RoleID != "" || a.policyNamesRole(scope) {
		w.sections = []string{sectionRoles}
	}
	var row authz.Request
	w.plan = func(ctx context.Context, d *draft) error {
		asked, err := d.askable(ctx, in, scope)
		if err != nil {
			return err
		}
		stages, err := checkStages(asked.Stages, a.hierarchy(ctx))
		if err != nil {
			return err
		}
		if err := checkAnswers(asked.Prompts, in.Justification); err != nil {
			return err
		}
		expires, err := proposedExpiry(asked, in.ProposedExpiresAt, d.now)
		if err != nil {
			return err
		}
		row = authz.Request{ID: a.ids(), RequesterUserID: in.RequesterUserID, RoleID: in.RoleID, Pattern: in.Pattern, Scope: scope,
			ProposedExpiresAt: expires, Justification: maps.Clone(in.Justification), State: authz.RequestPending,
			Stages: stages, CreatedAt: d.now}
		if err := d.runAuto(ctx, &row); err != nil {
			return err
		}
		d.change(storage.InsertRequest{Request: row})
		d.auditAs(row.RequesterUserID, "request.submit", row.ID, struct {
			RoleID          string `json:"roleId,omitempty"`
			Pattern         string `json:"pattern,omitempty"`
			Scope           string `json:"scope"`
			RequesterUserID string `json:"requesterUserId"`
		}{row.RoleID, row.Pattern, row.Scope, row.RequesterUserID})
		if row.State == authz.RequestApproved {
			d.grantRequested(row, "")
		}
		return nil
	}
	if err := a.run(ctx, w); err != nil {
		return authz.Request{}, err
	}
	return row, nil
}

// policyNamesRole reports whether a stage of the scope's type does: such a role
// must not go between check and commit.
func (a *Application) policyNamesRole(scope string) bool {
	t, ok := a.catalog.ScopeType(authz.ScopeType(scope))
	return ok && t.Requestable != nil && slices.ContainsFunc(t.Requestable.Stages, func(s authz.Stage) bool {
		return s.Kind == authz.StageNamedApprovers
	})
}

// ListRequests lists by (createdAt, id). A page continues behind the request that
// its After names, which must still be there.
func (a *Application) ListRequests(ctx context.Context, q provider.RequestQuery) iter.Seq2[authz.Request, error] {
	var s shape
	s.filter("state", (*string)(q.State))
	s.filter("requesterUserId", q.RequesterUserID)
	s.page(q.Paging)
	return listed(a, "listRequests", s.err, func() iter.Seq2[authz.Request, error] {
		page := storage.RequestPage{Limit: q.Limit}
		if q.After != "" {
			last, found, err := a.store.GetRequest(ctx, q.After)
			if err == nil && !found {
				err = authz.Validation("after names no stored request: %s", spell.Quote(q.After))
			}
			if err != nil {
				return func(yield func(authz.Request, error) bool) { yield(authz.Request{}, err) }
			}
			page.AfterCreatedAt, page.AfterID = last.CreatedAt, last.ID
		}
		return a.store.ListRequests(ctx, storage.RequestFilter{State: q.State, RequesterUserID: q.RequesterUserID}, page)
	})
}
