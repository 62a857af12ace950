package api

import (
	"context"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Access requests.

type requestResult struct {
	Request authz.Request `json:"request"`
}

func submitRequest(c *call) action {
	in := requestInput(c.nested("input"))
	return func(ctx context.Context) (any, error) {
		row, err := c.app.SubmitRequest(ctx, in)
		return requestResult{row}, err
	}
}

func decideRequest(c *call) action {
	id, in := c.text("requestId"), decisionInput(c.nested("decision"))
	return func(ctx context.Context) (any, error) {
		row, err := c.app.DecideRequest(ctx, id, in)
		return requestResult{row}, err
	}
}

func cancelRequest(c *call) action {
	id, by := c.text("requestId"), c.text("byUserId")
	return func(ctx context.Context) (any, error) {
		row, err := c.app.CancelRequest(ctx, id, by)
		return requestResult{row}, err
	}
}

func listRequests(c *call) action {
	page, limit := c.page()
	q := requestQuery(c.nested("filter"), page)
	return listing("requests", limit, func(ctx context.Context) rowsOf[authz.Request] {
		return c.app.ListRequests(ctx, q)
	}, requestKey)
}

func listApproverQueue(c *call) action {
	approver := c.text("approverUserId")
	return listing("requests", 0, func(ctx context.Context) rowsOf[authz.Request] {
		return c.app.ListApproverQueue(ctx, approver)
	}, requestKey)
}

func requestKey(r authz.Request) any { return r.ID }

func requestInput(o object) provider.RequestInput {
	return provider.RequestInput{
		RequesterUserID:   o.text("requesterUserId"),
		RoleID:            o.nonEmpty("roleId"),
		Pattern:           o.pattern("pattern"),
		Scope:             o.scope("scope"),
		ProposedExpiresAt: o.expiry("proposedExpiresAt"),
		Justification:     o.answers("justification"),
	}
}

func decisionInput(o object) provider.DecisionInput {
	return provider.DecisionInput{DeciderUserID: o.text("deciderUserId"), Decision: o.text("decision"), Note: o.text("note")}
}

func requestQuery(o object, page provider.Paging) provider.RequestQuery {
	return provider.RequestQuery{State: (*authz.RequestState)(o.filterText("state")),
		RequesterUserID: o.filterText("requesterUserId"), Paging: page}
}

// answers reads an object of strings; a member that is null was not answered.
func (o object) answers(field string) map[string]string {
	const want = "an object of strings"
	if !o.has(field) {
		return nil
	}
	given, ok := o.objectOf(o.members[field])
	if !ok {
		o.refuse(field, want)
	}
	read := make(map[string]string, len(given.members))
	for prompt, raw := range given.members {
		if !isNull(raw) {
			read[prompt] = o.textOf(field, raw, want)
		}
	}
	return read
}
