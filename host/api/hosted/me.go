package hosted

import (
	"context"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/sdk/client"
)

type viewAs struct {
	inOrg
	ViewAs Nullable[client.ViewAs] `json:"viewAs"`
}

// Check tells a preview's shape; null, which leaves one, must be said.
func (in viewAs) Check() error {
	if err := required("viewAs", in.ViewAs.Set); err != nil {
		return err
	}
	return service.CheckViewAs(in.ViewAs.Value)
}

// gate is that of a preview; leaving one is never gated, and answers a key, which
// has none to leave, its own me.
func (in viewAs) gate() service.Gate {
	if in.ViewAs.Value == nil {
		return service.Me
	}
	return service.OrgKey(client.ViewAsKey)
}

type evaluate struct {
	Org string `path:"org"`
	service.EvaluateInput
}

type evaluated struct {
	Allowed bool `json:"allowed"`
}

func meRows(t *table) {
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/audit", Summary: "The account log", Gate: service.Cloud(cloud.AuditRead)},
		func(ctx context.Context, c *Call, in listAudit) (out auditEvents, err error) {
			list, err := c.core().Audit(ctx, c.Access, service.AuditQuery{Actor: in.Actor, Action: in.Action, Target: in.Target, About: in.about(),
				From: in.From, To: in.To, Export: in.Mode == "export", DetailLimit: in.detailLimit()}, c.Page)
			if err != nil {
				return out, err
			}
			return c.events(list.Rows, list.Next)
		})
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/audit/{id}", Summary: "An entry of the account log, whole", Gate: service.Cloud(cloud.AuditRead), Own: []string{"not_found"}},
		func(ctx context.Context, c *Call, in oneEntry) (out auditAnswer, err error) {
			out.Event, err = c.core().AuditEntry(ctx, c.Access, in.At, in.ID)
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/me", Summary: "What the caller may do", Gate: service.Me},
		func(ctx context.Context, c *Call, _ inOrg) (service.MeAnswer, error) {
			return c.core().Me(ctx, c.Access)
		})
	add(t, endpoint{Method: "POST", Path: "/orgs/{org}/view-as", Summary: "Preview a role or a user, or leave a preview", Gate: service.Me,
		GateText: client.ViewAsKey + "; null ungated", WhilePreviewing: true, Own: append([]string{"forbidden", "inactive", "no_org_root", "not_found"}, relayCodes...),
		Audit: []string{"A: view_as.start", "A: view_as.end"}},
		func(ctx context.Context, c *Call, in viewAs) (service.MeAnswer, error) {
			return c.core().ViewAs(ctx, c.Access, in.ViewAs.Value)
		})
	add(t, endpoint{Method: "POST", Path: "/orgs/{org}/evaluate", Summary: "Ask what a machine subject may do", Gate: service.Principal, Rate: rateEvaluate, Unkept: true,
		Own: append([]string{"principal_mismatch", "not_evaluable_here", "no_org_root", "UnknownPermissionError"}, relayCodes...)},
		func(ctx context.Context, c *Call, in evaluate) (evaluated, error) {
			allowed, err := c.core().Evaluate(ctx, c.Access, in.EvaluateInput)
			return evaluated{allowed}, err
		})
}
