package provider

import (
	"context"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
)

func (h *Hosted) SubmitRequest(ctx context.Context, in RequestInput) (authz.Request, error) {
	return field[authz.Request](ctx, h, "submitRequest", params{"input": in}, "request")
}

func (h *Hosted) DecideRequest(ctx context.Context, id string, in DecisionInput) (authz.Request, error) {
	return field[authz.Request](ctx, h, "decideRequest", params{"requestId": id, "decision": in}, "request")
}

func (h *Hosted) CancelRequest(ctx context.Context, id, byUserID string) (authz.Request, error) {
	return field[authz.Request](ctx, h, "cancelRequest", params{"requestId": id, "byUserId": byUserID}, "request")
}

func (h *Hosted) ListRequests(ctx context.Context, q RequestQuery) iter.Seq2[authz.Request, error] {
	p := params{"filter": filter(map[string]*string{"state": (*string)(q.State), "requesterUserId": q.RequesterUserID})}
	return paged(ctx, h, "listRequests", "requests", p, q.Paging, func(r authz.Request) string { return r.ID })
}

func (h *Hosted) ListApproverQueue(ctx context.Context, approverUserID string) iter.Seq2[authz.Request, error] {
	return listed[authz.Request](ctx, h, "listApproverQueue", "requests", params{"approverUserId": approverUserID})
}
