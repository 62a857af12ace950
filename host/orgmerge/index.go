package orgmerge

import (
	"slices"

	"github.com/authzhost/authz/sdk/authz"
)

// index is a side looked up by id. Ids that are only named have a nil row.
type index struct {
	roles  map[string]*authz.Role
	groups map[string]*cohort
	users  map[string]*authz.User
}

// cohort is a group with its direct members: people and groups, ascending.
type cohort struct {
	group         *authz.Group
	people, below []string
}

func indexed(s *Side) *index {
	o := &s.Snapshot
	x := &index{make(map[string]*authz.Role, len(o.Roles)), make(map[string]*cohort, len(o.Groups)), make(map[string]*authz.User, len(o.Users))}
	for i := range o.Roles {
		x.roles[o.Roles[i].ID] = &o.Roles[i]
	}
	for i := range o.Groups {
		x.cohort(o.Groups[i].ID).group = &o.Groups[i]
	}
	references{
		role:  func(id *string) { x.role(*id) },
		group: func(id *string) { x.cohort(*id) },
	}.snapshot(o)
	for _, n := range s.Named {
		for id := range n.Roles {
			x.role(id)
		}
		for id := range n.Groups {
			x.cohort(id)
		}
	}
	for i := range o.Groups {
		for _, parent := range o.Groups[i].Parents {
			c := x.cohort(parent)
			c.below = append(c.below, o.Groups[i].ID)
		}
	}
	for i := range o.Users {
		u := &o.Users[i]
		x.users[u.UserID] = u
		for _, g := range u.GroupIDs {
			c := x.cohort(g)
			c.people = append(c.people, u.UserID)
		}
	}
	for _, c := range x.groups {
		c.people, c.below = set(c.people), set(c.below)
	}
	return x
}

func (x *index) role(id string) {
	if _, ok := x.roles[id]; !ok {
		x.roles[id] = nil
	}
}

func (x *index) cohort(id string) *cohort {
	c, ok := x.groups[id]
	if !ok {
		c = &cohort{}
		x.groups[id] = c
	}
	return c
}

// set sorts a list and keeps one of equal entries.
func set(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// both are the ids that two maps share, ascending.
func both[A, B any](a map[string]A, b map[string]B) []string {
	var ids []string
	for id := range a {
		if _, ok := b[id]; ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
