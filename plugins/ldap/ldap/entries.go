package ldap

import (
	"iter"
	"maps"
	"slices"

	"github.com/authzhost/authz/sdk/directory"
)

// entries tells what was read. Lists that a reading knows are told also when they
// are empty: a person who left their last group has none.
func (r *reading) entries() iter.Seq[directory.Entry] {
	return func(yield func(directory.Entry) bool) {
		_ = r.tell(yield)
	}
}

// tell reports whether the reader took it all.
func (r *reading) tell(yield func(directory.Entry) bool) bool {
	warnings := r.warn.list()
	begin := directory.Begin{Datasets: []directory.ImporterCapability{directory.CapUsers}, Expected: len(r.people) + len(warnings)}
	if r.o.GroupBase != "" {
		begin.Datasets = append(begin.Datasets, directory.CapGroups, directory.CapMemberships)
		begin.Expected += len(r.groups) + len(r.people)
	}
	if r.o.UserManager != "" {
		begin.Datasets = append(begin.Datasets, directory.CapReporting)
		begin.Expected += len(r.managers)
	}
	if len(r.o.UserOrgs) > 0 {
		begin.Datasets = append(begin.Datasets, directory.CapOrgs)
		begin.Expected += len(r.people)
	}
	if !yield(begin) {
		return false
	}
	for _, p := range r.people {
		if !yield(directory.User{UserID: p.id, Active: p.active}) {
			return false
		}
		if len(r.o.UserOrgs) > 0 && !yield(directory.OrgMembership{UserID: p.id, Orgs: p.orgs}) {
			return false
		}
	}
	for _, g := range r.groups {
		if !yield(directory.Group{ID: g.id, Name: g.name, Description: g.description, Parents: sorted(r.parents[g.id])}) {
			return false
		}
	}
	told := map[string]bool{}
	for _, p := range r.people {
		if told[p.id] {
			continue
		}
		told[p.id] = true
		if r.o.GroupBase != "" && !yield(directory.Membership{UserID: p.id, Groups: sorted(r.groupsOf[p.id])}) {
			return false
		}
		if manager, ok := r.managers[p.id]; ok && r.o.UserManager != "" && !yield(directory.ReportingEdge{UserID: p.id, ManagerID: manager}) {
			return false
		}
	}
	for _, text := range warnings {
		if !yield(directory.Warning{Message: text}) {
			return false
		}
	}
	return yield(directory.End{})
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
