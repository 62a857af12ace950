package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// accessState is what the application has of what a file declares, and what
// earlier applies of the file made.
type accessState struct {
	roles  map[string]authz.Role
	groups map[string]authz.Group
	grants map[grantKey][]authz.Grant // those declared, by anybody
	mine   []authz.Grant              // made under the file's name

	// What earlier applies made and the file does not declare any more, in the
	// order in which it was made.
	oldRoles, oldGroups []string

	// How many grants that the file did not make name an old role or group.
	others map[string]int

	homes bool // grants of different homes are written apart (hosted-api.md §8.3)
}

func readState(ctx context.Context, a *application, f *accessFile) (*accessState, error) {
	s := &accessState{roles: map[string]authz.Role{}, groups: map[string]authz.Group{}, grants: map[grantKey][]authz.Grant{}, others: map[string]int{}}
	err := each(ctx, a, "listRoles", "roles", nil, 0, func(r authz.Role) error { s.roles[r.ID] = r; return nil })
	if err != nil {
		return nil, err
	}
	err = each(ctx, a, "listGroups", "groups", nil, 0, func(g authz.Group) error { s.groups[g.ID] = g; return nil })
	if err != nil {
		return nil, err
	}
	if a.hosted != nil { // whose rows do not name the file
		s.homes = true
		return s, s.readGrantsAt(ctx, a, f)
	}
	if err := s.findOld(ctx, a, f); err != nil {
		return nil, err
	}
	return s, s.readGrants(ctx, a, f)
}

// readGrantsAt reads the grants at the scopes that the file names: the hosted API
// lists those of one home.
func (s *accessState) readGrantsAt(ctx context.Context, a *application, f *accessFile) error {
	declared, scopes := map[grantKey]bool{}, map[string]bool{}
	for _, g := range f.Grants {
		declared[g.key()], scopes[g.Scope] = true, true
	}
	for _, scope := range slices.Sorted(maps.Keys(scopes)) {
		filter := fields{"filter": fields{"scope": scope}}
		err := each(ctx, a, "listGrants", "grants", filter, 0, func(g authz.Grant) error {
			if declared[keyOf(g)] {
				s.grants[keyOf(g)] = append(s.grants[keyOf(g)], g)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// findOld asks the audit log for roles and groups that an apply of this file made:
// their rows do not say so, as those of grants do.
func (s *accessState) findOld(ctx context.Context, a *application, f *accessFile) error {
	named := map[string]bool{}
	for _, r := range f.Roles {
		named["role "+r.ID] = true
	}
	for _, g := range f.Groups {
		named["group "+g.ID] = true
		for _, p := range g.Parents {
			named["group "+p] = true
		}
	}
	for _, g := range f.Grants {
		named["role "+g.Role] = true
		if kind, id, _ := authz.ParseSubject(g.Subject); kind == authz.SubjectGroup {
			named["group "+id] = true
		}
	}
	for _, kind := range []struct {
		name  string
		ends  []string
		there func(id string) bool
		old   *[]string
	}{
		{"role", []string{"role.delete"}, func(id string) bool { _, ok := s.roles[id]; return ok }, &s.oldRoles},
		{"group", []string{"group.delete", "group.dissolve_virtual_parent"}, func(id string) bool { _, ok := s.groups[id]; return ok }, &s.oldGroups},
	} {
		made := fields{"actor": f.provenance().Actor(), "action": kind.name + ".create"}
		seen := map[string]bool{}
		for page, err := range auditPages(ctx, a, made, authz.AuditCursor{}) {
			if err != nil {
				return err
			}
			for _, e := range page {
				if seen[e.Target] || named[kind.name+" "+e.Target] || !kind.there(e.Target) {
					continue
				}
				seen[e.Target] = true
				mine, err := stillMine(ctx, a, f, e.Target, kind.name+".create", kind.ends)
				if err != nil {
					return err
				}
				if mine {
					*kind.old = append(*kind.old, e.Target)
				}
			}
		}
	}
	return nil
}

// stillMine reports that the row of this id is the one an apply made: nobody has
// deleted it since and made another of the same id.
func stillMine(ctx context.Context, a *application, f *accessFile, id, begins string, ends []string) (bool, error) {
	made, err := lastEntry(ctx, a, id, begins)
	if err != nil || made == nil || made.Actor != f.provenance().Actor() {
		return false, err
	}
	for _, action := range ends {
		gone, err := lastEntry(ctx, a, id, action)
		if err != nil {
			return false, err
		}
		if gone != nil && made.Cursor().Before(gone.Cursor()) {
			return false, nil
		}
	}
	return true, nil
}

func lastEntry(ctx context.Context, a *application, target, action string) (*authz.AuditEntry, error) {
	var result struct{ Events []authz.AuditEntry }
	err := a.call(ctx, "listAuditEvents", fields{"filter": fields{"target": target, "action": action, "limit": 1}}, &result)
	if err != nil || len(result.Events) == 0 {
		return nil, err
	}
	return &result.Events[0], nil
}

// readGrants keeps what concerns the file out of all grants.
func (s *accessState) readGrants(ctx context.Context, a *application, f *accessFile) error {
	declared := map[grantKey]bool{}
	for _, g := range f.Grants {
		declared[g.key()] = true
	}
	mine := f.provenance()
	err := each(ctx, a, "listGrants", "grants", nil, 0, func(g authz.Grant) error {
		if declared[keyOf(g)] {
			s.grants[keyOf(g)] = append(s.grants[keyOf(g)], g)
		}
		if madeBy(g, mine) {
			s.mine = append(s.mine, g)
			return nil
		}
		if g.RoleID != "" {
			s.others["role "+g.RoleID]++
		}
		if kind, id, _ := authz.ParseSubject(g.Subject); kind == authz.SubjectGroup {
			s.others["group "+id]++
		}
		return nil
	})
	slices.SortStableFunc(s.mine, func(x, y authz.Grant) int { // two runs tell the same plan
		return strings.Compare(keyOf(x).String(), keyOf(y).String())
	})
	return err
}

func madeBy(g authz.Grant, p authz.Provenance) bool {
	return g.Provenance.Kind == p.Kind && g.Provenance.IntegrationID == p.IntegrationID
}
