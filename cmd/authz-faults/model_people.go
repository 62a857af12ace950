//go:build linux

package main

import (
	"fmt"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
)

func groupEvent(id string) authz.Event {
	return authz.SubjectEvent(authz.SubjectOf(authz.SubjectGroup, id))
}

type createGroup struct {
	id      string
	parents []string
}

func (c createGroup) call(by authz.Provenance) (string, any) {
	return "createGroup", params{"input": params{"id": c.id, "name": c.id, "parents": c.parents}, "provenance": by}
}

func (c createGroup) play(m *model, _ []authz.AuditEntry, _ authz.Provenance) (trace, error) {
	if _, taken := m.groups[c.id]; taken {
		return trace{}, fmt.Errorf("group %s was created twice", c.id)
	}
	return trace{[]entry{{"group.create", c.id}}, []authz.Event{groupEvent(c.id)}}, m.setParents(c.id, c.parents)
}

type setGroupParents struct {
	id      string
	parents []string
}

func (s setGroupParents) call(by authz.Provenance) (string, any) {
	return "setGroupParents", params{"groupId": s.id, "parents": s.parents, "provenance": by}
}

func (s setGroupParents) play(m *model, _ []authz.AuditEntry, _ authz.Provenance) (trace, error) {
	if _, found := m.groups[s.id]; !found {
		return trace{}, fmt.Errorf("group %s got parents and was not there", s.id)
	}
	return trace{[]entry{{"group.set_parents", s.id}}, []authz.Event{groupEvent(s.id)}}, m.setParents(s.id, s.parents)
}

func (m *model) setParents(id string, parents []string) error {
	parents = distinct(parents)
	for _, p := range parents {
		if _, found := m.groups[p]; !found {
			return fmt.Errorf("group %s got the parent %s, which was not there", id, p)
		}
	}
	m.groups[id] = authz.Group{ID: id, Name: id, Parents: parents}
	if m.reaches(parents, id, map[string]bool{}) {
		return fmt.Errorf("the parents %v of group %s closed a cycle", parents, id)
	}
	return nil
}

func (m *model) reaches(from []string, target string, seen map[string]bool) bool {
	for _, id := range from {
		if id == target {
			return true
		}
		if !seen[id] {
			seen[id] = true
			if m.reaches(m.groups[id].Parents, target, seen) {
				return true
			}
		}
	}
	return false
}

// deleteGroup is asked only of groups that no grant names.
type deleteGroup struct{ id string }

func (d deleteGroup) call(by authz.Provenance) (string, any) {
	return "deleteGroup", params{"groupId": d.id, "provenance": by}
}

func (d deleteGroup) play(m *model, _ []authz.AuditEntry, _ authz.Provenance) (t trace, err error) {
	if _, found := m.groups[d.id]; !found {
		return t, fmt.Errorf("group %s was deleted and was not there", d.id)
	}
	for _, id := range sortedKeys(m.groups) {
		if g := m.groups[id]; slices.Contains(g.Parents, d.id) {
			g.Parents = without(g.Parents, d.id)
			m.groups[id] = g
			t.events = append(t.events, groupEvent(id))
		}
	}
	t.events = append(t.events, groupEvent(d.id))
	for _, id := range sortedKeys(m.users) {
		if u := m.users[id]; slices.Contains(u.GroupIDs, d.id) {
			u.GroupIDs = without(u.GroupIDs, d.id)
			m.users[id] = u
			t.events = append(t.events, authz.UserEvent(id))
		}
	}
	delete(m.groups, d.id)
	t.entries = []entry{{"group.delete", d.id}}
	return t, nil
}

func without(list []string, gone string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(v string) bool { return v == gone })
}

type setMembership struct {
	user   string
	groups []string
}

func (s setMembership) call(by authz.Provenance) (string, any) {
	return "setGroupMembership", params{"userId": s.user, "groupIds": s.groups, "provenance": by}
}

func (s setMembership) play(m *model, _ []authz.AuditEntry, _ authz.Provenance) (trace, error) {
	u := m.user(s.user)
	u.GroupIDs = distinct(s.groups)
	for _, g := range u.GroupIDs {
		if _, found := m.groups[g]; !found {
			return trace{}, fmt.Errorf("user %s joined group %s, which was not there", s.user, g)
		}
	}
	m.users[s.user] = u
	return trace{[]entry{{"user.set_groups", s.user}}, []authz.Event{authz.UserEvent(s.user)}}, nil
}

type setActive struct {
	user   string
	active bool
}

func (s setActive) call(by authz.Provenance) (string, any) {
	return "setUserActive", params{"userId": s.user, "active": s.active, "provenance": by}
}

func (s setActive) play(m *model, _ []authz.AuditEntry, _ authz.Provenance) (trace, error) {
	u := m.user(s.user)
	u.Active = s.active
	m.users[s.user] = u
	return trace{[]entry{{"user.set_active", s.user}}, []authz.Event{authz.UserEvent(s.user)}}, nil
}

// setManager announces everybody above the user, before and after.
type setManager struct{ user, manager string }

func (s setManager) call(by authz.Provenance) (string, any) {
	var manager any
	if s.manager != "" {
		manager = s.manager
	}
	return "setReportingEdge", params{"userId": s.user, "managerUserId": manager, "provenance": by}
}

func (s setManager) play(m *model, _ []authz.AuditEntry, _ authz.Provenance) (trace, error) {
	before := m.chain(s.user)
	u := m.user(s.user)
	u.ManagerUserID = s.manager
	m.users[s.user] = u
	if s.manager != "" {
		m.users[s.manager] = m.user(s.manager)
	}
	after := m.chain(s.user)
	t := trace{[]entry{{"user.set_manager", s.user}}, []authz.Event{authz.UserEvent(s.user)}}
	for _, id := range distinct(slices.Concat([]string{s.user}, before, after)) {
		t.events = append(t.events, authz.SubjectEvent(authz.SubjectOf(authz.SubjectDirects, id)),
			authz.SubjectEvent(authz.SubjectOf(authz.SubjectOrgOf, id)))
	}
	if s.manager != "" && len(after) > 0 && m.users[after[len(after)-1]].ManagerUserID != "" {
		return t, fmt.Errorf("the manager %s of %s closed a cycle", s.manager, s.user)
	}
	return t, nil
}
