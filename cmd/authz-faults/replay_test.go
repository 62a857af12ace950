//go:build linux

package main

import (
	"encoding/json"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/authzhost/authz/sdk/authz"
)

// lab is a run that went well: a ledger, and the audit log that it left.
func lab() (*stage, []authz.AuditEntry) {
	s := &stage{ledger: newLedger()}
	wrote := func(actor string, f fate, m mutation) {
		s.ledger.writes[actor] = &written{actor: actor, mutation: m, fate: f}
	}
	wrote("a", applied, createRole{"r0", []string{"lab.*"}})
	wrote("b", applied, createGrant{grantTuple{Subject: "user:u0", RoleID: "r0", Scope: "*"}})
	wrote("c", unknown, createGrants{[]grantTuple{{Subject: "user:u1", Pattern: "lab.*", Scope: "*"}, {Subject: "user:u1", RoleID: "r0", Scope: "*"}}})
	wrote("d", refused, deleteRole{"r0"})
	wrote("e", unknown, deleteGrant{"g1"})
	wrote("f", applied, createGroup{"x", []string{}})
	wrote("g", applied, createGroup{"y", []string{"x"}})
	wrote("h", refused, setGroupParents{"x", []string{"y"}})
	wrote("i", applied, setManager{"u1", "u2"})
	detail, _ := json.Marshal(map[string]any{"grantIds": []string{"g2", "g3"}})
	return s, []authz.AuditEntry{
		{Actor: "a", Action: "role.create", Target: "r0"},
		{Actor: "b", Action: "grant.create", Target: "g1"},
		{Actor: "c", Action: "grant.create_bulk", Target: "bulk", Detail: detail},
		{Actor: "f", Action: "group.create", Target: "x"},
		{Actor: "g", Action: "group.create", Target: "y"},
		{Actor: "i", Action: "user.set_manager", Target: "u1"},
	}
}

func TestReplay(t *testing.T) {
	s, entries := lab()
	r := &report{out: io.Discard}
	m, events := s.replay(r, entries)
	if len(r.breaches) > 0 {
		t.Fatalf("a run that went well: %v", r.breaches)
	}
	if got := sortedKeys(m.grants); !slices.Equal(got, []string{"g1", "g2", "g3"}) {
		t.Errorf("grants %v", got)
	}
	want := []authz.Event{authz.RoleEvent("r0"), authz.SubjectEvent("user:u0"), authz.UserEvent("u0"), authz.SubjectEvent("user:u1"),
		authz.UserEvent("u1"), groupEvent("x"), groupEvent("y"), authz.UserEvent("u1"), authz.SubjectEvent("directs:u1"),
		authz.SubjectEvent("orgof:u1"), authz.SubjectEvent("directs:u2"), authz.SubjectEvent("orgof:u2")}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if want := []string{"user:u1", "directs:u2", "orgof:u2", "everyone"}; !slices.Equal(m.closure("u1"), want) {
		t.Errorf("the subjects of u1 are %v, want %v", m.closure("u1"), want)
	}
}

// TestReplayNotices breaks the run in one way each.
func TestReplayNotices(t *testing.T) {
	for name, spoil := range map[string]func(*stage, []authz.AuditEntry) []authz.AuditEntry{
		"an acknowledged write that is gone": func(_ *stage, log []authz.AuditEntry) []authz.AuditEntry {
			return slices.Delete(log, 1, 2)
		},
		"a refused write that was applied": func(_ *stage, log []authz.AuditEntry) []authz.AuditEntry {
			return append(log, authz.AuditEntry{Actor: "h", Action: "group.set_parents", Target: "x"})
		},
		"a write applied twice": func(_ *stage, log []authz.AuditEntry) []authz.AuditEntry {
			return append(log, log[1])
		},
		"a write twice in one place": func(_ *stage, log []authz.AuditEntry) []authz.AuditEntry {
			return slices.Insert(log, 1, log[1])
		},
		"an entry of nobody": func(_ *stage, log []authz.AuditEntry) []authz.AuditEntry {
			return append(log, authz.AuditEntry{Actor: "z", Action: "role.create", Target: "r9"})
		},
		"an entry of another action": func(_ *stage, log []authz.AuditEntry) []authz.AuditEntry {
			log[4].Action = "group.update"
			return log
		},
		"half of a batch": func(_ *stage, log []authz.AuditEntry) []authz.AuditEntry {
			log[2].Detail = json.RawMessage(`{"grantIds":["g2"]}`)
			return log
		},
		"a role deleted under its grants": func(s *stage, log []authz.AuditEntry) []authz.AuditEntry {
			s.ledger.writes["d"].fate = unknown
			return append(log, authz.AuditEntry{Actor: "d", Action: "role.delete", Target: "r0"})
		},
		"a cycle": func(s *stage, log []authz.AuditEntry) []authz.AuditEntry {
			s.ledger.writes["h"].fate = unknown
			return append(log, authz.AuditEntry{Actor: "h", Action: "group.set_parents", Target: "x"})
		},
		"a circle of managers": func(s *stage, log []authz.AuditEntry) []authz.AuditEntry {
			s.ledger.writes["j"] = &written{actor: "j", mutation: setManager{"u2", "u1"}, fate: applied}
			return append(log, authz.AuditEntry{Actor: "j", Action: "user.set_manager", Target: "u2"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, entries := lab()
			r := &report{out: io.Discard}
			s.replay(r, spoil(s, entries))
			if len(r.breaches[wholeWrites]) == 0 {
				t.Error("it went unnoticed")
			}
		})
	}
}

func TestPlan(t *testing.T) {
	for _, driver := range []string{"postgres", "sqlite"} {
		for _, kills := range []int{0, 1, 12, 200, 205} {
			o := options{driver: driver, kills: kills, seed: 3}
			faults, stops, kinds := plan(o), 0, map[faultKind]bool{}
			for _, f := range faults {
				kinds[f.kind] = true
				switch f.kind {
				case stopHost, stopPlugin, hangDatabase:
					stops++
					if f.down <= lease {
						t.Errorf("a stop of %s is within the lease", f.down)
					}
				}
				if driver == "sqlite" && slices.Contains([]faultKind{killDatabase, killBackend, hangDatabase, failOver, split}, f.kind) {
					t.Errorf("%s over SQLite", f.kind)
				}
			}
			if want := max(min(1, kills), kills/10); len(faults) != kills || stops != want {
				t.Errorf("%s, %d kills: %d faults, %d stops, want %d", driver, kills, len(faults), stops, want)
			}
			for _, rare := range []faultKind{clockAhead, overload, failOver, split} {
				if kills >= 12 && !kinds[rare] && (driver == "postgres" || rare == clockAhead || rare == overload) {
					t.Errorf("%s, %d kills: no %s", driver, kills, rare)
				}
			}
			if diff := cmp.Diff(faults, plan(o), cmp.AllowUnexported(fault{})); diff != "" {
				t.Errorf("a seed does not repeat the plan:\n%s", diff)
			}
		}
	}
}
