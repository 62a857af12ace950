//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/storage"
)

// model is what the rows must be after a prefix of the audit log. The log's order
// is that of the commits, because the hash chain queues them.
type model struct {
	grants  map[string]authz.Grant
	revokes map[string]authz.Revoke
	roles   map[string]authz.Role
	groups  map[string]authz.Group
	users   map[string]authz.User
}

func newModel() *model {
	return &model{map[string]authz.Grant{}, map[string]authz.Revoke{}, map[string]authz.Role{}, map[string]authz.Group{}, map[string]authz.User{}}
}

// mutation is one kind of write: how it is asked for, and what its commit does.
type mutation interface {
	call(by authz.Provenance) (op string, params any)

	// play applies the commit to the model, given the entries that it left in the
	// audit log, and says which entries and events it must have left.
	play(m *model, entries []authz.AuditEntry, by authz.Provenance) (trace, error)
}

// trace is what a commit leaves in the logs.
type trace struct {
	entries []entry
	events  []authz.Event
}

// entry is the part of an audit entry that a mutation decides.
type entry struct{ Action, Target string }

type params map[string]any

type grantTuple struct {
	ID      string `json:"id,omitempty"`
	Subject string `json:"subject"`
	RoleID  string `json:"roleId,omitempty"`
	Pattern string `json:"pattern,omitempty"`
	Scope   string `json:"scope"`
}

func (t grantTuple) insert(m *model, id string, by authz.Provenance) error {
	if _, taken := m.grants[id]; taken {
		return fmt.Errorf("grant %s was inserted twice", id)
	}
	if _, found := m.roles[t.RoleID]; t.RoleID != "" && !found {
		return fmt.Errorf("grant %s names role %s, which did not exist any more", id, t.RoleID)
	}
	m.grants[id] = authz.Grant{ID: id, Subject: t.Subject, RoleID: t.RoleID, Pattern: t.Pattern, Scope: t.Scope, Provenance: by}
	return nil
}

type createGrant struct{ grantTuple }

func (c createGrant) call(by authz.Provenance) (string, any) {
	return "createGrant", params{"input": struct {
		grantTuple
		Provenance authz.Provenance `json:"provenance"`
	}{c.grantTuple, by}}
}

func (c createGrant) play(m *model, entries []authz.AuditEntry, by authz.Provenance) (trace, error) {
	id := entries[0].Target
	return trace{[]entry{{"grant.create", id}}, authz.SubjectEvents(c.Subject)}, c.insert(m, id, by)
}

type createGrants struct{ tuples []grantTuple }

func (c createGrants) call(by authz.Provenance) (string, any) {
	return "createGrants", params{"inputs": c.tuples, "provenance": by}
}

func (c createGrants) play(m *model, entries []authz.AuditEntry, by authz.Provenance) (t trace, err error) {
	var detail struct {
		GrantIDs []string `json:"grantIds"`
	}
	if err := json.Unmarshal(entries[0].Detail, &detail); err != nil || len(detail.GrantIDs) != len(c.tuples) {
		return t, fmt.Errorf("the audit entry of %d grants names %d (%w)", len(c.tuples), len(detail.GrantIDs), err)
	}
	t.entries = []entry{{"grant.create_bulk", entries[0].Target}}
	told := map[string]bool{}
	for i, tuple := range c.tuples {
		if err := tuple.insert(m, detail.GrantIDs[i], by); err != nil {
			return t, err
		}
		if !told[tuple.Subject] {
			told[tuple.Subject] = true
			t.events = append(t.events, authz.SubjectEvents(tuple.Subject)...)
		}
	}
	return t, nil
}

type deleteGrant struct{ id string }

func (d deleteGrant) call(by authz.Provenance) (string, any) {
	return "deleteGrant", params{"grantId": d.id, "provenance": by}
}

func (d deleteGrant) play(m *model, _ []authz.AuditEntry, _ authz.Provenance) (trace, error) {
	old, found := m.grants[d.id]
	if !found {
		return trace{}, fmt.Errorf("grant %s was deleted and was not there", d.id)
	}
	delete(m.grants, d.id)
	return trace{[]entry{{"grant.delete", d.id}}, authz.SubjectEvents(old.Subject)}, nil
}

type createRevoke struct{ user, pattern, scope string }

func (c createRevoke) call(by authz.Provenance) (string, any) {
	return "createRevoke", params{"input": params{"userId": c.user, "pattern": c.pattern, "scope": c.scope, "provenance": by}}
}

func (c createRevoke) play(m *model, entries []authz.AuditEntry, by authz.Provenance) (trace, error) {
	id := entries[0].Target
	m.revokes[id] = authz.Revoke{ID: id, UserID: c.user, Pattern: c.pattern, Scope: c.scope, Provenance: by}
	return trace{[]entry{{"revoke.create", id}}, []authz.Event{authz.UserEvent(c.user)}}, nil
}

type deleteRevoke struct{ id string }

func (d deleteRevoke) call(by authz.Provenance) (string, any) {
	return "deleteRevoke", params{"revokeId": d.id, "provenance": by}
}

func (d deleteRevoke) play(m *model, _ []authz.AuditEntry, _ authz.Provenance) (trace, error) {
	old, found := m.revokes[d.id]
	if !found {
		return trace{}, fmt.Errorf("revoke %s was deleted and was not there", d.id)
	}
	delete(m.revokes, d.id)
	return trace{[]entry{{"revoke.delete", d.id}}, []authz.Event{authz.UserEvent(old.UserID)}}, nil
}

type createRole struct {
	id       string
	patterns []string
}

func (c createRole) call(by authz.Provenance) (string, any) {
	return "createRole", params{"input": params{"id": c.id, "name": c.id, "patterns": c.patterns}, "provenance": by}
}

func (c createRole) play(m *model, _ []authz.AuditEntry, _ authz.Provenance) (trace, error) {
	if _, taken := m.roles[c.id]; taken {
		return trace{}, fmt.Errorf("role %s was created twice", c.id)
	}
	m.roles[c.id] = authz.Role{ID: c.id, Name: c.id, Patterns: c.patterns}
	return trace{[]entry{{"role.create", c.id}}, []authz.Event{authz.RoleEvent(c.id)}}, nil
}

type updateRole struct {
	id       string
	patterns []string
}

func (u updateRole) call(by authz.Provenance) (string, any) {
	return "updateRole", params{"roleId": u.id, "input": params{"patterns": u.patterns}, "provenance": by}
}

func (u updateRole) play(m *model, _ []authz.AuditEntry, _ authz.Provenance) (trace, error) {
	role, found := m.roles[u.id]
	if !found {
		return trace{}, fmt.Errorf("role %s was updated and was not there", u.id)
	}
	role.Patterns = u.patterns
	m.roles[u.id] = role
	return trace{[]entry{{"role.update", u.id}}, []authz.Event{authz.RoleEvent(u.id)}}, nil
}

type deleteRole struct{ id string }

func (d deleteRole) call(by authz.Provenance) (string, any) {
	return "deleteRole", params{"roleId": d.id, "provenance": by}
}

func (d deleteRole) play(m *model, _ []authz.AuditEntry, _ authz.Provenance) (trace, error) {
	for id, g := range m.grants {
		if g.RoleID == d.id {
			return trace{}, fmt.Errorf("role %s was deleted while grant %s named it", d.id, id)
		}
	}
	delete(m.roles, d.id)
	return trace{[]entry{{"role.delete", d.id}}, []authz.Event{authz.RoleEvent(d.id)}}, nil
}

// user returns a copy of the stored record, or of what a patch creates.
func (m *model) user(id string) authz.User {
	if u, found := m.users[id]; found {
		return u
	}
	return authz.User{UserID: id, Active: true}
}

// chain is the manager chain of a user.
func (m *model) chain(id string) []string {
	chain, _ := storage.ManagerChain(id, m.users[id].ManagerUserID, func(id string) (string, error) { return m.users[id].ManagerUserID, nil })
	return chain
}

// closure is the subject closure of a user.
func (m *model) closure(id string) []string {
	var record *authz.User
	if u, found := m.users[id]; found {
		record = &u
	}
	return storage.Closure(id, record, m.chain(id), func(group string) []string { return m.groups[group].Parents })
}

func sortedKeys[V any](rows map[string]V) []string { return slices.Sorted(maps.Keys(rows)) }

func distinct(list []string) []string {
	out := []string{}
	for _, v := range list {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}
