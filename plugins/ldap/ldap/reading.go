package ldap

import (
	"context"
	"net/url"
	"strings"

	"github.com/go-ldap/ldap/v3"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/plugins/internal/dn"
	"github.com/authzhost/authz/sdk/authz"
)

const (
	// maxMembers bounds the values of one attribute, and of all members together.
	maxMembers = 10_000_000

	// tolerated is the share, one in so many, of entries that may lack their id: one
	// is a fault of the directory, many are a setting that names another attribute.
	tolerated = 10
)

// reading is what was read of one directory.
type reading struct {
	o    Options
	warn warnings

	people     []person
	byDN       map[string]int   // people, by key of their names
	byMember   map[string][]int // people, by what members of MemberKey are values of
	byPrimary  map[string][]int // groups, by what a person's primary group names
	groups     []group
	groupsByDN map[string]int

	groupsOf map[string]map[string]bool // ids of groups, by id of a person
	parents  map[string]map[string]bool // ids of groups, by id of a group
	managers map[string]string
	pending  []membership // members that are no people, until all groups are read
	members  int
	seen     int
}

// begin binds to a server and looks at its schema.
func begin(ctx context.Context, o Options) (*reading, *session, error) {
	s, missed, err := connect(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	if o.CheckSchema {
		if err := s.checkSchema(ctx); err != nil {
			s.close()
			return nil, nil, err
		}
	}
	r := &reading{o: o, byDN: map[string]int{}, byMember: map[string][]int{}, byPrimary: map[string][]int{}, groupsByDN: map[string]int{},
		groupsOf: map[string]map[string]bool{}, parents: map[string]map[string]bool{}, managers: map[string]string{}}
	for _, why := range missed {
		r.warn.add(kindServer, "%s; %s was read instead", why, s.server)
	}
	return r, s, nil
}

// read reads everything.
func (r *reading) read(ctx context.Context, s *session) error {
	if err := r.readPeople(ctx, s); err != nil || r.o.GroupBase == "" {
		return err
	}
	return r.readGroups(ctx, s)
}

// found reads what one search finds and holds it to the limits that hold for
// people and groups alike: somebody is there, nearly all have their id.
func (r *reading) found(ctx context.Context, s *session, in search, each func(*ldap.Entry, string) error) error {
	total, without := 0, 0
	references, err := s.search(ctx, in.doing, in.base, in.filter, in.attributes, func(entry *ldap.Entry) error {
		total++
		if r.seen++; int64(r.seen) > r.o.MaxEntries {
			return authz.Validation("%s: more than %d people and groups: raise %s, or narrow the bases and filters", s.server, r.o.MaxEntries, settingMaxEntries)
		}
		id, err := identifier(entry, in.id)
		if err != nil {
			without++
			r.warn.add(in.unusable, "left out %s: its attribute %s (setting %s) %s", spell.Quote(entry.DN), spell.Quote(in.id), in.idSetting, err)
			return nil
		}
		return each(entry, id)
	})
	if err != nil {
		return err
	}
	for _, to := range references {
		r.warn.add(kindReference, "not read, a part of %s that the server at %s holds: referrals are not followed", spell.Quote(in.base), spell.Quote(withoutCredentials(to)))
	}
	if total == 0 {
		// A server that lets nobody read something also finds nothing.
		return authz.Validation("%s: %s found nothing below %s: look at %s and %s, and at what whom bind_dn names may read",
			s.server, in.doing, spell.Quote(in.base), in.baseSetting, in.filterSetting)
	}
	if without*tolerated > total {
		return authz.Validation("%s: of %d entries that %s found, %d have no usable value of %s: set %s to an attribute that they have and that whom bind_dn names may read",
			s.server, total, in.doing, without, spell.Quote(in.id), in.idSetting)
	}
	return nil
}

// search is what found looks for, with the settings that say so.
type search struct {
	doing, base, filter, id               string
	baseSetting, filterSetting, idSetting string
	attributes                            []string
	unusable                              kind
}

// nowhere refuses an attribute of the configuration that no entry has: what it was
// to tell would be taken for empty.
func nowhere(setting, attribute, of string, or ...string) error {
	return authz.Validation("none of the %s has the attribute %s: set %s to one that they have and that whom bind_dn names may read%s",
		of, spell.Quote(attribute), setting, strings.Join(or, ""))
}

// orNone is for settings that may be switched off.
const orNone = `, or to ""`

// withoutCredentials is an address as a server told it, fit for a warning.
func withoutCredentials(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address that is none"
	}
	return u.Scheme + "://" + u.Host
}

func toSet(sets map[string]map[string]bool, key, value string) {
	if sets[key] == nil {
		sets[key] = map[string]bool{}
	}
	sets[key][value] = true
}

func distinct(names ...string) (list []string) {
	seen := map[string]bool{"": true}
	for _, name := range names {
		if folded := dn.Attribute(name); !seen[folded] && name != "" {
			seen[folded] = true
			list = append(list, name)
		}
	}
	return list
}
