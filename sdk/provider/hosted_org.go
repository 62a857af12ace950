package provider

import (
	"context"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
)

// The organizational domain: roles, groups, users.

func (h *Hosted) CreateRole(ctx context.Context, in RoleInput, prov authz.Provenance) (authz.Role, error) {
	if in.Patterns == nil {
		in.Patterns = []string{}
	}
	return field[authz.Role](ctx, h, "createRole", params{"input": in, "provenance": prov}, "role")
}

func (h *Hosted) UpdateRole(ctx context.Context, id string, in RoleUpdate, prov authz.Provenance) (authz.Role, error) {
	input := map[string]any{}
	if in.Name != nil {
		input["name"] = *in.Name
	}
	if in.Description != nil {
		input["description"] = *in.Description
	}
	if in.Patterns != nil {
		input["patterns"] = append([]string{}, *in.Patterns...)
	}
	switch {
	case in.Requestable != nil:
		input["requestable"] = in.Requestable
	case in.ClearRequestable:
		input["requestable"] = nil
	}
	return field[authz.Role](ctx, h, "updateRole", params{"roleId": id, "input": input, "provenance": prov}, "role")
}

func (h *Hosted) DeleteRole(ctx context.Context, id string, prov authz.Provenance) error {
	return h.post(ctx, "deleteRole", params{"roleId": id, "provenance": prov})
}

func (h *Hosted) ListRoles(ctx context.Context, p Paging) iter.Seq2[authz.Role, error] {
	return paged(ctx, h, "listRoles", "roles", params{}, p, func(r authz.Role) string { return r.ID })
}

func (h *Hosted) CreateGroup(ctx context.Context, in GroupInput, prov authz.Provenance) (authz.Group, error) {
	return field[authz.Group](ctx, h, "createGroup", params{"input": in, "provenance": prov}, "group")
}

func (h *Hosted) UpdateGroup(ctx context.Context, id string, in GroupUpdate, prov authz.Provenance) (authz.Group, error) {
	input := filter(map[string]*string{"name": in.Name, "description": in.Description})
	return field[authz.Group](ctx, h, "updateGroup", params{"groupId": id, "input": input, "provenance": prov}, "group")
}

func (h *Hosted) SetGroupParents(ctx context.Context, id string, parents []string, prov authz.Provenance) (authz.Group, error) {
	p := params{"groupId": id, "parents": append([]string{}, parents...), "provenance": prov}
	return field[authz.Group](ctx, h, "setGroupParents", p, "group")
}

func (h *Hosted) DeleteGroup(ctx context.Context, id string, prov authz.Provenance) error {
	return h.post(ctx, "deleteGroup", params{"groupId": id, "provenance": prov})
}

func (h *Hosted) ListGroups(ctx context.Context, p Paging) iter.Seq2[authz.Group, error] {
	return paged(ctx, h, "listGroups", "groups", params{}, p, func(g authz.Group) string { return g.ID })
}

func (h *Hosted) SetGroupMembership(ctx context.Context, userID string, groupIDs []string, prov authz.Provenance) error {
	return h.post(ctx, "setGroupMembership", params{"userId": userID, "groupIds": append([]string{}, groupIDs...), "provenance": prov})
}

func (h *Hosted) GetGroupMembers(ctx context.Context, groupID string) ([]string, error) {
	return field[[]string](ctx, h, "getGroupMembers", params{"groupId": groupID}, "userIds")
}

func (h *Hosted) DissolveVirtualParent(ctx context.Context, groupID string, prov authz.Provenance) error {
	return h.post(ctx, "dissolveVirtualParent", params{"groupId": groupID, "provenance": prov})
}

func (h *Hosted) SetUserActive(ctx context.Context, userID string, active bool, prov authz.Provenance) error {
	return h.post(ctx, "setUserActive", params{"userId": userID, "active": active, "provenance": prov})
}

func (h *Hosted) SetReportingEdge(ctx context.Context, userID, managerUserID string, prov authz.Provenance) error {
	p := params{"userId": userID, "managerUserId": nil, "provenance": prov}
	if managerUserID != "" {
		p["managerUserId"] = managerUserID
	}
	return h.post(ctx, "setReportingEdge", p)
}

func (h *Hosted) GetReportingEdges(ctx context.Context) (map[string]string, error) {
	return field[map[string]string](ctx, h, "getReportingEdges", nil, "edges")
}
