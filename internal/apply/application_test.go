package apply_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/authzhost/authz/internal/apply"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

var today = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)

// application holds rows and carries out what applies ask for, in memory. It refuses
// what a host would: parents that are not there or close a cycle, and ids taken.
type application struct {
	t      *testing.T
	roles  map[string]authz.Role
	groups map[string]authz.Group
	grants []authz.Grant
	log    []authz.AuditEntry
	writes []string
	asked  []string // of what may be granted
}

func newApplication(t *testing.T) *application {
	return &application{t: t, roles: map[string]authz.Role{}, groups: map[string]authz.Group{}}
}

// request has the parameters of all operations that are asked for.
type request struct {
	Filter struct {
		Actor, Action, Target, Scope string
		Limit                        int
		Cursor                       authz.AuditCursor
	}
	RoleID, GroupID, GrantID, Pattern, Scope string
	Parents                                  []string
	Input                                    json.RawMessage
	Inputs                                   []provider.GrantInput
	Provenance                               authz.Provenance
}

func (a *application) Call(_ context.Context, op string, params, result any) error {
	text, err := json.Marshal(params)
	if err != nil {
		return err
	}
	var r request
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	var answer any
	switch op {
	case "listRoles":
		answer = map[string]any{"roles": sorted(a.roles)}
	case "listGroups":
		answer = map[string]any{"groups": sorted(a.groups)}
	case "listGrants":
		answer = map[string]any{"grants": slices.DeleteFunc(slices.Clone(a.grants), func(g authz.Grant) bool { return r.Filter.Scope != "" && g.Scope != r.Filter.Scope })}
	case "listAuditEvents":
		answer = map[string]any{"events": a.events(r)}
	case "validateKnownPattern", "validateGrantableAt":
		a.asked = append(a.asked, strings.TrimSpace(op+" "+r.Pattern+" "+r.Scope))
		reason := ""
		if strings.Contains(r.Pattern, "raed") || r.Scope != "" && strings.HasPrefix(r.Pattern, "docs.bills") {
			reason = "no " + r.Pattern
		}
		answer = map[string]string{"reason": reason}
	default:
		a.writes = append(a.writes, op)
		if err := a.write(op, r); err != nil {
			return err
		}
	}
	if result == nil {
		return nil
	}
	text, err = json.Marshal(answer)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, result)
}

func sorted[T any](rows map[string]T) []T {
	list := []T{}
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		list = append(list, rows[id])
	}
	return list
}

// events are those of a cursor on, or with limit 1 the newest.
func (a *application) events(r request) (found []authz.AuditEntry) {
	f := r.Filter
	for _, e := range a.log {
		if (f.Actor == "" || e.Actor == f.Actor) && (f.Action == "" || e.Action == f.Action) && (f.Target == "" || e.Target == f.Target) && f.Cursor.Before(e.Cursor()) {
			found = append(found, e)
		}
	}
	if f.Limit == 1 && len(found) > 0 {
		found = found[len(found)-1:]
	}
	return found
}

func (a *application) write(op string, r request) error {
	note := func(action, target string) {
		a.log = append(a.log, authz.AuditEntry{ID: fmt.Sprintf("%05d", len(a.log)), At: 1, Actor: r.Provenance.Actor(), Action: action, Target: target})
	}
	var group authz.Group
	switch op {
	case "createRole":
		var role authz.Role
		if err := json.Unmarshal(r.Input, &role); err != nil || a.roles[role.ID].ID != "" {
			return authz.Rejected(authz.CodeConflict, "%s: %v", role.ID, err)
		}
		a.roles[role.ID] = role
		note("role.create", role.ID)
	case "updateRole":
		role := a.roles[r.RoleID]
		if strings.Contains(string(r.Input), `"requestable":null`) {
			role.Requestable = nil
		}
		if err := json.Unmarshal(r.Input, &role); err != nil {
			return err
		}
		a.roles[r.RoleID] = role
		note("role.update", r.RoleID)
	case "deleteRole":
		delete(a.roles, r.RoleID)
		note("role.delete", r.RoleID)
	case "createGroup":
		if err := json.Unmarshal(r.Input, &group); err != nil || a.groups[group.ID].ID != "" {
			return authz.Rejected(authz.CodeConflict, "%s: %v", group.ID, err)
		}
		note("group.create", group.ID)
		return a.put(group)
	case "updateGroup":
		group = a.groups[r.GroupID]
		if err := json.Unmarshal(r.Input, &group); err != nil {
			return err
		}
		return a.put(group)
	case "setGroupParents":
		group = a.groups[r.GroupID]
		group.Parents = r.Parents
		return a.put(group)
	case "deleteGroup":
		for id, g := range a.groups { // whose edges go with it
			g.Parents = slices.DeleteFunc(slices.Clone(g.Parents), func(parent string) bool { return parent == r.GroupID })
			a.groups[id] = g
		}
		delete(a.groups, r.GroupID)
		note("group.delete", r.GroupID)
	case "createGrants":
		for _, in := range r.Inputs {
			a.grant(in, r.Provenance)
		}
	case "deleteGrant":
		a.grants = slices.DeleteFunc(a.grants, func(g authz.Grant) bool { return g.ID == r.GrantID })
	default:
		return fmt.Errorf("no operation %s", op)
	}
	return nil
}

func (a *application) grant(in provider.GrantInput, by authz.Provenance) {
	a.grants = append(a.grants, authz.Grant{ID: fmt.Sprintf("g%d", len(a.writes)*1000+len(a.grants)), Subject: in.Subject, RoleID: in.RoleID,
		Pattern: in.Pattern, Scope: in.Scope, ExpiresAt: in.ExpiresAt, Provenance: by})
}

func (a *application) put(g authz.Group) error {
	above, seen := slices.Clone(g.Parents), map[string]bool{}
	for len(above) > 0 {
		id := above[0]
		above = above[1:]
		if id == g.ID {
			return authz.Cycle([]string{g.ID, id})
		}
		if a.groups[id].ID == "" {
			return authz.Rejected(authz.CodeNotFound, "no group %s", id)
		}
		if !seen[id] {
			above = append(above, a.groups[id].Parents...)
		}
		seen[id] = true
	}
	a.groups[g.ID] = g
	return nil
}

// file reads a declaration that has nothing wrong.
func file(t *testing.T, text string) *apply.File {
	t.Helper()
	f := read(t, text)
	if wrong := f.Complete(); len(wrong) > 0 {
		t.Fatalf("%s is wrong: %v", text, wrong)
	}
	return f
}

func read(t *testing.T, text string) *apply.File {
	t.Helper()
	var tree any
	if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	f := &apply.File{}
	if err := json.Unmarshal(body, f); err != nil {
		t.Fatal(err)
	}
	return f
}

// plan plans a declaration.
func (a *application) plan(text string, prune bool) (*apply.Plan, error) {
	a.t.Helper()
	f := file(a.t, text)
	s, err := apply.Read(a.t.Context(), a, f, false)
	if err != nil {
		a.t.Fatal(err)
	}
	return apply.NewPlan(f, s, "docs", today, prune)
}

// apply carries a declaration out; nothing is left to do then.
func (a *application) apply(text string, prune bool) *apply.Plan {
	a.t.Helper()
	p, err := a.plan(text, prune)
	if err != nil {
		a.t.Fatal(err)
	}
	told := 0
	if err := p.Run(a.t.Context(), a, func(n int) { told = n }); err != nil || told != len(p.Changes) || p.Applied() != told {
		a.t.Fatalf("%d of %d changes were applied: %v\n%s", told, len(p.Changes), err, lines(p))
	}
	again, err := a.plan(text, prune)
	if err != nil || len(again.Changes) > 0 {
		a.t.Errorf("left to do: %v\n%s", err, lines(again))
	}
	return p
}

// lines are the changes; the ids of grants are others each time.
func lines(p *apply.Plan) string {
	var b strings.Builder
	for _, c := range p.Changes {
		one := *c
		if one.Kind == "grant" {
			one.ID = ""
		}
		fmt.Fprintln(&b, one.String())
	}
	return b.String()
}
