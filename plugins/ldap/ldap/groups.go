package ldap

import (
	"context"
	"slices"

	"github.com/go-ldap/ldap/v3"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/plugins/internal/dn"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

// group is an entry that the group filter finds.
type group struct {
	dn, id, name, description string
}

// membership is a member of a group that may be another group.
type membership struct {
	group int
	key   string // of the member's name
	name  string
}

func (r *reading) readGroups(ctx context.Context, s *session) error {
	o := r.o
	names := []string{o.GroupID, o.GroupName, o.GroupDescription, o.Member}
	switch o.PrimaryGroup {
	case PrimaryGID:
		names = append(names, "gidNumber")
	case PrimarySID:
		names = append(names, "objectSid")
	}
	in := search{doing: "a search for groups", base: o.GroupBase, filter: o.GroupFilter, id: o.GroupID, unusable: kindGroup,
		baseSetting: settingGroupBase, filterSetting: settingGroupFilter, idSetting: settingGroupID, attributes: distinct(names...)}

	type remainder struct{ group, next int }
	var long []remainder // lists that the server told in part
	named, withMembers := 0, 0
	firstOf := map[string]string{}
	err := r.found(ctx, s, in, func(entry *ldap.Entry, id string) error {
		key, ok := dn.Key(entry.DN)
		if !ok {
			return authz.Validation("%s: the server told an entry whose name is none: %s", s.server, spell.Quote(entry.DN))
		}
		if first, twice := firstOf[id]; twice {
			r.warn.add(kindTwice, "the groups %s and %s have the same id %s: what they are in is united", spell.Quote(first), spell.Quote(entry.DN), spell.Quote(id))
		} else {
			firstOf[id] = entry.DN
		}
		if _, person := r.byDN[key]; person {
			r.warn.add(kindTwice, "%s is found as a person and as a group: as a member it is the person", spell.Quote(entry.DN))
		}
		at := len(r.groups)
		r.groupsByDN[key] = at
		r.groups = append(r.groups, r.groupOf(entry, id, &named))
		for _, primary := range r.primaryKeys(entry) {
			r.byPrimary[primary] = append(r.byPrimary[primary], at)
		}
		members, err := partOf(entry, o.Member, 0)
		if err != nil {
			return &authz.UnavailableError{Message: s.server.String() + ": " + err.Error()}
		}
		if len(members.values) > 0 {
			withMembers++
		}
		if members.next > 0 {
			long = append(long, remainder{at, members.next})
		}
		for _, value := range members.values {
			if err := r.member(at, value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	// Now that the search has ended: servers hold few of them open on a connection.
	for _, l := range long {
		err := s.rest(ctx, r.groups[l.group].dn, o.Member, l.next, func(value []byte) error { return r.member(l.group, value) })
		if err != nil {
			return err
		}
	}
	switch {
	case named == 0:
		return nowhere(settingGroupName, o.GroupName, "groups")
	case o.Member != "" && withMembers == 0:
		return nowhere(settingMember, o.Member, "groups")
	}
	r.resolveNested()
	r.resolvePrimary()
	return nil
}

func (r *reading) groupOf(entry *ldap.Entry, id string, named *int) group {
	g := group{dn: entry.DN, id: id}
	var changed, alsoChanged bool
	if g.name, changed = label(entry, r.o.GroupName, directory.MaxName); g.name != "" {
		*named++
	} else {
		g.name = id
	}
	g.description, alsoChanged = label(entry, r.o.GroupDescription, directory.MaxText)
	if changed || alsoChanged {
		r.warn.add(kindText, "the name or description of the group %s is too long, or no text, and was made to fit", spell.Quote(id))
	}
	return g
}

func (r *reading) primaryKeys(entry *ldap.Entry) (keys []string) {
	switch r.o.PrimaryGroup {
	case PrimaryGID:
		for _, value := range plain(entry, "gidNumber") {
			keys = append(keys, string(value))
		}
	case PrimarySID:
		if text, err := identifier(entry, "objectSid"); err == nil {
			keys = append(keys, text)
		}
	}
	return keys
}

// member takes over one value of a group's list. People are known by now; a name
// that is none of theirs waits for the last group.
func (r *reading) member(at int, value []byte) error {
	if r.members++; r.members > maxMembers {
		return authz.Validation("the groups have more than %d members", maxMembers)
	}
	group := r.groups[at].id
	if r.o.MemberKind == MemberKey {
		switch people := r.byMember[string(value)]; {
		case len(people) == 0:
			r.warn.add(kindMember, "the member %s of the group %s is no person that was read", spell.Quote(string(value)), spell.Quote(group))
		case r.several(people):
			r.warn.add(kindMember, "the member %s of the group %s is more than one person: none of them is taken", spell.Quote(string(value)), spell.Quote(group))
		default:
			toSet(r.groupsOf, r.people[people[0]].id, group)
		}
		return nil
	}
	key, ok := dn.Key(string(value))
	switch {
	case !ok:
		r.warn.add(kindMember, "the member %s of the group %s is no distinguished name", spell.Quote(string(value)), spell.Quote(group))
		return nil
	case key == "": // stands where a schema wants at least one member
		return nil
	}
	if person, known := r.byDN[key]; known {
		toSet(r.groupsOf, r.people[person].id, group)
	} else {
		r.pending = append(r.pending, membership{group: at, key: key, name: string(value)})
	}
	return nil
}

func (r *reading) several(people []int) bool {
	return slices.ContainsFunc(people, func(p int) bool { return r.people[p].id != r.people[people[0]].id })
}

// resolveNested makes a group's parents of the groups that list it.
func (r *reading) resolveNested() {
	for _, m := range r.pending {
		child, ok := r.groupsByDN[m.key]
		switch {
		case ok && r.o.NestedGroups:
			toSet(r.parents, r.groups[child].id, r.groups[m.group].id)
		case !ok:
			r.warn.add(kindMember, "the member %s of the group %s is no person or group that was read", spell.Quote(m.name), spell.Quote(r.groups[m.group].id))
		}
	}
	r.pending = nil
}

func (r *reading) resolvePrimary() {
	for _, p := range r.people {
		if p.primary == "" {
			continue
		}
		groups := r.byPrimary[p.primary]
		if len(groups) == 0 {
			r.warn.add(kindPrimary, "the primary group of %s, %s, is no group that was read", spell.Quote(p.id), spell.Quote(p.primary))
		}
		for _, g := range groups {
			toSet(r.groupsOf, p.id, r.groups[g].id)
		}
	}
}
