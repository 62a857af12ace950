package provider

import (
	"context"
	"iter"

	"github.com/authzhost/authz/sdk/authz"
)

// Groups administers groups, their parents and their members.
type Groups interface {
	CreateGroup(ctx context.Context, in GroupInput, prov authz.Provenance) (authz.Group, error)
	UpdateGroup(ctx context.Context, id string, in GroupUpdate, prov authz.Provenance) (authz.Group, error)
	SetGroupParents(ctx context.Context, id string, parents []string, prov authz.Provenance) (authz.Group, error)
	DeleteGroup(ctx context.Context, id string, prov authz.Provenance) error
	ListGroups(ctx context.Context, p Paging) iter.Seq2[authz.Group, error]

	// SetGroupMembership replaces the user's list of groups.
	SetGroupMembership(ctx context.Context, userID string, groupIDs []string, prov authz.Provenance) error

	// ChangeGroupMembership adds some groups to the user's list and takes others from it.
	// The rest stays, whoever changes it meanwhile.
	ChangeGroupMembership(ctx context.Context, userID string, change MembershipChange, prov authz.Provenance) error

	// GetGroupMembers lists the ids of direct members.
	GetGroupMembers(ctx context.Context, groupID string) ([]string, error)

	// DissolveVirtualParent gives a group's grants and parents to its children
	// and removes it.
	DissolveVirtualParent(ctx context.Context, groupID string, prov authz.Provenance) error
}

// GroupInput proposes a group. A nil ID lets the application choose one.
type GroupInput struct {
	ID          *string  `json:"id,omitempty"`
	Name        string   `json:"name" read:"required"`
	Description string   `json:"description,omitempty"`
	Parents     []string `json:"parents,omitempty"`
}

// GroupUpdate changes the members that are not nil.
type GroupUpdate struct {
	Name        *string `json:"name,omitempty"`
	Description *string `json:"description,omitempty"`
}

// MembershipChange adds groups to a user and takes groups away. What is there already, or
// is not there, stays so.
type MembershipChange struct {
	Add    []string `json:"add,omitempty"`
	Remove []string `json:"remove,omitempty"`
}

type (
	groupOut struct {
		Group authz.Group `json:"group"`
	}
	membersOut struct {
		UserIDs []string `json:"userIds"`
	}

	listGroupsIn  struct{ Paged }
	createGroupIn struct {
		Input      GroupInput       `json:"input" read:"required"`
		Provenance authz.Provenance `json:"provenance" read:"required"`
	}
	updateGroupIn struct {
		GroupID    string           `json:"groupId" read:"required"`
		Input      GroupUpdate      `json:"input" read:"required"`
		Provenance authz.Provenance `json:"provenance" read:"required"`
	}
	setGroupParentsIn struct {
		GroupID    string           `json:"groupId" read:"required"`
		Parents    []string         `json:"parents" read:"required"`
		Provenance authz.Provenance `json:"provenance" read:"required"`
	}
	groupIn struct {
		GroupID    string           `json:"groupId" read:"required"`
		Provenance authz.Provenance `json:"provenance" read:"required"`
	}
	setGroupMembershipIn struct {
		UserID     string           `json:"userId" read:"required"`
		GroupIDs   []string         `json:"groupIds" read:"required"`
		Provenance authz.Provenance `json:"provenance" read:"required"`
	}
	changeGroupMembershipIn struct {
		UserID string `json:"userId" read:"required"`
		MembershipChange
		Provenance authz.Provenance `json:"provenance" read:"required"`
	}
	getGroupMembersIn struct {
		GroupID string `json:"groupId" read:"required"`
	}
)

var opListGroups = declareList(Operation{Op: "listGroups", Method: "ListGroups", List: "groups",
	Tag: "groups", Summary: "List groups", Answer: "The groups, ascending by id."},
	func(g *authz.Group) any { return g.ID },
	func(ctx context.Context, to Provider, in *listGroupsIn) iter.Seq2[authz.Group, error] {
		return to.ListGroups(ctx, in.paging())
	})

func (c Calls) ListGroups(ctx context.Context, p Paging) iter.Seq2[authz.Group, error] {
	return rows(ctx, c, opListGroups, listGroupsIn{p.paged()})
}

var opCreateGroup = declare(Operation{Op: "createGroup", Kind: Write, Method: "CreateGroup", Tag: "groups", Summary: "Create a group", Answer: "The group as it is now."},
	func(ctx context.Context, to Provider, in *createGroupIn) (groupOut, error) {
		row, err := to.CreateGroup(ctx, in.Input, in.Provenance)
		return groupOut{row}, err
	})

func (c Calls) CreateGroup(ctx context.Context, in GroupInput, prov authz.Provenance) (authz.Group, error) {
	out, err := ask(ctx, c, opCreateGroup, createGroupIn{in, prov})
	return out.Group, err
}

var opUpdateGroup = declare(Operation{Op: "updateGroup", Kind: Write, Method: "UpdateGroup", Tag: "groups", Summary: "Rename or describe a group", Answer: "The group as it is now."},
	func(ctx context.Context, to Provider, in *updateGroupIn) (groupOut, error) {
		row, err := to.UpdateGroup(ctx, in.GroupID, in.Input, in.Provenance)
		return groupOut{row}, err
	})

func (c Calls) UpdateGroup(ctx context.Context, id string, in GroupUpdate, prov authz.Provenance) (authz.Group, error) {
	out, err := ask(ctx, c, opUpdateGroup, updateGroupIn{id, in, prov})
	return out.Group, err
}

var opSetGroupParents = declare(Operation{Op: "setGroupParents", Kind: Write, Method: "SetGroupParents",
	Tag: "groups", Summary: "Replace the parents of a group", Answer: "The group as it is now."},
	func(ctx context.Context, to Provider, in *setGroupParentsIn) (groupOut, error) {
		row, err := to.SetGroupParents(ctx, in.GroupID, in.Parents, in.Provenance)
		return groupOut{row}, err
	})

func (c Calls) SetGroupParents(ctx context.Context, id string, parents []string, prov authz.Provenance) (authz.Group, error) {
	out, err := ask(ctx, c, opSetGroupParents, setGroupParentsIn{id, orNone(parents), prov})
	return out.Group, err
}

var opDeleteGroup = declare(Operation{Op: "deleteGroup", Kind: Write, Method: "DeleteGroup",
	Tag: "groups", Summary: "Delete a group, its grants and its memberships"},
	func(ctx context.Context, to Provider, in *groupIn) (none, error) {
		return none{}, to.DeleteGroup(ctx, in.GroupID, in.Provenance)
	})

func (c Calls) DeleteGroup(ctx context.Context, id string, prov authz.Provenance) error {
	return tell(ctx, c, opDeleteGroup, groupIn{id, prov})
}

var opSetGroupMembership = declare(Operation{Op: "setGroupMembership", Kind: Write, Method: "SetGroupMembership",
	Tag: "groups", Summary: "Replace the groups of a user"},
	func(ctx context.Context, to Provider, in *setGroupMembershipIn) (none, error) {
		return none{}, to.SetGroupMembership(ctx, in.UserID, in.GroupIDs, in.Provenance)
	})

func (c Calls) SetGroupMembership(ctx context.Context, userID string, groupIDs []string, prov authz.Provenance) error {
	return tell(ctx, c, opSetGroupMembership, setGroupMembershipIn{userID, orNone(groupIDs), prov})
}

var opChangeGroupMembership = declare(Operation{Op: "changeGroupMembership", Kind: Write, Method: "ChangeGroupMembership",
	Tag: "groups", Summary: "Add groups to a user, and take groups away"},
	func(ctx context.Context, to Provider, in *changeGroupMembershipIn) (none, error) {
		return none{}, to.ChangeGroupMembership(ctx, in.UserID, in.MembershipChange, in.Provenance)
	})

func (c Calls) ChangeGroupMembership(ctx context.Context, userID string, change MembershipChange, prov authz.Provenance) error {
	return tell(ctx, c, opChangeGroupMembership, changeGroupMembershipIn{userID, change, prov})
}

var opGetGroupMembers = declare(Operation{Op: "getGroupMembers", Kind: Read, Method: "GetGroupMembers",
	Tag: "groups", Summary: "List the direct members of a group", Answer: "None for an unknown group."},
	func(ctx context.Context, to Provider, in *getGroupMembersIn) (membersOut, error) {
		ids, err := to.GetGroupMembers(ctx, in.GroupID)
		return membersOut{orNone(ids)}, err
	})

func (c Calls) GetGroupMembers(ctx context.Context, groupID string) ([]string, error) {
	out, err := ask(ctx, c, opGetGroupMembers, getGroupMembersIn{groupID})
	return out.UserIDs, err
}

var opDissolveVirtualParent = declare(Operation{Op: "dissolveVirtualParent", Kind: Write, Method: "DissolveVirtualParent",
	Tag: "groups", Summary: "Give the grants of a group to its children and remove it"},
	func(ctx context.Context, to Provider, in *groupIn) (none, error) {
		return none{}, to.DissolveVirtualParent(ctx, in.GroupID, in.Provenance)
	})

func (c Calls) DissolveVirtualParent(ctx context.Context, groupID string, prov authz.Provenance) error {
	return tell(ctx, c, opDissolveVirtualParent, groupIn{groupID, prov})
}
