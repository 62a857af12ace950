package ldap

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-ldap/ldap/v3"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/plugins/internal/dn"
	"github.com/authzhost/authz/sdk/authz"
)

// person is an entry that the user filter finds.
type person struct {
	dn, id   string
	active   *bool
	managers []string // keys of names
	orgs     []string
	primary  string // what byPrimary holds their group under; "" is none
}

func (r *reading) readPeople(ctx context.Context, s *session) error {
	o := r.o
	names := append([]string{o.UserID, o.ActiveAttribute, o.UserManager}, o.UserOrgs...)
	if o.GroupBase != "" {
		if o.MemberKind == MemberKey {
			names = append(names, o.MemberKeyAttribute)
		}
		names = append(names, primaryAttributes[o.PrimaryGroup]...)
	}
	in := search{doing: "a search for people", base: o.UserBase, filter: o.UserFilter, id: o.UserID, unusable: kindUser,
		baseSetting: settingUserBase, filterSetting: settingUserFilter, idSetting: settingUserID, attributes: distinct(names...)}

	var have tally
	firstOf := map[string]string{}
	err := r.found(ctx, s, in, func(entry *ldap.Entry, id string) error {
		key, ok := dn.Key(entry.DN)
		if !ok {
			return authz.Validation("%s: the server told an entry whose name is none: %s", s.server, spell.Quote(entry.DN))
		}
		if first, twice := firstOf[id]; twice {
			r.warn.add(kindTwice, "the people %s and %s have the same id %s: what they are in is united", spell.Quote(first), spell.Quote(entry.DN), spell.Quote(id))
		} else {
			firstOf[id] = entry.DN
		}
		r.byDN[key] = len(r.people)
		r.people = append(r.people, r.personOf(entry, id, &have))
		return nil
	})
	if err != nil {
		return err
	}
	if err := r.checkPeople(have); err != nil {
		return err
	}
	r.resolveManagers()
	return nil
}

// tally counts people who have what a setting names.
type tally struct{ total, active, manager, orgs, member, primary int }

func (r *reading) personOf(entry *ldap.Entry, id string, have *tally) person {
	p := person{dn: entry.DN, id: id}
	have.total++
	if r.o.ActiveAttribute != "" {
		p.active = r.activeOf(entry, have)
	}
	for _, value := range plain(entry, r.o.UserManager) {
		have.manager++
		if key, ok := dn.Key(string(value)); ok && key != "" {
			p.managers = append(p.managers, key)
		} else {
			r.warn.add(kindManager, "the manager of %s is no distinguished name", spell.Quote(id))
		}
	}
	for _, attribute := range r.o.UserOrgs {
		for _, value := range plain(entry, attribute) {
			have.orgs++
			org, err := render(attribute, value)
			if err != nil {
				r.warn.add(kindText, "left out an org of %s: its attribute %s %s", spell.Quote(id), spell.Quote(attribute), err)
				continue
			}
			p.orgs = append(p.orgs, org)
		}
	}
	if r.o.GroupBase == "" {
		return p
	}
	if r.o.MemberKind == MemberKey {
		for _, value := range plain(entry, r.o.MemberKeyAttribute) {
			have.member++
			r.byMember[string(value)] = append(r.byMember[string(value)], len(r.people))
		}
	}
	p.primary = r.primaryOf(entry)
	if p.primary != "" {
		have.primary++
	}
	return p
}

// activeOf is nil where the attribute does not say.
func (r *reading) activeOf(entry *ldap.Entry, have *tally) *bool {
	values := plain(entry, r.o.ActiveAttribute)
	has := func(list []string) bool {
		return slices.ContainsFunc(values, func(v []byte) bool {
			return slices.ContainsFunc(list, func(want string) bool { return want == "*" || strings.EqualFold(want, string(v)) })
		})
	}
	var active bool
	switch {
	case r.o.InactiveBits != 0:
		if len(values) != 1 {
			r.warn.add(kindActive, "%s has no %s: whether they are active is not known", spell.Quote(entry.DN), spell.Quote(r.o.ActiveAttribute))
			return nil
		}
		bits, err := strconv.ParseInt(string(values[0]), 10, 64)
		if err != nil {
			r.warn.add(kindActive, "%s has %s that is no number: whether they are active is not known", spell.Quote(entry.DN), spell.Quote(r.o.ActiveAttribute))
			return nil
		}
		active = bits&r.o.InactiveBits == 0
	case len(r.o.InactiveValues) > 0:
		active = !has(r.o.InactiveValues)
	default:
		active = has(r.o.ActiveValues)
	}
	if len(values) > 0 {
		have.active++
	}
	return &active
}

// checkPeople refuses attributes that lead nowhere. Who is inactive by a value that
// most people lack cannot be judged so.
func (r *reading) checkPeople(have tally) error {
	switch {
	case r.o.InactiveBits != 0 && (have.total-have.active)*tolerated > have.total:
		return authz.Validation("of %d people %d have no number in %s: set %s to an attribute that they have and that whom bind_dn names may read",
			have.total, have.total-have.active, spell.Quote(r.o.ActiveAttribute), settingActive)
	case len(r.o.ActiveValues) > 0 && have.active == 0:
		return nowhere(settingActive, r.o.ActiveAttribute, "people", orNone)
	case r.o.UserManager != "" && have.manager == 0:
		return nowhere(settingManager, r.o.UserManager, "people", orNone)
	case len(r.o.UserOrgs) > 0 && have.orgs == 0:
		return nowhere(settingOrgs, strings.Join(r.o.UserOrgs, ", "), "people")
	case r.o.GroupBase != "" && r.o.Member != "" && r.o.MemberKind == MemberKey && have.member == 0:
		return nowhere(settingMemberKey, r.o.MemberKeyAttribute, "people")
	case r.o.GroupBase != "" && r.o.PrimaryGroup != PrimaryNone && have.primary == 0:
		return authz.Validation("no primary group is known of any person: they lack %s, or whom bind_dn names may not read it; or set %s to %q",
			spell.QuoteList(primaryAttributes[r.o.PrimaryGroup]), settingPrimaryGroup, PrimaryNone)
	}
	return nil
}

// resolveManagers follows the names of managers once all people are known. Of
// several it takes the smallest id, so that two readings agree.
func (r *reading) resolveManagers() {
	for _, p := range r.people {
		var ids []string
		for _, key := range p.managers {
			if m, ok := r.byDN[key]; ok {
				ids = append(ids, r.people[m].id)
			}
		}
		switch {
		case len(p.managers) > 0 && len(ids) == 0:
			r.warn.add(kindManager, "the manager of %s is no person that was read", spell.Quote(p.id))
			continue
		case len(ids) == 0:
			continue
		case len(p.managers) > 1:
			r.warn.add(kindManager, "%s has %d managers; %s is taken", spell.Quote(p.id), len(p.managers), spell.Quote(slices.Min(ids)))
		}
		if _, already := r.managers[p.id]; !already {
			r.managers[p.id] = slices.Min(ids)
		}
	}
}

// primaryAttributes are what a person's primary group is known by.
var primaryAttributes = map[PrimaryGroup][]string{
	PrimaryGID: {"gidNumber"},
	PrimarySID: {"primaryGroupID", "objectSid"},
}

// primaryOf is what byPrimary holds a person's primary group under.
func (r *reading) primaryOf(entry *ldap.Entry) string {
	one := func(attribute string) []byte {
		if values := plain(entry, attribute); len(values) == 1 {
			return values[0]
		}
		return nil
	}
	switch r.o.PrimaryGroup {
	case PrimaryGID:
		return string(one("gidNumber"))
	case PrimarySID:
		domain, _, err := sid(one("objectSid"))
		number, numberErr := strconv.ParseUint(string(one("primaryGroupID")), 10, 32)
		if err == nil && numberErr == nil {
			return fmt.Sprintf("%s-%d", domain, number)
		}
	}
	return ""
}
