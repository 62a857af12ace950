package hosted

import (
	"context"
	"strings"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/cloud"
	"github.com/authzhost/authz/host/service/fault"
	"github.com/authzhost/authz/internal/audited"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
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

// auditFilter is the query of every audit list (spec: hosted-api §15).
type auditFilter struct {
	Actor  string `query:"actor,omitempty"`
	Action string `query:"action,omitempty"`
	Target string `query:"target,omitempty"`
	From   *int64 `query:"from,omitempty"`
	To     *int64 `query:"to,omitempty"`
	Mode   string `query:"mode,omitempty" enum:"recent,export"`
}

// logFilter is that of the logs themselves.
type logFilter struct {
	auditFilter
	Subject string `query:"subject,omitempty"`
	Details string `query:"details,omitempty" enum:"short,whole"`
}

// Check wants a subject that grants may name, and a family of actions.
func (f logFilter) check() error {
	if f.Subject != "" {
		if err := words.CheckSubject(f.Subject); err != nil {
			return fault.Parameter("subject", "%s", err)
		}
	}
	if strings.Contains(strings.TrimSuffix(f.Action, ".*"), "*") {
		return fault.Parameter("action", "must be an action, such as grant.create, or a family of them, such as grant.*")
	}
	return nil
}

func (f logFilter) about() *audited.About {
	if about, ok := audited.Of(f.Subject); ok {
		return &about
	}
	return nil
}

// short tells that large details are left out: a write of many rows lists them all.
func (f logFilter) short() bool { return f.Details == "short" || f.Details == "" && f.Mode != "export" }

type listAudit struct {
	inOrg
	logFilter
	Paging
}

// Check is that of the filter.
func (in listAudit) Check() error { return in.check() }

// maxShortDetail is the longest detail, in bytes, that a list of entries shows.
const maxShortDetail = 1 << 10

// auditEvent is an entry in a list. DetailBytes is how long a detail is that was left out.
type auditEvent struct {
	authz.AuditEntry
	DetailBytes int `json:"detailBytes,omitempty"`
}

type auditEvents struct {
	Events     []auditEvent `json:"events"`
	NextCursor *string      `json:"nextCursor"`
}

func (c *Call) events(entries []authz.AuditEntry, next string, short bool) (out auditEvents, err error) {
	out.Events = make([]auditEvent, len(entries))
	for i, e := range entries {
		if n := len(e.Detail); short && n > maxShortDetail {
			e.Detail, out.Events[i].DetailBytes = nil, n
		}
		out.Events[i].AuditEntry = e
	}
	out.NextCursor, err = c.next(next)
	return out, err
}

type oneEntry struct {
	objectOf
	At int64 `query:"at"`
}

type auditAnswer struct {
	Event authz.AuditEntry `json:"event"`
}

func meRows(t *table) {
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/audit", Summary: "The account log", Gate: service.Cloud(cloud.AuditRead)},
		func(ctx context.Context, c *Call, in listAudit) (out auditEvents, err error) {
			list, err := c.core().Audit(ctx, c.Access, service.AuditQuery{Actor: in.Actor, Action: in.Action, Target: in.Target, About: in.about(),
				From: in.From, To: in.To, Export: in.Mode == "export"}, c.Page)
			if err != nil {
				return out, err
			}
			return c.events(list.Rows, list.Next, in.short())
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
