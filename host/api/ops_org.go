package api

import (
	"context"

	"github.com/authzhost/authz/sdk/authz"
)

// Roles, groups, users: the organizational domain.

type (
	roleResult struct {
		Role authz.Role `json:"role"`
	}
	groupResult struct {
		Group authz.Group `json:"group"`
	}
	membersResult struct {
		UserIDs []string `json:"userIds"`
	}
	edgesResult struct {
		Edges map[string]string `json:"edges"`
	}
)

func listRoles(c *call) action {
	page, limit := c.page()
	return listing("roles", limit, func(ctx context.Context) rowsOf[authz.Role] {
		return c.app.ListRoles(ctx, page)
	}, func(r authz.Role) any { return r.ID })
}

func createRole(c *call) action {
	in, prov := roleInput(c.nested("input")), c.provenance(c.object)
	return func(ctx context.Context) (any, error) {
		row, err := c.app.CreateRole(ctx, in, prov)
		return roleResult{row}, err
	}
}

func updateRole(c *call) action {
	id, in, prov := c.text("roleId"), roleUpdate(c.nested("input")), c.provenance(c.object)
	return func(ctx context.Context) (any, error) {
		row, err := c.app.UpdateRole(ctx, id, in, prov)
		return roleResult{row}, err
	}
}

func deleteRole(c *call) action {
	id, prov := c.text("roleId"), c.provenance(c.object)
	return func(ctx context.Context) (any, error) {
		return void{}, c.app.DeleteRole(ctx, id, prov)
	}
}

func listGroups(c *call) action {
	page, limit := c.page()
	return listing("groups", limit, func(ctx context.Context) rowsOf[authz.Group] {
		return c.app.ListGroups(ctx, page)
	}, func(g authz.Group) any { return g.ID })
}

func createGroup(c *call) action {
	in, prov := groupInput(c.nested("input")), c.provenance(c.object)
	return func(ctx context.Context) (any, error) {
		row, err := c.app.CreateGroup(ctx, in, prov)
		return groupResult{row}, err
	}
}

func updateGroup(c *call) action {
	id, in, prov := c.text("groupId"), groupUpdate(c.nested("input")), c.provenance(c.object)
	return func(ctx context.Context) (any, error) {
		row, err := c.app.UpdateGroup(ctx, id, in, prov)
		return groupResult{row}, err
	}
}

func setGroupParents(c *call) action {
	id, parents, prov := c.text("groupId"), c.texts("parents"), c.provenance(c.object)
	return func(ctx context.Context) (any, error) {
		row, err := c.app.SetGroupParents(ctx, id, parents, prov)
		return groupResult{row}, err
	}
}

func deleteGroup(c *call) action {
	id, prov := c.text("groupId"), c.provenance(c.object)
	return func(ctx context.Context) (any, error) {
		return void{}, c.app.DeleteGroup(ctx, id, prov)
	}
}

func setGroupMembership(c *call) action {
	userID, groupIDs, prov := c.text("userId"), c.texts("groupIds"), c.provenance(c.object)
	return func(ctx context.Context) (any, error) {
		return void{}, c.app.SetGroupMembership(ctx, userID, groupIDs, prov)
	}
}

func getGroupMembers(c *call) action {
	id := c.text("groupId")
	return func(ctx context.Context) (any, error) {
		ids, err := c.app.GetGroupMembers(ctx, id)
		return membersResult{orEmpty(ids)}, err
	}
}

func setUserActive(c *call) action {
	userID, active, prov := c.text("userId"), c.flag("active"), c.provenance(c.object)
	return func(ctx context.Context) (any, error) {
		return void{}, c.app.SetUserActive(ctx, userID, active, prov)
	}
}

// setReportingEdge refuses "" as a manager, which to the provider clears the
// edge: on the wire only null does.
func setReportingEdge(c *call) action {
	userID, manager, prov := c.text("userId"), c.nonEmpty("managerUserId"), c.provenance(c.object)
	return func(ctx context.Context) (any, error) {
		return void{}, c.app.SetReportingEdge(ctx, userID, manager, prov)
	}
}

func getReportingEdges(c *call) action {
	return func(ctx context.Context) (any, error) {
		edges, err := c.app.GetReportingEdges(ctx)
		if edges == nil {
			edges = map[string]string{}
		}
		return edgesResult{edges}, err
	}
}
