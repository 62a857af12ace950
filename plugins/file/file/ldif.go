package file

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/plugins/file/ldif"
	"github.com/authzhost/authz/plugins/internal/dn"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/directory"
)

// classComputer is a kind of person in Active Directory.
const classComputer = "computer"

// uidMembers is the attribute whose values are those of uid, not names.
const uidMembers = "memberUid"

// entry is a person or group of LDIF.
type entry struct {
	*document
	ldif.Record
	id string
}

// tree is what is known by name while references are resolved.
type tree struct {
	lines          map[string]string // of every entry, by name
	people, groups []*entry
	person, group  map[string]*entry // by name
	uid            map[string][]*entry
}

// ldif reads entries of a directory. Names in them may lead to entries of any file,
// so all are read before any is told.
func (r *reading) ldif(docs []*document) error {
	t := &tree{lines: map[string]string{}, person: map[string]*entry{}, group: map[string]*entry{}, uid: map[string][]*entry{}}
	for _, d := range docs {
		for record, err := range ldif.Records(d.text) {
			var syntax *ldif.SyntaxError
			if errors.As(err, &syntax) {
				return d.at(syntax.Line, syntax.Column, "%s", syntax.Message)
			}
			if err := first(stopped(r.ctx), nil, func() error { return r.sort(t, &entry{document: d, Record: record}) }); err != nil {
				return err
			}
		}
	}
	if len(t.people) == 0 {
		return authz.Validation("%s: no entry has one of the object classes %s (%s)", spell.Echo(r.o.Path), spell.QuoteList(r.o.UserClasses), settingUserClasses)
	}
	r.datasets[directory.CapUsers] = true
	r.datasets[directory.CapOrgs] = len(r.o.Orgs) > 0
	// Without any group nothing is known of them: the file may hold people only.
	r.datasets[directory.CapGroups] = len(t.groups) > 0
	r.datasets[directory.CapMemberships] = len(t.groups) > 0
	if err := r.ldifGroups(t); err != nil {
		return err
	}
	return r.ldifPeople(t)
}

// sort keeps people and groups and passes over everything else.
func (r *reading) sort(t *tree, e *entry) error {
	name, ok := dn.Key(e.DN)
	if !ok || name == "" {
		return e.at(e.Line, 1, "%s is no distinguished name", spell.Quote(e.DN))
	}
	if first := t.lines[name]; first != "" {
		return e.at(e.Line, 1, "the entry %s is there twice, first at %s", spell.Quote(e.DN), spell.Echo(first))
	}
	t.lines[name] = e.name + ":" + strconv.Itoa(e.Line)
	classes, err := e.texts("objectClass")
	if err != nil {
		return err
	}
	is := func(wanted []string) bool {
		return slices.ContainsFunc(classes, func(c string) bool {
			return slices.ContainsFunc(wanted, func(w string) bool { return strings.EqualFold(c, w) })
		})
	}
	switch person, group := is(r.o.UserClasses) && !is([]string{classComputer}), is(r.o.GroupClasses); {
	case person && group:
		return e.at(e.Line, 1, "the entry %s is a person and a group", spell.Quote(e.DN))
	case person:
		if e.id, err = e.identifier(r.o.UserID, settingUserID); err != nil {
			return err
		}
		t.people, t.person[name] = append(t.people, e), e
		uids, err := e.texts("uid")
		for _, uid := range uids {
			t.uid[uid] = append(t.uid[uid], e)
		}
		return err
	case group:
		e.id, err = e.identifier(r.o.GroupID, settingGroupID)
		t.groups, t.group[name] = append(t.groups, e), e
		return err
	}
	return nil
}

func (r *reading) ldifPeople(t *tree) error {
	memberOf := map[*entry][]string{}
	for _, g := range t.groups {
		if err := stopped(r.ctx); err != nil {
			return err
		}
		for _, m := range r.members(t, g) {
			memberOf[m] = append(memberOf[m], g.id)
		}
	}
	managed, active, orgs := false, false, false
	for _, p := range t.people {
		u := directory.User{UserID: p.id}
		if r.o.Active != "" {
			var err error
			if u.Active, err = r.activeOf(p, &active); err != nil {
				return err
			}
		}
		if err := r.add(u); err != nil {
			return err
		}
		if r.datasets[directory.CapMemberships] {
			groups := memberOf[p]
			slices.Sort(groups)
			if err := r.add(directory.Membership{UserID: p.id, Groups: slices.Compact(groups)}); err != nil {
				return err
			}
		}
		if r.o.Manager != "" {
			edge, err := r.managerOf(t, p, &managed)
			if err != nil {
				return err
			}
			if edge != nil {
				if err := r.add(*edge); err != nil {
					return err
				}
			}
		}
		if len(r.o.Orgs) > 0 {
			list, err := p.orgs(r.o.Orgs)
			orgs = orgs || len(list) > 0
			if err := first(err, nil, func() error { return r.add(directory.OrgMembership{UserID: p.id, Orgs: list}) }); err != nil {
				return err
			}
		}
	}
	r.datasets[directory.CapReporting] = managed
	switch {
	case r.o.Active != "" && !active && (len(r.o.ActiveValues) > 0 || r.o.InactiveBits != 0):
		return r.nowhere(settingActive, r.o.Active)
	case len(r.o.Orgs) > 0 && !orgs:
		return r.nowhere(settingOrgs, strings.Join(r.o.Orgs, ", "))
	}
	return nil
}

func (r *reading) nowhere(setting, attribute string) error {
	return authz.Validation("%s: none of the people has the attribute %s (%s)", spell.Echo(r.o.Path), spell.Quote(attribute), setting)
}

// members are the people of a group; those that lead nowhere are warned of.
func (r *reading) members(t *tree, g *entry) []*entry {
	var people []*entry
	for _, attribute := range r.o.Members {
		values, _ := g.texts(attribute) // ldifGroups has seen them
		for _, value := range values {
			if strings.EqualFold(attribute, uidMembers) {
				people = append(people, t.uid[value]...)
				if len(t.uid[value]) == 0 {
					r.warnings.Add("members that do not exist", "the member %s of the group %s is nobody's uid", spell.Quote(value), spell.Quote(g.id))
				}
				continue
			}
			name, ok := dn.Key(value)
			switch {
			case ok && name == "": // stands where a schema wants at least one member
			case t.person[name] != nil:
				people = append(people, t.person[name])
			case t.group[name] != nil: // ldifGroups
			default:
				r.warnings.Add("members that do not exist", "the member %s of the group %s is no person or group of the files", spell.Quote(value), spell.Quote(g.id))
			}
		}
	}
	return people
}

// ldifGroups tells groups; one that is another's member has it as its parent.
func (r *reading) ldifGroups(t *tree) error {
	parents := map[*entry][]string{}
	for _, g := range t.groups {
		if err := stopped(r.ctx); err != nil {
			return err
		}
		for _, attribute := range r.o.Members {
			values, err := g.texts(attribute)
			if err != nil {
				return err
			}
			for _, value := range values {
				if name, _ := dn.Key(value); t.group[name] != nil && !strings.EqualFold(attribute, uidMembers) {
					parents[t.group[name]] = append(parents[t.group[name]], g.id)
				}
			}
		}
	}
	for _, e := range t.groups {
		g := directory.Group{ID: e.id}
		var err error
		if g.Name, err = e.label(r.o.GroupName, directory.MaxName); err != nil {
			return err
		}
		if g.Description, err = e.label(r.o.Description, directory.MaxText); err != nil {
			return err
		}
		slices.Sort(parents[e])
		g.Parents = slices.Compact(parents[e])
		if err := r.add(g); err != nil {
			return err
		}
	}
	return nil
}

func (r *reading) managerOf(t *tree, p *entry, any *bool) (*directory.ReportingEdge, error) {
	values, err := p.texts(r.o.Manager)
	if err != nil || len(values) == 0 {
		return nil, err
	}
	*any = true
	if len(values) > 1 {
		return nil, p.at(p.Line, 1, "%s has more than one %s", spell.Quote(p.DN), r.o.Manager)
	}
	name, _ := dn.Key(values[0])
	if t.person[name] == nil {
		r.warnings.Add("managers that do not exist", "the manager %s of %s is no person of the files", spell.Quote(values[0]), spell.Quote(p.id))
		return nil, nil
	}
	return &directory.ReportingEdge{UserID: p.id, ManagerID: t.person[name].id}, nil
}

func (r *reading) activeOf(p *entry, any *bool) (*bool, error) {
	values, err := p.texts(r.o.Active)
	if err != nil {
		return nil, err
	}
	*any = *any || len(values) > 0
	has := func(list []string) bool {
		return slices.ContainsFunc(values, func(v string) bool {
			return slices.ContainsFunc(list, func(want string) bool { return want == "*" || strings.EqualFold(want, v) })
		})
	}
	var active bool
	switch {
	case r.o.InactiveBits != 0:
		if len(values) == 0 {
			return nil, nil
		}
		bits, err := strconv.ParseInt(values[0], 10, 64)
		if err != nil || len(values) > 1 {
			return nil, p.at(p.Line, 1, "%s: %s is no number", spell.Quote(p.DN), r.o.Active)
		}
		active = bits&r.o.InactiveBits == 0
	case len(r.o.InactiveValues) > 0:
		active = !has(r.o.InactiveValues)
	default:
		active = has(r.o.ActiveValues)
	}
	return &active, nil
}

// texts are the values of an attribute, all of them text.
func (e *entry) texts(attribute string) ([]string, error) {
	var out []string
	for _, a := range e.Attributes {
		if attribute == "" || !strings.EqualFold(a.Name, attribute) {
			continue
		}
		if !utf8.Valid(a.Value) || slices.Contains(a.Value, 0) {
			return nil, e.at(a.Line, 1, "%s of %s is not text", a.Name, spell.Quote(e.DN))
		}
		out = append(out, string(a.Value))
	}
	return out, nil
}

// identifier is the one value of an attribute; of several the one in the entry's name.
func (e *entry) identifier(attribute, setting string) (string, error) {
	values, err := e.texts(attribute)
	if err != nil {
		return "", err
	}
	if len(values) > 1 {
		named, ok := dn.Chosen(e.DN, attribute, values)
		if !ok {
			return "", e.at(e.Line, 1, "%s has several values of %s (%s), and its name does not choose one", spell.Quote(e.DN), attribute, setting)
		}
		values = []string{named}
	}
	if len(values) == 0 {
		return "", e.at(e.Line, 1, "%s has no %s (%s)", spell.Quote(e.DN), attribute, setting)
	}
	if bad := badID(values[0]); bad != "" {
		return "", e.at(e.Line, 1, "%s of %s %s", attribute, spell.Quote(e.DN), bad)
	}
	return values[0], nil
}

// label is the first value of an attribute, "" when there is none.
func (e *entry) label(attribute string, limit int) (string, error) {
	values, err := e.texts(attribute)
	switch {
	case err != nil || len(values) == 0:
		return "", err
	case len(values[0]) > limit:
		return "", e.at(e.Line, 1, "%s of %s is longer than %d bytes", attribute, spell.Quote(e.DN), limit)
	}
	return values[0], nil
}

func (e *entry) orgs(attributes []string) ([]string, error) {
	list := []string{}
	for _, attribute := range attributes {
		values, err := e.texts(attribute)
		if err != nil {
			return nil, err
		}
		for _, v := range values {
			if bad := badID(v); bad != "" {
				return nil, e.at(e.Line, 1, "%s of %s %s", attribute, spell.Quote(e.DN), bad)
			}
			if !slices.Contains(list, v) {
				list = append(list, v)
			}
		}
	}
	return list, nil
}
