package ldap_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/authzhost/authz/plugins/ldap/slapdtest"
	"github.com/authzhost/authz/sdk/directory"
)

// model is a company: what a directory is made of, and what a reading of it must
// say, computed from here and not from entries.
type model struct {
	random *rand.Rand
	people []modelPerson
	groups []modelGroup
}

type modelPerson struct {
	login, number, dn string
	id                uuid.UUID
	rid               uint32
	disabled          bool
	manager           int // -1 is none, -2 somebody who does not exist
	org               string
	primary           int // a group; -1 is one that does not exist
}

type modelGroup struct {
	name, dn string
	id       uuid.UUID
	rid      uint32
	people   []int
	groups   []int // the groups that are its members
	dangling []string
}

const domain = "S-1-5-21-1004336348-1177238915-682003330"

// newModel makes a company with cycles among groups and managers, members that do
// not exist or lie elsewhere, and, by number, people who are in the directory twice.
func newModel(seed uint64, people, groups int) *model {
	m := &model{random: rand.New(rand.NewPCG(seed, 1))}
	r := m.random
	for g := range groups {
		name := fmt.Sprintf("group %d", g)
		if g%17 == 0 {
			name = fmt.Sprintf("Team %d, Zürich + \"Büro\" #%d", g, g)
		}
		m.groups = append(m.groups, modelGroup{name: name, dn: slapdtest.DN("cn", name, groupsBase), id: m.uuid(), rid: uint32(500_000 + g)})
	}
	for p := range people {
		login := fmt.Sprintf("u%d", p)
		person := modelPerson{login: login, number: fmt.Sprintf("N%d", p), dn: slapdtest.DN("uid", login, peopleBase), id: m.uuid(), rid: uint32(1000 + p),
			disabled: r.IntN(20) == 0, manager: p/8 - 1, org: fmt.Sprintf("org %d", p%40), primary: r.IntN(5)}
		switch {
		case p%250 == 249: // in the directory twice, from another office
			person.number = m.people[p-100].number
		case p%101 == 0:
			person.manager = -2
		case p%97 == 0:
			person.primary = -1
		}
		if p%13 == 0 { // a name that needs escapes
			person.login = fmt.Sprintf("O'Größe, %d; \"x\" = <y>", p)
			person.dn = slapdtest.DN("uid", person.login, peopleBase)
		}
		m.people = append(m.people, person)
		for range 1 + r.IntN(6) {
			m.join(p, 1+r.IntN(groups-1))
		}
		m.groups[0].people = append(m.groups[0].people, p) // everybody
	}
	m.people[3].manager, m.people[4].manager = 4, 3 // a cycle that only an import may judge
	for g := 1; g < groups; g++ {
		for range r.IntN(3) {
			m.nest(r.IntN(g), g)
		}
	}
	for c := range 20 { // cycles, and groups in themselves
		first, length := 1+r.IntN(groups-10), 1+c%4
		for i := range length {
			m.nest(first+i, first+(i+1)%length)
		}
	}
	for i := range groups / 20 {
		g := &m.groups[r.IntN(groups)]
		g.dangling = append(g.dangling, fmt.Sprintf("uid=gone%d,%s", i, peopleBase), fmt.Sprintf("cn=printer%d,ou=devices,%s", i, slapdtest.Suffix))
	}
	for g := range m.groups {
		if len(m.groups[g].people)+len(m.groups[g].groups)+len(m.groups[g].dangling) == 0 {
			m.join(0, g) // the schema wants a member
		}
	}
	return m
}

func (m *model) uuid() (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[:8], m.random.Uint64())
	binary.BigEndian.PutUint64(id[8:], m.random.Uint64())
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id
}

func (m *model) join(person, group int) {
	if g := &m.groups[group]; !slices.Contains(g.people, person) {
		g.people = append(g.people, person)
	}
}

// nest makes one group a member of another.
func (m *model) nest(outer, inner int) {
	if g := &m.groups[outer]; !slices.Contains(g.groups, inner) {
		g.groups = append(g.groups, inner)
	}
}

// members are the names in a group's list, now and then spelt differently.
func (m *model) members(g modelGroup) (list []string) {
	for i, p := range g.people {
		dn := m.people[p].dn
		switch (p + i) % 9 {
		case 0:
			dn = strings.Replace(dn, ",ou=people,dc=example", ", OU=PEOPLE , DC=EXAMPLE", 1)
		case 1:
			dn = strings.Replace(dn, "uid=u", "UID=U", 1)
		}
		list = append(list, dn)
	}
	for _, inner := range g.groups {
		list = append(list, m.groups[inner].dn)
	}
	return append(list, g.dangling...)
}

func (m *model) managerDN(p modelPerson) []string {
	switch p.manager {
	case -1:
		return nil
	case -2:
		return []string{"uid=ghost," + peopleBase}
	}
	return []string{m.people[p.manager].dn}
}

// rfc2307bis writes the company as inetOrgPerson and groupOfNames.
func (m *model) rfc2307bis(w io.Writer) {
	slapdtest.Root(w, "people", "groups", "devices")
	for _, p := range m.people {
		slapdtest.Write(w, p.dn, slapdtest.A("objectClass", "inetOrgPerson"), slapdtest.A("uid", p.login), slapdtest.A("cn", p.login), slapdtest.A("sn", "x"),
			slapdtest.A("employeeNumber", p.number), slapdtest.A("employeeType", map[bool]string{true: "left", false: "staff"}[p.disabled]),
			slapdtest.A("departmentNumber", p.org), slapdtest.A("manager", m.managerDN(p)...), slapdtest.A("entryUUID", p.id.String()))
	}
	for _, g := range m.groups {
		slapdtest.Write(w, g.dn, slapdtest.A("objectClass", "groupOfNames"), slapdtest.A("cn", g.name), slapdtest.A("description", "about "+g.name),
			slapdtest.A("member", m.members(g)...), slapdtest.A("entryUUID", g.id.String()))
	}
}

// activeDirectory writes the company as user and group; in primary groups nobody is
// listed.
func (m *model) activeDirectory(w io.Writer) {
	slapdtest.Root(w, "people", "groups", "devices")
	for _, p := range m.people {
		control, primary := 512, uint32(999_999)
		if p.disabled {
			control |= 2
		}
		if p.primary >= 0 {
			primary = m.groups[p.primary].rid
		}
		slapdtest.Write(w, p.dn, slapdtest.A("objectClass", "user", "extensibleObject"), slapdtest.A("uid", p.login), slapdtest.A("cn", p.login),
			slapdtest.A("sAMAccountName", p.login), slapdtest.A("objectGUID", mixedEndian(p.id)), slapdtest.A("objectSid", binarySID(p.rid)),
			slapdtest.A("userAccountControl", strconv.Itoa(control)), slapdtest.A("primaryGroupID", strconv.Itoa(int(primary))),
			slapdtest.A("company", p.org), slapdtest.A("manager", m.managerDN(p)...))
	}
	slapdtest.Write(w, "cn=printer,"+peopleBase, slapdtest.A("objectClass", "computer"), slapdtest.A("cn", "printer"))
	for _, g := range m.groups {
		slapdtest.Write(w, g.dn, slapdtest.A("objectClass", "group"), slapdtest.A("cn", g.name), slapdtest.A("description", "about "+g.name),
			slapdtest.A("objectGUID", mixedEndian(g.id)), slapdtest.A("objectSid", binarySID(g.rid)), slapdtest.A("member", m.members(g)...))
	}
}

func mixedEndian(id uuid.UUID) string {
	b := binary.LittleEndian.AppendUint32(nil, binary.BigEndian.Uint32(id[0:]))
	b = binary.LittleEndian.AppendUint16(b, binary.BigEndian.Uint16(id[4:]))
	b = binary.LittleEndian.AppendUint16(b, binary.BigEndian.Uint16(id[6:]))
	return string(append(b, id[8:]...))
}

func binarySID(rid uint32) string {
	b := []byte{1, 5, 0, 0, 0, 0, 0, 5}
	for _, part := range []uint32{21, 1004336348, 1177238915, 682003330, rid} {
		b = binary.LittleEndian.AppendUint32(b, part)
	}
	return string(b)
}

// expected is what a reading must say; id is how people are known.
func (m *model) expected(id func(modelPerson) string, primary bool) told {
	want := told{Datasets: []directory.ImporterCapability{"users", "groups", "memberships", "reporting", "orgs"},
		Users: map[string][]string{}, Groups: map[string]directory.Group{}, Members: map[string][]string{}, Managers: map[string]string{}, Orgs: map[string][]string{}}
	for _, person := range m.people {
		user := id(person)
		if len(want.Users[user]) == 0 || !person.disabled { // active if either is
			want.Users[user] = []string{fmt.Sprint(!person.disabled)}
		}
		if !slices.Contains(want.Orgs[user], person.org) {
			want.Orgs[user] = append(want.Orgs[user], person.org)
			slices.Sort(want.Orgs[user])
		}
		if _, told := want.Managers[user]; person.manager >= 0 && !told {
			want.Managers[user] = id(m.people[person.manager])
		}
		if want.Members[user] == nil {
			want.Members[user] = []string{}
		}
		if primary && person.primary >= 0 {
			want.Members[user] = append(want.Members[user], m.groups[person.primary].id.String())
		}
	}
	for _, group := range m.groups {
		for _, p := range group.people {
			user := id(m.people[p])
			want.Members[user] = append(want.Members[user], group.id.String())
		}
	}
	for user, groups := range want.Members {
		slices.Sort(groups)
		want.Members[user] = slices.Compact(groups)
	}
	for _, group := range m.groups {
		want.Groups[group.id.String()] = directory.Group{ID: group.id.String(), Name: group.name, Description: "about " + group.name}
	}
	for _, outer := range m.groups {
		for _, inner := range outer.groups {
			g := want.Groups[m.groups[inner].id.String()]
			g.Parents = append(g.Parents, outer.id.String())
			slices.Sort(g.Parents)
			want.Groups[g.ID] = g
		}
	}
	return want
}
