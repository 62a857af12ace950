package application

import (
	"context"
	"iter"
	"slices"

	"github.com/authzhost/authz/host/internal/cycle"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
	"github.com/authzhost/authz/sdk/storage"
)

const (
	nounGroup      = "a user group"
	nounParentage  = "group parentage"
	nounMembership = "group membership"
)

func groupSubject(id string) string { return authz.SubjectOf(authz.SubjectGroup, id) }

func errGroupNotFound() error { return authz.Rejected(authz.CodeNotFound, "group not found") }

// CreateGroup writes a new group.
func (a *Application) CreateGroup(ctx context.Context, in provider.GroupInput, prov authz.Provenance) (authz.Group, error) {
	var s shape
	if in.ID != nil {
		s.text("id", *in.ID, maxID)
		s.newID("id", *in.ID)
	}
	s.text("name", in.Name, maxName)
	s.text("description", in.Description, maxText)
	s.ids("parent", in.Parents)
	var row authz.Group
	plan := func(ctx context.Context, d *draft) error {
		id, err := d.newID(in.ID, func(id string) error {
			_, taken, err := a.store.GetGroup(ctx, id)
			if err == nil && taken {
				err = authz.Rejected(authz.CodeConflict, "group id %s already exists", spell.Quote(id))
			}
			return err
		})
		if err != nil {
			return err
		}
		row = authz.Group{ID: id, Name: in.Name, Description: in.Description, Parents: distinct(in.Parents)}
		if err := a.groupsExist(ctx, "parent group", row.Parents); err != nil {
			return err
		}
		if in.ID != nil && len(row.Parents) > 0 {
			// A directory import may have left edges to an id that is only now taken.
			graph, err := a.readTopology(ctx)
			if err != nil {
				return err
			}
			graph[id] = row.Parents
			if path := cycle.Through(graph, id); path != nil {
				return authz.Cycle(path)
			}
		}
		d.change(storage.UpsertGroup{Group: row})
		d.audit("group.create", id, nameDetail{row.Name})
		d.emit(authz.SubjectEvent(groupSubject(id)))
		return nil
	}
	err := a.propose(ctx, s, write{op: "createGroup", prov: prov, rootOnly: nounGroup, sections: []string{sectionGroups}, plan: plan})
	return answered(&row, err)
}

// UpdateGroup changes name and description. Nothing that evaluation reads
// changes, so there is no event.
func (a *Application) UpdateGroup(ctx context.Context, id string, in provider.GroupUpdate, prov authz.Provenance) (authz.Group, error) {
	var s shape
	s.id("groupId", id)
	s.text("name", deref(in.Name), maxName)
	s.text("description", deref(in.Description), maxText)
	return a.editGroup(ctx, "updateGroup", nounGroup, s, id, prov, func(_ context.Context, d *draft, row *authz.Group) error {
		if in.Name != nil {
			row.Name = *in.Name
		}
		if in.Description != nil {
			row.Description = *in.Description
		}
		d.audit("group.update", id, nameDetail{row.Name})
		return nil
	})
}

// SetGroupParents replaces the parents; the whole graph must stay acyclic.
func (a *Application) SetGroupParents(ctx context.Context, id string, parents []string, prov authz.Provenance) (authz.Group, error) {
	var s shape
	s.id("groupId", id)
	s.ids("parent", parents)
	return a.editGroup(ctx, "setGroupParents", nounParentage, s, id, prov, func(ctx context.Context, d *draft, row *authz.Group) error {
		row.Parents = distinct(parents)
		if err := a.groupsExist(ctx, "parent group", row.Parents); err != nil {
			return err
		}
		if err := a.checkAcyclic(ctx, id, row.Parents); err != nil {
			return err
		}
		d.audit("group.set_parents", id, struct {
			Parents []string `json:"parents"`
		}{row.Parents})
		d.emit(authz.SubjectEvent(groupSubject(id)))
		return nil
	})
}

// editGroup reads a group, lets edit change it, and writes it whole.
func (a *Application) editGroup(ctx context.Context, op, noun string, s shape, id string, prov authz.Provenance,
	edit func(context.Context, *draft, *authz.Group) error,
) (authz.Group, error) {
	var edited authz.Group
	err := a.onGroup(ctx, op, noun, s, id, prov, func(ctx context.Context, d *draft, row authz.Group) error {
		row.Parents = distinct(row.Parents)
		if err := edit(ctx, d, &row); err != nil {
			return err
		}
		d.change(storage.UpsertGroup{Group: row})
		edited = row
		return nil
	})
	if err != nil {
		return authz.Group{}, err
	}
	return edited, nil
}

// onGroup does to a stored group what change drafts.
func (a *Application) onGroup(ctx context.Context, op, noun string, s shape, id string, prov authz.Provenance,
	change func(context.Context, *draft, authz.Group) error,
) error {
	plan := func(ctx context.Context, d *draft) error {
		row, found, err := a.store.GetGroup(ctx, id)
		if err != nil {
			return err
		}
		if !found {
			return errGroupNotFound()
		}
		return change(ctx, d, row)
	}
	return a.propose(ctx, s, write{op: op, prov: prov, rootOnly: noun, sections: []string{sectionGroups}, plan: plan})
}

// DeleteGroup removes a group, its memberships, the edges that name it and its
// grants.
func (a *Application) DeleteGroup(ctx context.Context, id string, prov authz.Provenance) error {
	var s shape
	s.id("groupId", id)
	return a.onGroup(ctx, "deleteGroup", nounGroup, s, id, prov, func(ctx context.Context, d *draft, row authz.Group) error {
		if err := d.leaveGroup(ctx, id); err != nil {
			return err
		}
		d.emit(authz.SubjectEvent(groupSubject(id)))
		members, err := d.dropMembers(ctx, id)
		if err != nil {
			return err
		}
		subject := groupSubject(id)
		for g, err := range a.store.ListGrants(ctx, storage.GrantFilter{Subject: &subject}, storage.Page{}) {
			if err != nil {
				return err
			}
			d.change(storage.DeleteGrant{ID: g.ID, MustExist: true})
			d.audit("grant.delete", g.ID, reasonDetail{"group deleted"})
		}
		d.change(storage.DeleteGroup{ID: id})
		d.audit("group.delete", id, struct {
			Name    string `json:"name"`
			Members int    `json:"members"`
		}{row.Name, members})
		return nil
	})
}

type reasonDetail struct {
	Reason string `json:"reason"`
}

// leaveGroup takes the parent from every group that names it.
func (d *draft) leaveGroup(ctx context.Context, parent string) error {
	for g, err := range d.app.store.ListGroups(ctx, storage.Page{}) {
		if err != nil {
			return err
		}
		if g.ID != parent && slices.Contains(g.Parents, parent) {
			g.Parents = without(g.Parents, parent)
			d.change(storage.UpsertGroup{Group: g})
			d.emit(authz.SubjectEvent(groupSubject(g.ID)))
		}
	}
	return nil
}

// dropMembers takes the membership from every direct member and says how many
// there were.
func (d *draft) dropMembers(ctx context.Context, group string) (int, error) {
	members := 0
	for userID, err := range d.app.store.ListUsersInGroup(ctx, group, storage.Page{}) {
		if err != nil {
			return 0, err
		}
		user, found, err := d.app.store.GetUser(ctx, userID)
		if err != nil {
			return 0, err
		}
		if !found || !slices.Contains(user.GroupIDs, group) {
			continue // gone since it was listed
		}
		members++
		left := without(user.GroupIDs, group)
		d.change(storage.PatchUser{UserID: userID, GroupIDs: &left})
		d.emit(authz.UserEvent(userID))
	}
	return members, nil
}

// without keeps the first of equal values, as distinct does, and none that is gone.
func without(list []string, gone string) []string {
	return slices.DeleteFunc(distinct(list), func(v string) bool { return v == gone })
}

// SetGroupMembership replaces the groups of a user.
func (a *Application) SetGroupMembership(ctx context.Context, userID string, groupIDs []string, prov authz.Provenance) error {
	var s shape
	s.id("userId", userID)
	s.ids("group id", groupIDs)
	plan := func(ctx context.Context, d *draft) error {
		if err := d.newUsers(ctx, "userId", userID); err != nil {
			return err
		}
		if err := a.groupsExist(ctx, "group", groupIDs); err != nil {
			return err
		}
		d.membership(userID, distinct(groupIDs), groupIDs)
		return nil
	}
	return a.propose(ctx, s, write{op: "setGroupMembership", prov: prov, rootOnly: nounMembership, sections: []string{sectionGroups}, plan: plan})
}

// ChangeGroupMembership reads and writes the user's groups under one section, so that of
// two changes at once both are kept.
func (a *Application) ChangeGroupMembership(ctx context.Context, userID string, change provider.MembershipChange, prov authz.Provenance) error {
	var s shape
	s.id("userId", userID)
	s.ids("group id", change.Add)
	s.ids("group id", change.Remove)
	if s.err == nil && len(change.Add)+len(change.Remove) == 0 {
		s.err = authz.Validation("a change of membership needs add or remove")
	}
	for _, id := range change.Add {
		if s.err == nil && slices.Contains(change.Remove, id) {
			s.err = authz.Validation("group %s stands in add and in remove", spell.Quote(id))
		}
	}
	plan := func(ctx context.Context, d *draft) error {
		if err := d.newUsers(ctx, "userId", userID); err != nil {
			return err
		}
		if err := a.groupsExist(ctx, "group", change.Add); err != nil {
			return err
		}
		user, _, err := a.store.GetUser(ctx, userID)
		if err != nil {
			return err
		}
		groups := slices.DeleteFunc(distinct(slices.Concat(user.GroupIDs, change.Add)), func(id string) bool { return slices.Contains(change.Remove, id) })
		d.membership(userID, groups, groups)
		return nil
	}
	return a.propose(ctx, s, write{op: "changeGroupMembership", prov: prov, rootOnly: nounMembership, sections: []string{sectionGroups}, plan: plan})
}

// groupsExist refuses a group that is not stored; what says as what it was named.
func (a *Application) groupsExist(ctx context.Context, what string, ids []string) error {
	for _, g := range distinct(ids) {
		_, found, err := a.store.GetGroup(ctx, g)
		if err != nil {
			return err
		}
		if !found {
			return authz.Rejected(authz.CodeNotFound, "%s %s does not exist", what, spell.Quote(g))
		}
	}
	return nil
}

// membership writes the groups of a user; told is what the audit entry says.
func (d *draft) membership(userID string, groups, told []string) {
	d.change(storage.PatchUser{UserID: userID, GroupIDs: &groups})
	d.audit("user.set_groups", userID, struct {
		GroupIDs []string `json:"groupIds"`
	}{append([]string{}, told...)})
	d.emit(authz.UserEvent(userID))
}

// GetGroupMembers lists the ids of direct members; an unknown group has none.
func (a *Application) GetGroupMembers(ctx context.Context, groupID string) ([]string, error) {
	var s shape
	s.id("groupId", groupID)
	if s.err != nil {
		return nil, s.err
	}
	members := []string{}
	for id, err := range a.store.ListUsersInGroup(ctx, groupID, storage.Page{}) {
		if err != nil {
			return nil, a.readFailed("getGroupMembers", err)
		}
		members = append(members, id)
	}
	return members, nil
}

// ListGroups lists groups by id.
func (a *Application) ListGroups(ctx context.Context, p provider.Paging) iter.Seq2[authz.Group, error] {
	var s shape
	s.page(p)
	return listed(a, "listGroups", s.err, func() iter.Seq2[authz.Group, error] {
		return a.store.ListGroups(ctx, storage.Page(p))
	})
}

// checkAcyclic judges the whole parent graph with one edit applied. A cycle
// through the edited group is reported before any other.
func (a *Application) checkAcyclic(ctx context.Context, edited string, parents []string) error {
	graph, err := a.readTopology(ctx)
	if err != nil {
		return err
	}
	graph[edited] = parents
	if path := cycle.Find(graph, edited); path != nil {
		return authz.Cycle(path)
	}
	return nil
}
