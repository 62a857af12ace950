package ldap

import (
	"cmp"
	"maps"
	"slices"

	"github.com/authzhost/authz/sdk/directory"
)

// tell tells what was read and reports whether the reader took it all. Lists that a
// reading knows are told also when they are empty: a person who left their last
// group has none.
func (r *reading) tell(yield func(directory.Entry) bool) bool {
	people, groups := united(r.people, person.unite), united(r.groups, group.unite)
	for _, g := range groups {
		if !yield(directory.Group{ID: g.id, Name: g.name, Description: g.description, Parents: sorted(r.parents[g.id])}) {
			return false
		}
	}
	for _, p := range people {
		if !r.tellPerson(p, yield) {
			return false
		}
	}
	for _, text := range r.warn.list() {
		if !yield(directory.Warning{Message: text}) {
			return false
		}
	}
	return yield(directory.End{})
}

func (r *reading) tellPerson(p person, yield func(directory.Entry) bool) bool {
	if !yield(directory.User{UserID: p.id, Active: p.active}) {
		return false
	}
	if r.o.GroupBase != "" && !yield(directory.Membership{UserID: p.id, Groups: sorted(r.groupsOf[p.id])}) {
		return false
	}
	if manager, ok := r.managers[p.id]; ok && !yield(directory.ReportingEdge{UserID: p.id, ManagerID: manager}) {
		return false
	}
	return len(r.o.UserOrgs) == 0 || yield(directory.OrgMembership{UserID: p.id, Orgs: slices.Compact(slices.Sorted(slices.Values(p.orgs)))})
}

// united are the entries by id, in the order in which ids came first.
func united[T interface{ ident() string }](entries []T, unite func(T, T) T) []T {
	at := make(map[string]int, len(entries))
	list := make([]T, 0, len(entries))
	for _, e := range entries {
		if i, twice := at[e.ident()]; twice {
			list[i] = unite(list[i], e)
			continue
		}
		at[e.ident()] = len(list)
		list = append(list, e)
	}
	return list
}

func (p person) ident() string { return p.id }
func (g group) ident() string  { return g.id }

// unite is the person of two entries with one id: active if either is.
func (p person) unite(other person) person {
	if p.active == nil || other.active != nil && *other.active {
		p.active = other.active
	}
	p.orgs = slices.Concat(p.orgs, other.orgs)
	return p
}

// unite keeps the first name; parents are known by id.
func (g group) unite(other group) group {
	g.description = cmp.Or(g.description, other.description)
	return g
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
