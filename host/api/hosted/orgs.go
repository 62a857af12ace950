package hosted

import (
	"context"
	"net/http"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/account"
)

// inOrg is the input of endpoints below an org that need nothing else.
type inOrg struct {
	Org string `path:"org"`
}

type orgSummaries struct {
	Orgs       []service.OrgSummary `json:"orgs"`
	NextCursor *string              `json:"nextCursor"`
}

type orgAnswer struct {
	Org account.Org `json:"org"`
}

type orgCreated struct {
	Org  account.Org  `json:"org"`
	Seat account.Seat `json:"seat"`
}

type updateOrg struct {
	inOrg
	service.OrgUpdate
}

func orgRows(t *table) {
	add(t, endpoint{Method: "GET", Path: "/orgs", Summary: "The orgs in which the caller has a seat", Gate: service.AnySession},
		func(ctx context.Context, c *Call, _ struct{ Paging }) (out orgSummaries, err error) {
			list, err := c.core().Orgs(ctx, c.Caller, c.Page)
			if err != nil {
				return out, err
			}
			out.Orgs = list.Rows
			out.NextCursor, err = c.next(list.Next)
			return out, err
		})
	add(t, endpoint{Method: "POST", Path: "/orgs", Summary: "Create an org", Gate: service.AnySession, Status: http.StatusCreated,
		Own: []string{"org_id_taken", "org_creation_disabled"}, Audit: []string{"A: org.create"}},
		func(ctx context.Context, c *Call, in service.OrgInput) (out orgCreated, err error) {
			if out.Org, out.Seat, err = c.core().CreateOrg(ctx, c.Caller, in); err == nil {
				c.located("orgs", out.Org.ID)
			}
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}", Summary: "An org", Gate: service.AnySeat},
		func(_ context.Context, c *Call, _ inOrg) (orgAnswer, error) { return orgAnswer{c.Access.Org}, nil })
	add(t, endpoint{Method: "PATCH", Path: "/orgs/{org}", Summary: "Change an org", Gate: service.Owner, Proof: proofAlways, Conditional: true,
		Own: []string{"owner_required", "application_not_found", "invalid_transition"}, Audit: []string{"A: org.update"}},
		func(ctx context.Context, c *Call, in updateOrg) (out orgAnswer, err error) {
			out.Org, err = c.core().UpdateOrg(ctx, c.Access, in.OrgUpdate, c.match())
			return out, err
		})
}
