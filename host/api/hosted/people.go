package hosted

import (
	"context"

	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/orgroot"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

type listUsers struct {
	inOrg
	Active *bool `query:"active,omitempty"`
	searching
	Paging
}

type users struct {
	Users      []orgroot.User `json:"users"`
	Complete   bool           `json:"complete"`
	NextCursor *string        `json:"nextCursor"`
}

type oneUser struct {
	orgroot.UserRecord
	Etag string `json:"etag"`
}

type userAnswer struct {
	User oneUser `json:"user"`
}

type memberOf struct {
	objectOf
	GroupID string `path:"groupId"`
}

type membership struct {
	objectOf
	GroupIDs []string `json:"groupIds"`
}

type membershipAnswer struct {
	UserID   string   `json:"userId"`
	GroupIDs []string `json:"groupIds"`
}

type setActive struct {
	objectOf
	Active bool `json:"active"`
}

type setManager struct {
	objectOf
	ManagerUserID Nullable[string] `json:"managerUserId" min:"1"`
}

// Check wants null said.
func (in setManager) Check() error { return required("managerUserId", in.ManagerUserID.Set) }

type managerAnswer struct {
	UserID        string  `json:"userId"`
	ManagerUserID *string `json:"managerUserId"`
}

type edges struct {
	Edges      []orgroot.Edge `json:"edges"`
	NextCursor *string        `json:"nextCursor"`
}

// principalOf names one user or one service.
type principalOf struct {
	UserID    string `query:"userId,omitempty" min:"1"`
	ServiceID string `query:"serviceId,omitempty" min:"1"`
}

func (in principalOf) principal() authz.Principal {
	if in.ServiceID != "" {
		return authz.ServicePrincipal(in.ServiceID)
	}
	return authz.UserPrincipal(in.UserID)
}

func (in principalOf) check() error {
	if (in.UserID == "") == (in.ServiceID == "") {
		return errOnePrincipal()
	}
	return nil
}

type subjectAccess struct {
	inOrg
	principalOf
}

// Check wants one principal.
func (in subjectAccess) Check() error { return in.check() }

type explain struct {
	inOrg
	principalOf
	Key   string `query:"key" min:"1"`
	Scope string `query:"scope" min:"1"`
}

// Check wants one principal, and a scope.
func (in explain) Check() error {
	if err := in.check(); err != nil {
		return err
	}
	return checkScope(&in.Scope)
}

type subjectOf struct {
	inOrg
	Subject string `path:"subject"`
}

type scopeOf struct {
	inOrg
	Scope string `path:"scope"`
}

func peopleRows(t *table) {
	at := func(rest string) string { return "/orgs/{org}/org/" + rest }
	read, grants := service.OrgKey(readAccess), service.OrgKey(manageGrants)
	add(t, endpoint{Method: "GET", Path: at("users"), Summary: "Users, by id", Gate: read},
		func(ctx context.Context, c *Call, in listUsers) (out users, err error) {
			list, err := c.root().Users(ctx, c.Access, orgroot.UserFilter{Active: in.Active, Prefix: in.Q}, c.page())
			if err != nil {
				return out, err
			}
			out.Users, out.Complete = list.Rows, list.Complete
			out.NextCursor, err = c.next(list.Next)
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: at("users/{id}"), Summary: "What is stored of a user: direct groups, orgs and manager", Gate: read},
		func(ctx context.Context, c *Call, in objectOf) (out userAnswer, err error) {
			record, err := c.root().OneUser(ctx, c.Access, in.ID)
			if err != nil {
				return out, err
			}
			etag, err := orgroot.ETag(record)
			out.User = oneUser{record, etag}
			return out, err
		})
	add(t, endpoint{Method: "PUT", Path: at("users/{id}/groups/{groupId}"), Summary: "Put a user into a group", Gate: service.OrgKey(manageGroups), Relayed: true,
		Own: []string{"not_found", "escalation_refused"}, Audit: []string{"R: user.set_groups"}},
		func(ctx context.Context, c *Call, in memberOf) (None, error) {
			return None{}, c.root().Join(ctx, c.Access, in.ID, in.GroupID)
		})
	add(t, endpoint{Method: "DELETE", Path: at("users/{id}/groups/{groupId}"), Summary: "Take a user out of a group", Gate: service.OrgKey(manageGroups), Relayed: true,
		Audit: []string{"R: user.set_groups"}},
		func(ctx context.Context, c *Call, in memberOf) (None, error) {
			return None{}, c.root().Leave(ctx, c.Access, in.ID, in.GroupID)
		})
	add(t, endpoint{Method: "PUT", Path: at("users/{id}/membership"), Summary: "Replace a user's groups", Gate: service.OrgKey(manageGroups), Relayed: true, Conditional: true,
		Own: []string{"escalation_refused"}, Audit: []string{"R: user.set_groups"}},
		func(ctx context.Context, c *Call, in membership) (membershipAnswer, error) {
			return membershipAnswer{in.ID, in.GroupIDs}, c.root().SetMembership(ctx, c.Access, in.ID, in.GroupIDs, c.rootMatch())
		})
	add(t, endpoint{Method: "PUT", Path: at("users/{id}/active"), Summary: "Make a user active or inactive", Gate: grants, Relayed: true,
		Own: []string{"escalation_refused", "owner_required", "last_owner"}, Audit: []string{"R: user.set_active"}},
		func(ctx context.Context, c *Call, in setActive) (orgroot.User, error) {
			return orgroot.User{UserID: in.ID, Active: in.Active}, c.root().SetActive(ctx, c.Access, in.ID, in.Active)
		})
	add(t, endpoint{Method: "PUT", Path: at("users/{id}/manager"), Summary: "Set a user's manager, or with null clear it", Gate: service.OrgKey(manageReports), Relayed: true, Conditional: true,
		Own: []string{"graph_cycle", "escalation_refused"}, Audit: []string{"R: user.set_manager"}},
		func(ctx context.Context, c *Call, in setManager) (managerAnswer, error) {
			return managerAnswer{in.ID, in.ManagerUserID.Value}, c.root().SetManager(ctx, c.Access, in.ID, deref(in.ManagerUserID.Value), c.rootMatch())
		})
	add(t, endpoint{Method: "GET", Path: at("reporting-edges"), Summary: "Who reports to whom", Gate: read},
		func(ctx context.Context, c *Call, _ listed) (out edges, err error) {
			list, err := c.root().ReportingEdges(ctx, c.Access, c.page())
			if err != nil {
				return out, err
			}
			out.Edges = list.Rows
			out.NextCursor, err = c.next(list.Next)
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: at("subject-access"), Summary: "The closure supply of a principal", Gate: read},
		func(ctx context.Context, c *Call, in subjectAccess) (authz.SubjectAccess, error) {
			return c.root().SubjectAccess(ctx, c.Access, in.principal())
		})
	add(t, endpoint{Method: "GET", Path: at("explain"), Summary: "Why a principal may, or may not", Gate: read, Own: []string{"UnknownPermissionError", "UnknownScopeTypeError", "not_linked", "validation"}},
		func(ctx context.Context, c *Call, in explain) (access.Explained, error) {
			return c.root().Explain(ctx, c.Access, in.principal(), in.Key, in.Scope)
		})
	add(t, endpoint{Method: "DELETE", Path: at("subjects/{subject}"), Summary: "Delete every row of a subject", Gate: grants, Relayed: true,
		Own: []string{"escalation_refused", "owner_required", "last_owner"}, Audit: []string{"R and O: subject.delete"}},
		func(ctx context.Context, c *Call, in subjectOf) (orgroot.Deleted, error) {
			return c.root().DeleteSubject(ctx, c.Access, in.Subject)
		})
	add(t, endpoint{Method: "DELETE", Path: at("scopes/{scope}"), Summary: "Delete every row at a scope instance", Gate: grants, Relayed: true,
		Own: []string{"not_linked"}, Audit: []string{"O: scope.delete"}},
		func(ctx context.Context, c *Call, in scopeOf) (provider.CleanupResult, error) {
			return c.root().DeleteScope(ctx, c.Access, in.Scope)
		})
	add(t, endpoint{Method: "GET", Path: at("catalog"), Summary: "What can be asked for", Gate: service.AnySeat, Own: append([]string{"no_org_root"}, relayCodes...)},
		func(ctx context.Context, c *Call, _ inOrg) (orgroot.Catalogs, error) {
			return c.root().Catalog(ctx, c.Access, c.api.o.Services.Registry)
		})
	add(t, endpoint{Method: "GET", Path: at("audit"), Summary: "The org root's log", Gate: service.OrgKey(readAudit)},
		func(ctx context.Context, c *Call, in listAudit) (auditEvents, error) {
			list, err := c.root().Audit(ctx, c.Access, in.root(), c.page())
			if err != nil {
				return auditEvents{}, err
			}
			return c.events(list.Rows, list.Next)
		})
	add(t, endpoint{Method: "GET", Path: at("audit/{id}"), Summary: "An entry of the org root's log, whole", Gate: service.OrgKey(readAudit), Own: []string{"not_found"}},
		func(ctx context.Context, c *Call, in oneEntry) (out auditAnswer, err error) {
			out.Event, err = c.root().AuditEntry(ctx, c.Access, in.At, in.ID)
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/applications/{app}/audit", Summary: "An application's log", Gate: readApp, Relayed: true},
		func(ctx context.Context, c *Call, in listAppAudit) (auditEvents, error) {
			list, err := c.root().AppAudit(ctx, c.Access, in.App, in.root(), c.page())
			if err != nil {
				return auditEvents{}, err
			}
			return c.events(list.Rows, list.Next)
		})
	add(t, endpoint{Method: "GET", Path: "/orgs/{org}/applications/{app}/audit/{id}", Summary: "An entry of an application's log, whole", Gate: readApp, Relayed: true, Own: []string{"not_found"}},
		func(ctx context.Context, c *Call, in oneAppEntry) (out auditAnswer, err error) {
			out.Event, err = c.root().AppAuditEntry(ctx, c.Access, in.App, in.At, in.ID)
			return out, err
		})
	add(t, endpoint{Method: "GET", Path: at("epoch"), Summary: "The head of the org root's event log", Gate: service.AnySeat, Own: append([]string{"no_org_root"}, relayCodes...)},
		func(ctx context.Context, c *Call, _ inOrg) (orgroot.Epoch, error) {
			return c.root().EventLog(ctx, c.Access)
		})
}

// present is nil for what was not asked for.
func present(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
