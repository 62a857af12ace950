package provider

import (
	"context"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
)

// Requests administers access requests: proposed grants on their way through the
// approval stages of a role or a scope type (contract: application §12). Approval
// of the last stage is the writing of the grant.
type Requests interface {
	// SubmitRequest files a request in the name of its requester. Leading stages
	// that decide by themselves are run at once, so that the answer may be
	// approved or denied already.
	SubmitRequest(ctx context.Context, in RequestInput) (authz.Request, error)

	// DecideRequest decides the current stage. Of two who decide at once one gets
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
	RoleID            string            `json:"roleId,omitempty"`
	Pattern           string            `json:"pattern,omitempty"`
	Scope             string            `json:"scope,omitempty"`
	ProposedExpiresAt authz.Expiry      `json:"proposedExpiresAt,omitzero"`
	Justification     map[string]string `json:"justification,omitempty"`
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
	State           *authz.RequestState
	RequesterUserID *string
	Paging
}
