package provider_test

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/metrics"
	"github.com/authzhost/authz/sdk/provider"
)

func ended[Row any](list iter.Seq2[Row, error]) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

func failing[T any](_ T, err error) error { return err }

// hostedCall is one operation of the manifest with the member that its answer
// must have (spec: provider-api §6, §9); "" where none is checked.
type hostedCall struct {
	do     func(context.Context, *provider.Hosted) error
	member string
	kind   string // of the member, for what does not fit it
}

var by = authz.AdminProvenance("root")

var hostedCalls = map[string]hostedCall{
	"ping":             {func(ctx context.Context, h *provider.Hosted) error { return failing(h.Ping(ctx)) }, "", ""},
	"capabilities":     {func(ctx context.Context, h *provider.Hosted) error { return failing(h.Capabilities(ctx)) }, "", ""},
	"resolveAncestors": {func(ctx context.Context, h *provider.Hosted) error { return failing(h.ResolveAncestors(ctx, "a:1")) }, "ancestors", "list"},
	"createGrant": {func(ctx context.Context, h *provider.Hosted) error {
		return failing(h.CreateGrant(ctx, provider.GrantInput{}, by))
	}, "grant", "object"},
	"createGrants": {func(ctx context.Context, h *provider.Hosted) error { return failing(h.CreateGrants(ctx, nil, by)) }, "grants", "list"},
	"deleteGrant":  {func(ctx context.Context, h *provider.Hosted) error { return h.DeleteGrant(ctx, "g", by) }, "", ""},
	"listGrants": {func(ctx context.Context, h *provider.Hosted) error {
		return ended(h.ListGrants(ctx, provider.GrantQuery{}))
	}, "grants", "list"},
	"countGrants": {func(ctx context.Context, h *provider.Hosted) error {
		return failing(h.CountGrants(ctx, provider.GrantQuery{}))
	}, "count", "number"},
	"createRevoke": {func(ctx context.Context, h *provider.Hosted) error {
		return failing(h.CreateRevoke(ctx, provider.RevokeInput{}, by))
	}, "revoke", "object"},
	"deleteRevoke": {func(ctx context.Context, h *provider.Hosted) error { return h.DeleteRevoke(ctx, "v", by) }, "", ""},
	"listRevokes": {func(ctx context.Context, h *provider.Hosted) error {
		return ended(h.ListRevokes(ctx, provider.RevokeQuery{}))
	}, "revokes", "list"},
	"deleteSubject": {func(ctx context.Context, h *provider.Hosted) error {
		return failing(h.DeleteSubject(ctx, "user:u", by))
	}, "", ""},
	"deleteScope": {func(ctx context.Context, h *provider.Hosted) error { return failing(h.DeleteScope(ctx, "a:1", by)) }, "", ""},
	"submitRequest": {func(ctx context.Context, h *provider.Hosted) error {
		return failing(h.SubmitRequest(ctx, provider.RequestInput{}))
	}, "request", "object"},
	"decideRequest": {func(ctx context.Context, h *provider.Hosted) error {
		return failing(h.DecideRequest(ctx, "q", provider.DecisionInput{}))
	}, "request", "object"},
	"cancelRequest": {func(ctx context.Context, h *provider.Hosted) error { return failing(h.CancelRequest(ctx, "q", "u")) }, "request", "object"},
	"listRequests": {func(ctx context.Context, h *provider.Hosted) error {
		return ended(h.ListRequests(ctx, provider.RequestQuery{}))
	}, "requests", "list"},
	"listApproverQueue":   {func(ctx context.Context, h *provider.Hosted) error { return ended(h.ListApproverQueue(ctx, "u")) }, "requests", "list"},
	"publishCatalog":      {func(ctx context.Context, h *provider.Hosted) error { return failing(h.PublishCatalog(ctx, empty, by)) }, "", ""},
	"getMesh":             {func(ctx context.Context, h *provider.Hosted) error { return failing(h.GetMesh(ctx)) }, "mesh", "nullable"},
	"getPublishedCatalog": {func(ctx context.Context, h *provider.Hosted) error { return failing(h.GetPublishedCatalog(ctx)) }, "published", "nullable"},
	"publishImports":      {func(ctx context.Context, h *provider.Hosted) error { return failing(h.PublishImports(ctx, empty, by)) }, "", ""},
	"getPublishedImports": {func(ctx context.Context, h *provider.Hosted) error { return failing(h.GetPublishedImports(ctx)) }, "published", "nullable"},
	"listRoles":           {func(ctx context.Context, h *provider.Hosted) error { return ended(h.ListRoles(ctx, provider.Paging{})) }, "roles", "list"},
	"createRole": {func(ctx context.Context, h *provider.Hosted) error {
		return failing(h.CreateRole(ctx, provider.RoleInput{}, by))
	}, "role", "object"},
	"updateRole": {func(ctx context.Context, h *provider.Hosted) error {
		return failing(h.UpdateRole(ctx, "r", provider.RoleUpdate{}, by))
	}, "role", "object"},
	"deleteRole": {func(ctx context.Context, h *provider.Hosted) error { return h.DeleteRole(ctx, "r", by) }, "", ""},
	"listGroups": {func(ctx context.Context, h *provider.Hosted) error {
		return ended(h.ListGroups(ctx, provider.Paging{}))
	}, "groups", "list"},
	"createGroup": {func(ctx context.Context, h *provider.Hosted) error {
		return failing(h.CreateGroup(ctx, provider.GroupInput{}, by))
	}, "group", "object"},
	"updateGroup": {func(ctx context.Context, h *provider.Hosted) error {
		return failing(h.UpdateGroup(ctx, "g", provider.GroupUpdate{}, by))
	}, "group", "object"},
	"setGroupParents": {func(ctx context.Context, h *provider.Hosted) error {
		return failing(h.SetGroupParents(ctx, "g", nil, by))
	}, "group", "object"},
	"deleteGroup": {func(ctx context.Context, h *provider.Hosted) error { return h.DeleteGroup(ctx, "g", by) }, "", ""},
	"changeGroupMembership": {func(ctx context.Context, h *provider.Hosted) error {
		return h.ChangeGroupMembership(ctx, "u", provider.MembershipChange{}, by)
	}, "", ""},
	"changeGrants": {func(ctx context.Context, h *provider.Hosted) error {
		return failing(h.ChangeGrants(ctx, provider.GrantsChange{}, by))
	}, "grants", "list"},
	"findGrants": {func(ctx context.Context, h *provider.Hosted) error {
		return ended(h.FindGrants(ctx, provider.GrantsQuery{}))
	}, "grants", "list"},
	"listUsers": {func(ctx context.Context, h *provider.Hosted) error {
		return ended(h.ListUsers(ctx, provider.UserQuery{}))
	}, "users", "list"},
	"listRecordedScopes": {func(ctx context.Context, h *provider.Hosted) error {
		return ended(h.ListRecordedScopes(ctx, provider.RecordedScopeQuery{}))
	}, "scopes", "list"},
	"getUser":               {func(ctx context.Context, h *provider.Hosted) error { return failing(h.GetUser(ctx, "u")) }, "user", "nullable"},
	"setGroupMembership":    {func(ctx context.Context, h *provider.Hosted) error { return h.SetGroupMembership(ctx, "u", nil, by) }, "", ""},
	"getGroupMembers":       {func(ctx context.Context, h *provider.Hosted) error { return failing(h.GetGroupMembers(ctx, "g")) }, "userIds", "list"},
	"setUserActive":         {func(ctx context.Context, h *provider.Hosted) error { return h.SetUserActive(ctx, "u", true, by) }, "", ""},
	"setReportingEdge":      {func(ctx context.Context, h *provider.Hosted) error { return h.SetReportingEdge(ctx, "u", "", by) }, "", ""},
	"getReportingEdges":     {func(ctx context.Context, h *provider.Hosted) error { return failing(h.GetReportingEdges(ctx)) }, "edges", "object"},
	"dissolveVirtualParent": {func(ctx context.Context, h *provider.Hosted) error { return h.DissolveVirtualParent(ctx, "g", by) }, "", ""},
	"listAuditEvents": {func(ctx context.Context, h *provider.Hosted) error {
		return ended(h.ListAuditEvents(ctx, provider.AuditQuery{}))
	}, "events", "list"},
	"reportMetrics": {func(ctx context.Context, h *provider.Hosted) error { return h.ReportMetrics(ctx, metrics.Batch{}) }, "", ""},
	"getGrantUsage": {func(ctx context.Context, h *provider.Hosted) error {
		return failing(h.GetGrantUsage(ctx, provider.UsageQuery{}))
	}, "usage", "list"},
	"getRevokeUsage": {func(ctx context.Context, h *provider.Hosted) error {
		return failing(h.GetRevokeUsage(ctx, provider.UsageQuery{}))
	}, "usage", "list"},
	"getRoleUsage": {func(ctx context.Context, h *provider.Hosted) error {
		return failing(h.GetRoleUsage(ctx, provider.UsageQuery{}))
	}, "usage", "list"},
	"getPermissionUsage": {func(ctx context.Context, h *provider.Hosted) error {
		return failing(h.GetPermissionUsage(ctx, provider.UsageQuery{}))
	}, "usage", "list"},
	"getScopeTypeUsage": {func(ctx context.Context, h *provider.Hosted) error {
		return failing(h.GetScopeTypeUsage(ctx, provider.UsageQuery{}))
	}, "usage", "list"},
	"exportOrgSnapshot": {func(ctx context.Context, h *provider.Hosted) error { return failing(h.ExportOrgSnapshot(ctx)) }, "snapshot", "object"},
	"applyOrgSnapshot": {func(ctx context.Context, h *provider.Hosted) error {
		return h.ApplyOrgSnapshot(ctx, provider.ApplyOrgSnapshotInput{})
	}, "applied", "boolean"},
	"setScopeParents": {func(ctx context.Context, h *provider.Hosted) error { return failing(h.SetScopeParents(ctx, nil, by)) }, "changed", "number"},
	"epoch.since": {func(ctx context.Context, h *provider.Hosted) error {
		return failing(h.EventLog().Since(ctx, authz.Position{}, 0))
	}, "upTo", "number"},
	"epoch.head": {func(ctx context.Context, h *provider.Hosted) error { return failing(h.EventLog().Head(ctx)) }, "seq", "number"},
}

var empty = json.RawMessage(`{}`)

// elsewhere: the members of getSubjectAccess have a test of their own, and check and
// explain have no method.
var elsewhere = map[string]bool{"getSubjectAccess": true, "check": true, "explain": true}
