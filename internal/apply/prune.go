package apply

import (
	"fmt"
	"maps"
	"slices"
)

// takeAway deletes what earlier applies of the file made and it does not declare
// any more.
func (p *planner) takeAway() {
	declared := map[key]bool{}
	for _, g := range p.f.Grants {
		declared[g.key()] = true
	}
	old := 0
	for _, g := range p.s.mine {
		if declared[keyOf(g)] {
			continue
		}
		if old++; p.prune {
			p.do("deleteGrant", fields{"grantId": g.ID}, p.add("delete", "grant", g.ID, keyOf(g).String()))
		}
	}
	for _, id := range p.s.oldGroups {
		if old++; p.prune {
			p.pruneGroup(id)
		}
	}
	for _, id := range p.s.oldRoles {
		if old++; !p.prune {
			continue
		}
		if n := p.s.others["role "+id]; n > 0 {
			p.warn("role %s stays: %d grants that this file did not make give it", id, n)
			continue
		}
		p.do("deleteRole", fields{"roleId": id}, p.add("delete", "role", id, ""))
	}
	if old > 0 && !p.prune {
		p.warn("%d roles, groups and grants that earlier applies of %s made are no longer declared: --prune deletes them", old, p.f.Name)
	}
}

func (p *planner) pruneGroup(id string) {
	if why := p.stays(id); why != "" {
		p.warn("group %s stays: %s", id, why)
		return
	}
	p.do("deleteGroup", fields{"groupId": id}, p.add("delete", "group", id, "its memberships go with it"))
}

// stays says what others hung on an old group, "" when nothing.
func (p *planner) stays(id string) string {
	if n := p.s.others["group "+id]; n > 0 {
		return fmt.Sprintf("it has %d grants that this file did not make", n)
	}
	for _, child := range slices.Sorted(maps.Keys(p.s.groups)) {
		switch {
		case !slices.Contains(p.s.groups[child].Parents, id), p.declares(child):
		case !slices.Contains(p.s.oldGroups, child):
			return "the group " + child + ", which this file did not make, belongs to it"
		case p.stays(child) != "":
			return "the group " + child + ", which stays, belongs to it"
		}
	}
	return ""
}

func (p *planner) declares(group string) bool {
	return slices.ContainsFunc(p.f.Groups, func(g Group) bool { return g.ID == group })
}
