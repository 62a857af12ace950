package scim

import (
	"iter"
	"slices"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/plugins/internal/warnings"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

// reading is what the lists say, and how it hangs together.
type reading struct {
	o      Options
	users  []user
	groups []group

	datasets []directory.ImporterCapability
	managers map[string]string   // user → manager, as they are told
	groupsOf map[string][]string // user → groups, as they are told
	parents  map[string][]string // group → groups whose member it is, as they are told
	warnings warnings.Warnings
}

// relate resolves members and managers. A reference that leads nowhere is a warning:
// what it would have given is not given.
func (r *reading) relate() error {
	users := make(map[string]*user, len(r.users))
	groups := make(map[string]*group, len(r.groups))
	for i := range r.users {
		users[r.users[i].id] = &r.users[i]
	}
	for i := range r.groups {
		groups[r.groups[i].id] = &r.groups[i]
	}
	r.managers, r.groupsOf, r.parents = map[string]string{}, map[string][]string{}, map[string][]string{}
	if len(r.users) == 0 {
		return authz.Validation("%s: the service tells nobody, or nobody to these credentials", pathUsers)
	}
	r.datasets = []directory.ImporterCapability{directory.CapUsers}
	if r.o.Groups && len(r.groups) == 0 {
		return authz.Validation("%s: the service tells no group, or none to these credentials: set %s to false if there is none", pathGroups, settingGroups)
	}
	if r.o.Groups {
		r.datasets = append(r.datasets, directory.CapGroups, directory.CapMemberships)
		if err := r.members(users, groups); err != nil {
			return err
		}
	}
	return r.enterprise(users)
}

func (r *reading) members(users map[string]*user, groups map[string]*group) error {
	listed := 0
	for _, g := range r.groups {
		for _, m := range g.members {
			if listed++; int64(listed) > r.o.MaxEntries {
				return authz.Validation("the groups have more members than %s (%d)", settingMaxEntries, r.o.MaxEntries)
			}
			u, child := users[m.Value], groups[m.Value]
			switch kind := m.kind(); {
			case m.Value == "":
				r.warnings.Add("members without a value", "group %s has a member without a value", spell.Quote(g.key))
			case kind == "" && u != nil && child != nil:
				r.warnings.Add("ambiguous members", "member %s of group %s is a user and a group, and the group does not say which", spell.Quote(m.Value), spell.Quote(g.key))
			case kind != "group" && u != nil:
				r.groupsOf[u.key] = append(r.groupsOf[u.key], g.key)
			case kind != "user" && child != nil:
				r.parents[child.key] = append(r.parents[child.key], g.key)
			default:
				r.warnings.Add("members that do not exist", "member %s of group %s does not exist, or was not read", spell.Quote(m.Value), spell.Quote(g.key))
			}
		}
	}
	if len(r.groupsOf) > 0 || r.o.GroupFilter != "" {
		return nil
	}
	// A service that leaves out all members must not empty its groups.
	for _, u := range r.users {
		if u.in != "" {
			return authz.Validation("%s: no group has a member, but User %s says it is in group %s: the service does not tell the members of groups in lists, or not to these credentials",
				pathGroups, spell.Quote(u.id), spell.Quote(u.in))
		}
	}
	return nil
}

// enterprise takes what the extension tells, when any user has it: where none does,
// nothing is known of managers and orgs.
func (r *reading) enterprise(users map[string]*user) error {
	extended := slices.ContainsFunc(r.users, func(u user) bool { return u.enterprise })
	if len(r.o.OrgAttributes) > 0 {
		if !slices.ContainsFunc(r.users, func(u user) bool { return len(u.orgs) > 0 }) {
			return authz.Validation("%s: no user has one of %s (%s)", pathUsers, spell.QuoteList(r.o.OrgAttributes), settingOrgs)
		}
		r.datasets = append(r.datasets, directory.CapOrgs)
	}
	if !r.o.Manager || !extended {
		return nil
	}
	r.datasets = append(r.datasets, directory.CapReporting)
	for _, u := range r.users {
		if u.manager == "" {
			continue
		}
		if m := users[u.manager]; m != nil {
			if r.managers[u.key] == "" { // the first, of a person told twice
				r.managers[u.key] = m.key
			}
		} else {
			r.warnings.Add("managers that do not exist", "manager %s of user %s does not exist, or was not read", spell.Quote(u.manager), spell.Quote(u.key))
		}
	}
	return nil
}

// entries tells the reading from Begin to End.
func (r *reading) entries() iter.Seq[directory.Entry] {
	return func(yield func(directory.Entry) bool) {
		tells := func(c directory.ImporterCapability) bool { return slices.Contains(r.datasets, c) }
		if !yield(directory.Begin{Datasets: r.datasets, Expected: len(r.groups) + 2*len(r.users) + len(r.managers)}) {
			return
		}
		for _, g := range r.groups {
			if !yield(directory.Group{ID: g.key, Name: g.name, Parents: distinct(r.parents[g.key])}) {
				return
			}
		}
		told := map[string]bool{}
		for _, u := range r.users {
			if !yield(directory.User{UserID: u.key, Active: u.active}) {
				return
			}
			if tells(directory.CapOrgs) && !yield(directory.OrgMembership{UserID: u.key, Orgs: distinct(u.orgs)}) {
				return
			}
			if told[u.key] {
				continue
			}
			told[u.key] = true
			if tells(directory.CapMemberships) && !yield(directory.Membership{UserID: u.key, Groups: distinct(r.groupsOf[u.key])}) {
				return
			}
			if manager := r.managers[u.key]; manager != "" && !yield(directory.ReportingEdge{UserID: u.key, ManagerID: manager}) {
				return
			}
		}
		for _, w := range r.warnings.All() {
			if !yield(directory.Warning{Message: w}) {
				return
			}
		}
		yield(directory.End{})
	}
}

func distinct(list []string) []string {
	out := make([]string, 0, len(list))
	seen := map[string]bool{}
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
