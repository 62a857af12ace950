package orgroot

import (
	"context"

	"github.com/authzhost/authz/host/internal/search"
	"github.com/authzhost/authz/host/service"
	"github.com/authzhost/authz/host/service/applications"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// Groups lists groups by id, as Roles lists roles.
func (r *Root) Groups(ctx context.Context, a *service.Access, typed string, p Page) (List[authz.Group], error) {
	found := func(g authz.Group) bool { return search.Finds(typed, g.ID, g.Name) }
	id := func(g authz.Group) string { return g.ID }
	return rooted(ctx, r, a.Org.ID, func(to applications.Asked) (List[authz.Group], error) {
		rows, err := ordered(only(to.Relay.ListGroups(ctx, searched(typed, p)), found), to.ID, p, byID(id))
		if err != nil {
			return List[authz.Group]{}, err
		}
		return cut(rows, p, id), nil
	})
}

func (r *Root) CreateGroup(ctx context.Context, a *service.Access, in provider.GroupInput) (authz.Group, error) {
	return rooted(ctx, r, a.Org.ID, func(to applications.Asked) (authz.Group, error) {
		if err := r.mayCreateGroup(ctx, a, to, in); err != nil {
			return authz.Group{}, err
		}
		return to.Relay.CreateGroup(ctx, in, a.Caller.Provenance())
	})
}

func (r *Root) UpdateGroup(ctx context.Context, a *service.Access, id string, in provider.GroupUpdate, match Match) (authz.Group, error) {
	return rooted(ctx, r, a.Org.ID, func(to applications.Asked) (authz.Group, error) {
		if err := matchGroup(ctx, to, id, match); err != nil {
			return authz.Group{}, err
		}
		return to.Relay.UpdateGroup(ctx, id, in, a.Caller.Provenance())
	})
}

func (r *Root) DeleteGroup(ctx context.Context, a *service.Access, id string, match Match) error {
	return r.atRoot(ctx, a.Org.ID, func(to applications.Asked) error {
		if err := matchGroup(ctx, to, id, match); err != nil {
			return err
		}
		return to.Relay.DeleteGroup(ctx, id, a.Caller.Provenance())
	})
}

func (r *Root) SetGroupParents(ctx context.Context, a *service.Access, id string, parents []string, match Match) (authz.Group, error) {
	return rooted(ctx, r, a.Org.ID, func(to applications.Asked) (authz.Group, error) {
		if err := matchGroup(ctx, to, id, match); err != nil {
			return authz.Group{}, err
		}
		if err := r.maySetParents(ctx, a, to, id, parents); err != nil {
			return authz.Group{}, err
		}
		return to.Relay.SetGroupParents(ctx, id, parents, a.Caller.Provenance())
	})
}

func matchGroup(ctx context.Context, to applications.Asked, id string, match Match) error {
	if match == nil {
		return nil
	}
	group, err := groupOf(ctx, to, id)
	if err != nil {
		return err
	}
	return match.against(group)
}

// CountGroupMembers counts what GroupMembers lists.
func (r *Root) CountGroupMembers(ctx context.Context, a *service.Access, id string) (int64, error) {
	return rooted(ctx, r, a.Org.ID, func(to applications.Asked) (int64, error) {
		members, err := to.Relay.GetGroupMembers(ctx, id)
		return int64(len(members)), err
	})
}

// GroupMembers lists the direct members of a group by id.
func (r *Root) GroupMembers(ctx context.Context, a *service.Access, id string, p Page) (List[string], error) {
	return rooted(ctx, r, a.Org.ID, func(to applications.Asked) (List[string], error) {
		members, err := to.Relay.GetGroupMembers(ctx, id)
		if err != nil {
			return List[string]{}, err
		}
		return inMemory(members, p, func(id string) string { return id }), nil
	})
}

func (r *Root) DissolveGroup(ctx context.Context, a *service.Access, id string) error {
	return r.atRoot(ctx, a.Org.ID, func(to applications.Asked) error {
		return to.Relay.DissolveVirtualParent(ctx, id, a.Caller.Provenance())
	})
}
