package audited_test

import (
	"encoding/json"
	"testing"

	"github.com/authzhost/authz/internal/audited"
	"github.com/authzhost/authz/sdk/authz"
)

func TestEntriesAboutASubject(t *testing.T) {
	for _, c := range []struct {
		sentence, subject string
		entry             authz.AuditEntry
		named             bool
	}{
		{"what a user did", "user:ann", authz.AuditEntry{Actor: "ann", Action: "role.create", Target: "r"}, true},
		{"what was done to their record", "user:ann", authz.AuditEntry{Actor: "root", Action: "user.set_active", Target: "ann"}, true},
		{"their seat", "user:ann", authz.AuditEntry{Actor: "root", Action: "seat.create", Target: "ann"}, true},
		{"a role of that id is no person", "user:ann", authz.AuditEntry{Actor: "root", Action: "role.update", Target: "ann"}, false},
		{"a grant to them", "user:ann", authz.AuditEntry{Actor: "root", Action: "grant.create", Target: "g", Detail: json.RawMessage(`{"subject":"user:ann"}`)}, true},
		{"one of many grants", "user:ann", authz.AuditEntry{Action: "grant.create_bulk", Detail: json.RawMessage(`{"grants":[{"subject":"user:x"},{"subject":"user:ann"}]}`)}, true},
		{"a grant to those who report to them", "user:ann", authz.AuditEntry{Action: "grant.create", Detail: json.RawMessage(`{"subject":"directs:ann"}`)}, true},
		{"as somebody's manager", "user:ann", authz.AuditEntry{Action: "user.set_manager", Target: "x", Detail: json.RawMessage(`{"managerUserId":"ann"}`)}, true},
		{"a name that is their id", "user:ann", authz.AuditEntry{Action: "role.create", Target: "r", Detail: json.RawMessage(`{"name":"ann"}`)}, false},
		{"a group of their id", "user:ann", authz.AuditEntry{Action: "user.set_groups", Target: "x", Detail: json.RawMessage(`{"groupIds":["ann"]}`)}, false},
		{"a group as member of a list", "group:staff", authz.AuditEntry{Action: "user.set_groups", Target: "x", Detail: json.RawMessage(`{"groupIds":["ops","staff"]}`)}, true},
		{"a group's own record", "group:staff", authz.AuditEntry{Action: "group.update", Target: "staff"}, true},
		{"an actor of the group's id", "group:staff", authz.AuditEntry{Actor: "staff", Action: "group.update", Target: "x"}, false},
		{"what was removed of a subject", "group:staff", authz.AuditEntry{Action: "subject.delete", Target: "group:staff"}, true},
		{"everyone", "everyone", authz.AuditEntry{Action: "grant.create", Target: "g", Detail: json.RawMessage(`{"subject":"everyone"}`)}, true},
		{"an empty id is nobody's", "everyone", authz.AuditEntry{Actor: "root", Action: "user.set_manager", Target: "x", Detail: json.RawMessage(`{"groupId":""}`)}, false},
	} {
		about, ok := audited.Of(c.subject)
		if !ok || about.Named(c.entry) != c.named {
			t.Errorf("%s: %v, %v; want %v", c.sentence, about.Named(c.entry), ok, c.named)
		}
	}
	if _, ok := audited.Of("ann"); ok {
		t.Error("a bare id is a subject")
	}
}

func TestFamiliesOfActions(t *testing.T) {
	for wanted, actions := range map[string]map[string]bool{
		"":             {"grant.create": true},
		"grant.create": {"grant.create": true, "grant.create_bulk": false},
		"grant.*":      {"grant.create": true, "grants.x": false, "grant": false},
		"grant*":       {"grant.create": false},
		".*":           {".x": false, "grant.create": false},
		"*.*":          {"grant.create": false},
		"a.b.*":        {"a.b.c": false},
	} {
		for action, want := range actions {
			if audited.Action(wanted, action) != want {
				t.Errorf("%q of %q: %v", action, wanted, !want)
			}
		}
	}
}
