package relay

import (
	"context"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Roles, groups and users, and access requests.

func (a *application) CreateRole(ctx context.Context, in provider.RoleInput, prov authz.Provenance) (authz.Role, error) {
	return one(ctx, a, "createRole", func(ctx context.Context, to Application) (authz.Role, error) { return to.CreateRole(ctx, in, prov) })
}

func (a *application) UpdateRole(ctx context.Context, id string, in provider.RoleUpdate, prov authz.Provenance) (authz.Role, error) {
	return one(ctx, a, "updateRole", func(ctx context.Context, to Application) (authz.Role, error) { return to.UpdateRole(ctx, id, in, prov) })
}

func (a *application) DeleteRole(ctx context.Context, id string, prov authz.Provenance) error {
	return void(ctx, a, "deleteRole", func(ctx context.Context, to Application) error { return to.DeleteRole(ctx, id, prov) })
}

func (a *application) ListRoles(ctx context.Context, p provider.Paging) iter.Seq2[authz.Role, error] {
	return list(ctx, a, "listRoles", func(ctx context.Context, to Application) iter.Seq2[authz.Role, error] { return to.ListRoles(ctx, p) })
}

func (a *application) CreateGroup(ctx context.Context, in provider.GroupInput, prov authz.Provenance) (authz.Group, error) {
	return one(ctx, a, "createGroup", func(ctx context.Context, to Application) (authz.Group, error) { return to.CreateGroup(ctx, in, prov) })
}

func (a *application) UpdateGroup(ctx context.Context, id string, in provider.GroupUpdate, prov authz.Provenance) (authz.Group, error) {
	return one(ctx, a, "updateGroup", func(ctx context.Context, to Application) (authz.Group, error) {
		return to.UpdateGroup(ctx, id, in, prov)
	})
}

func (a *application) SetGroupParents(ctx context.Context, id string, parents []string, prov authz.Provenance) (authz.Group, error) {
	return one(ctx, a, "setGroupParents", func(ctx context.Context, to Application) (authz.Group, error) {
		return to.SetGroupParents(ctx, id, parents, prov)
	})
}

func (a *application) DeleteGroup(ctx context.Context, id string, prov authz.Provenance) error {
	return void(ctx, a, "deleteGroup", func(ctx context.Context, to Application) error { return to.DeleteGroup(ctx, id, prov) })
}

func (a *application) ListGroups(ctx context.Context, p provider.Paging) iter.Seq2[authz.Group, error] {
	return list(ctx, a, "listGroups", func(ctx context.Context, to Application) iter.Seq2[authz.Group, error] { return to.ListGroups(ctx, p) })
}

func (a *application) SetGroupMembership(ctx context.Context, userID string, groupIDs []string, prov authz.Provenance) error {
	return void(ctx, a, "setGroupMembership", func(ctx context.Context, to Application) error {
		return to.SetGroupMembership(ctx, userID, groupIDs, prov)
	})
}

func (a *application) GetGroupMembers(ctx context.Context, groupID string) ([]string, error) {
	return one(ctx, a, "getGroupMembers", func(ctx context.Context, to Application) ([]string, error) { return to.GetGroupMembers(ctx, groupID) })
}

func (a *application) DissolveVirtualParent(ctx context.Context, groupID string, prov authz.Provenance) error {
	return void(ctx, a, "dissolveVirtualParent", func(ctx context.Context, to Application) error { return to.DissolveVirtualParent(ctx, groupID, prov) })
}

func (a *application) SetUserActive(ctx context.Context, userID string, active bool, prov authz.Provenance) error {
	return void(ctx, a, "setUserActive", func(ctx context.Context, to Application) error { return to.SetUserActive(ctx, userID, active, prov) })
}

func (a *application) SetReportingEdge(ctx context.Context, userID, managerUserID string, prov authz.Provenance) error {
	return void(ctx, a, "setReportingEdge", func(ctx context.Context, to Application) error {
		return to.SetReportingEdge(ctx, userID, managerUserID, prov)
	})
}

func (a *application) GetReportingEdges(ctx context.Context) (map[string]string, error) {
	return one(ctx, a, "getReportingEdges", func(ctx context.Context, to Application) (map[string]string, error) { return to.GetReportingEdges(ctx) })
}

func (a *application) SubmitRequest(ctx context.Context, in provider.RequestInput) (authz.Request, error) {
	return one(ctx, a, "submitRequest", func(ctx context.Context, to Application) (authz.Request, error) { return to.SubmitRequest(ctx, in) })
}

func (a *application) DecideRequest(ctx context.Context, id string, in provider.DecisionInput) (authz.Request, error) {
	return one(ctx, a, "decideRequest", func(ctx context.Context, to Application) (authz.Request, error) { return to.DecideRequest(ctx, id, in) })
}

func (a *application) CancelRequest(ctx context.Context, id, byUserID string) (authz.Request, error) {
	return one(ctx, a, "cancelRequest", func(ctx context.Context, to Application) (authz.Request, error) {
		return to.CancelRequest(ctx, id, byUserID)
	})
}

func (a *application) ListRequests(ctx context.Context, q provider.RequestQuery) iter.Seq2[authz.Request, error] {
	return list(ctx, a, "listRequests", func(ctx context.Context, to Application) iter.Seq2[authz.Request, error] {
		return to.ListRequests(ctx, q)
	})
}

func (a *application) ListApproverQueue(ctx context.Context, approverUserID string) iter.Seq2[authz.Request, error] {
	return list(ctx, a, "listApproverQueue", func(ctx context.Context, to Application) iter.Seq2[authz.Request, error] {
		return to.ListApproverQueue(ctx, approverUserID)
	})
}
