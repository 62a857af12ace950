package provider

import (
	"context"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
)

// Requests administers access requests: proposed grants on their way through the
// approval stages of a role or a scope type (spec: application §12). Approval
// of the last stage is the writing of the grant.
type Requests interface {
	// SubmitRequest files a request in the name of its requester. Leading stages that
	// decide by themselves run at once: the request that comes back may already be
	// approved or denied.
	SubmitRequest(ctx context.Context, in RequestInput) (authz.Request, error)

	// DecideRequest decides the current stage. When two decide at once, one gets
	// CodeConflict.
	DecideRequest(ctx context.Context, id string, in DecisionInput) (authz.Request, error)

	// CancelRequest withdraws a pending request; only its requester may.
	CancelRequest(ctx context.Context, id, byUserID string) (authz.Request, error)

	// ListRequests lists by (createdAt, id). Paging.After is an id.
	ListRequests(ctx context.Context, q RequestQuery) iter.Seq2[authz.Request, error]

	// ListApproverQueue lists the pending requests that the user is entitled to
	// decide now, in the same order.
	ListApproverQueue(ctx context.Context, approverUserID string) iter.Seq2[authz.Request, error]
}

// RequestInput proposes a grant to the requester: exactly one of RoleID and
// Pattern; Scope "" means "*". Justification answers prompts by their ids.
type RequestInput struct {
	RequesterUserID   string            `json:"requesterUserId"`
	RoleID            string            `json:"roleId,omitempty" read:"nonempty"`
	Pattern           string            `json:"pattern,omitempty" read:"pattern"`
	Scope             string            `json:"scope,omitempty" read:"scope"`
	ProposedExpiresAt authz.Expiry      `json:"proposedExpiresAt,omitzero"`
	Justification     map[string]string `json:"justification,omitempty" read:"answers"`
}

// DecisionInput decides the current stage of a request: authz.DecisionApproved or
// authz.DecisionDenied. A Note of "" is none.
type DecisionInput struct {
	DeciderUserID string `json:"deciderUserId"`
	Decision      string `json:"decision"`
	Note          string `json:"note,omitempty"`
}

// RequestQuery selects requests; nil members are absent.
type RequestQuery struct {
	State           *authz.RequestState `json:"state,omitempty" read:"filter"`
	RequesterUserID *string             `json:"requesterUserId,omitempty" read:"filter"`
	Paging          `json:"-"`
}

type (
	requestOut struct {
		Request authz.Request `json:"request"`
	}

	submitRequestIn struct {
		Input RequestInput `json:"input" read:"required"`
	}
	decideRequestIn struct {
		RequestID string        `json:"requestId" read:"required"`
		Decision  DecisionInput `json:"decision" read:"required"`
	}
	cancelRequestIn struct {
		RequestID string `json:"requestId" read:"required"`
		ByUserID  string `json:"byUserId" read:"required"`
	}
	listRequestsIn struct {
		Paged
		Filter RequestQuery `json:"filter"`
	}
	listApproverQueueIn struct {
		ApproverUserID string `json:"approverUserId" read:"required"`
	}
)

var opSubmitRequest = declare(Operation{Op: "submitRequest", Kind: Write, Method: "SubmitRequest",
	Tag: "requests", Summary: "Ask for access", Notes: "Leading automatic stages run at once, so the result may already be decided.", Answer: "The request as it is now."},
	func(ctx context.Context, to Provider, in *submitRequestIn) (requestOut, error) {
		row, err := to.SubmitRequest(ctx, in.Input)
		return requestOut{row}, err
	})

func (c Calls) SubmitRequest(ctx context.Context, in RequestInput) (authz.Request, error) {
	out, err := ask(ctx, c, opSubmitRequest, submitRequestIn{in})
	return out.Request, err
}

var opDecideRequest = declare(Operation{Op: "decideRequest", Kind: Write, Method: "DecideRequest",
	Tag: "requests", Summary: "Approve or deny the current stage of a request", Notes: "Approval of the last stage writes the grant.", Answer: "The request as it is now."},
	func(ctx context.Context, to Provider, in *decideRequestIn) (requestOut, error) {
		row, err := to.DecideRequest(ctx, in.RequestID, in.Decision)
		return requestOut{row}, err
	})

func (c Calls) DecideRequest(ctx context.Context, id string, in DecisionInput) (authz.Request, error) {
	out, err := ask(ctx, c, opDecideRequest, decideRequestIn{id, in})
	return out.Request, err
}

var opCancelRequest = declare(Operation{Op: "cancelRequest", Kind: Write, Method: "CancelRequest",
	Tag: "requests", Summary: "Take a pending request back", Notes: "Only the requester may.", Answer: "The request as it is now."},
	func(ctx context.Context, to Provider, in *cancelRequestIn) (requestOut, error) {
		row, err := to.CancelRequest(ctx, in.RequestID, in.ByUserID)
		return requestOut{row}, err
	})

func (c Calls) CancelRequest(ctx context.Context, id, byUserID string) (authz.Request, error) {
	out, err := ask(ctx, c, opCancelRequest, cancelRequestIn{id, byUserID})
	return out.Request, err
}

var opListRequests = declareList(Operation{Op: "listRequests", Method: "ListRequests", List: "requests",
	Tag: "requests", Summary: "List requests", Answer: "The requests."},
	func(r *authz.Request) any { return r.ID },
	func(ctx context.Context, to Provider, in *listRequestsIn) iter.Seq2[authz.Request, error] {
		in.Filter.Paging = in.paging()
		return to.ListRequests(ctx, in.Filter)
	})

func (c Calls) ListRequests(ctx context.Context, q RequestQuery) iter.Seq2[authz.Request, error] {
	return rows(ctx, c, opListRequests, listRequestsIn{q.paged(), q})
}

var opListApproverQueue = declareList(Operation{Op: "listApproverQueue", Method: "ListApproverQueue", List: "requests",
	Tag: "requests", Summary: "List the pending requests that a user may decide now", Answer: "The requests."},
	func(r *authz.Request) any { return r.ID },
	func(ctx context.Context, to Provider, in *listApproverQueueIn) iter.Seq2[authz.Request, error] {
		return to.ListApproverQueue(ctx, in.ApproverUserID)
	})

func (c Calls) ListApproverQueue(ctx context.Context, approverUserID string) iter.Seq2[authz.Request, error] {
	return rows(ctx, c, opListApproverQueue, listApproverQueueIn{approverUserID})
}
