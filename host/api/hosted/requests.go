package hosted

import (
	"context"
	"net/http"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/host/service/orgroot"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

type listRequests struct {
	inOrg
	Mine            bool                `query:"mine,omitempty" flag:"01"`
	Decided         bool                `query:"decided,omitempty" flag:"01"`
	State           *authz.RequestState `query:"state,omitempty" enum:"pending,approved,denied,cancelled"`
	RequesterUserID *string             `query:"requesterUserId,omitempty"`
	From            *int64              `query:"from,omitempty"`
	To              *int64              `query:"to,omitempty"`
	Application     string              `query:"application,omitempty"`
	Paging
}

// Check tells apart what one asked for and what one decided: nobody decides their own.
func (in listRequests) Check() error {
	if in.Mine && in.Decided {
		return fault.Parameter("decided", "nobody decides their own requests: ask for mine or for decided, one at a time")
	}
	return nil
}

// gate is a seat for one's own requests and decisions, which a service has none of.
func (in listRequests) gate() service.Gate {
	if in.Mine || in.Decided {
		return service.AnySeat
	}
	return service.OrgKey(readRequests)
}

// queueCount is of those who could be asked.
type queueCount struct {
	Count       int64                 `json:"count"`
	Unavailable []orgroot.Unavailable `json:"unavailable"`
}

type inbox struct {
	Entries     []orgroot.Entry       `json:"entries"`
	Unavailable []orgroot.Unavailable `json:"unavailable"`
	NextCursor  *string               `json:"nextCursor"`
}

type submit struct {
	inOrg
	RoleID            *string           `json:"roleId,omitempty"`
	Pattern           *string           `json:"pattern,omitempty"`
	Scope             *string           `json:"scope,omitempty"`
	ProposedExpiresAt *int64            `json:"proposedExpiresAt,omitempty"`
	Justification     map[string]string `json:"justification,omitempty"`
}

// Check tells what no home accepts.
func (in submit) Check() error {
	return checkGrant("", grantInput{RoleID: in.RoleID, Pattern: in.Pattern, Scope: in.Scope})
}

type requestOf struct {
	objectOf
	Application string `query:"application,omitempty"`
}

type decide struct {
	objectOf
	Decision    string `json:"decision" enum:"approved,denied"`
	Note        string `json:"note,omitempty"`
	Application string `json:"application,omitempty"`
}

type cancel struct {
	objectOf
	Application string `json:"application,omitempty"`
}

func requestRows(t *table) {
	const path = "/orgs/{org}/requests"
	listing := func(c *Call, i orgroot.Inbox, err error) (out inbox, _ error) {
		if err != nil {
			return out, err
		}
		if out.Entries, out.Unavailable = i.Rows, i.Unavailable; out.Unavailable == nil {
			out.Unavailable = []orgroot.Unavailable{}
		}
		out.NextCursor, err = c.next(i.Next)
		return out, err
	}
	add(t, endpoint{Method: "GET", Path: path, Summary: "Requests, newest first", Gate: byHome, GateText: "Seat with mine=1 or decided=1, else " + readRequests, Own: rootCodes},
		func(ctx context.Context, c *Call, in listRequests) (inbox, error) {
			i, err := c.root().Requests(ctx, c.Access, orgroot.RequestFilter{Mine: in.Mine, Decided: in.Decided, State: in.State,
				RequesterUserID: in.RequesterUserID, From: in.From, To: in.To, Application: in.Application}, c.page())
			return listing(c, i, err)
		})
	add(t, endpoint{Method: "POST", Path: path, Summary: "Ask for access", Gate: service.AnySeat, Status: http.StatusCreated, Relayed: true,
		Own: codes("application_not_found"), Audit: []string{"R/O: request.submit", "R/O: grant.create"}},
		func(ctx context.Context, c *Call, in submit) (orgroot.Entry, error) {
			r := provider.RequestInput{RoleID: deref(in.RoleID), Pattern: deref(in.Pattern), Scope: deref(in.Scope), Justification: in.Justification}
			if in.ProposedExpiresAt != nil {
				r.ProposedExpiresAt = authz.ExpiresAt(*in.ProposedExpiresAt)
			}
			out, err := c.root().Submit(ctx, c.Access, r)
			if err == nil {
				c.located("orgs", in.Org, "requests", out.Request.ID)
				c.locatedAt(deref(out.Application))
			}
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: path + "/queue", Summary: "What the caller may decide now", Gate: service.AnySeat, Own: rootCodes},
		func(ctx context.Context, c *Call, _ listed) (inbox, error) {
			i, err := c.root().Queue(ctx, c.Access, c.page())
			return listing(c, i, err)
		})
	add(t, endpoint{Method: "GET", Path: path + "/queue/count", Summary: "How much the caller may decide now", Gate: service.AnySeat, Own: rootCodes},
		func(ctx context.Context, c *Call, _ inOrg) (out queueCount, err error) {
			out.Count, out.Unavailable, err = c.root().CountQueue(ctx, c.Access)
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: path + "/{id}", Summary: "A request", Gate: byHome, GateText: "Requester, " + readRequests + ", an approver now entitled, or who decided a stage",
		Own: codes("application_not_found")},
		func(ctx context.Context, c *Call, in requestOf) (orgroot.OneEntry, error) {
			return c.root().Request(ctx, c.Access, in.ID, in.Application)
		})
	add(t, endpoint{Method: "POST", Path: path + "/{id}/decide", Summary: "Decide the current stage of a request", Gate: service.AnySeat, Relayed: true,
		GateText: "entitlement at the provider at that moment, administrative override included",
		Own:      codes("application_not_found"), Audit: []string{"R/O: request.approved", "R/O: request.denied", "R/O: grant.create"}},
		func(ctx context.Context, c *Call, in decide) (orgroot.Entry, error) {
			return c.root().DecideRequest(ctx, c.Access, in.ID, in.Application, provider.DecisionInput{Decision: in.Decision, Note: in.Note})
		})
	add(t, endpoint{Method: "POST", Path: path + "/{id}/cancel", Summary: "Withdraw a request of one's own", Gate: service.AnySeat, Relayed: true, GateText: "Requester",
		Own: codes("application_not_found"), Audit: []string{"R/O: request.cancel"}},
		func(ctx context.Context, c *Call, in cancel) (orgroot.Entry, error) {
			return c.root().CancelRequest(ctx, c.Access, in.ID, in.Application)
		})
}
