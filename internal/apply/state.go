package apply

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/pages"
	"github.com/authzhost/authz/sdk/authz"
)

// State is what the application has of what a file declares, and what
// earlier applies of the file made.
type State struct {
	roles  map[string]authz.Role
	groups map[string]authz.Group
	grants map[key][]authz.Grant // those declared, by anybody
	mine   []authz.Grant         // made under the file's name

	// What earlier applies made and the file does not declare any more, in the
	// order in which it was made.
	oldRoles, oldGroups []string

	// How many grants that the file did not make name an old role or group.
	others map[string]int

	homes bool // grants of different homes are written apart (spec: hosted-api §8.3)
}

// Read reads the state of an application for a file. byHome says that it is an org's at
// the hosted API, which lists grants by home and does not say which file made a row.
func Read(ctx context.Context, a pages.Caller, f *File, byHome bool) (*State, error) {
	s := &State{roles: map[string]authz.Role{}, groups: map[string]authz.Group{}, grants: map[key][]authz.Grant{}, others: map[string]int{}}
	err := pages.Each(ctx, a, "listRoles", "roles", nil, 0, func(r authz.Role) error { s.roles[r.ID] = r; return nil })
	if err != nil {
		return nil, err
	}
	err = pages.Each(ctx, a, "listGroups", "groups", nil, 0, func(g authz.Group) error { s.groups[g.ID] = g; return nil })
	if err != nil {
		return nil, err
	}
	if byHome {
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
func (s *State) readGrantsAt(ctx context.Context, a pages.Caller, f *File) error {
	declared, scopes := map[key]bool{}, map[string]bool{}
	for _, g := range f.Grants {
		declared[g.key()], scopes[g.Scope] = true, true
	}
	for _, scope := range slices.Sorted(maps.Keys(scopes)) {
		filter := fields{"filter": fields{"scope": scope}}
		err := pages.Each(ctx, a, "listGrants", "grants", filter, 0, func(g authz.Grant) error {
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
func (s *State) findOld(ctx context.Context, a pages.Caller, f *File) error {
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
		made := fields{"actor": f.Provenance().Actor(), "action": kind.name + ".create"}
		seen := map[string]bool{}
		for page, err := range pages.Audit(ctx, a, made, authz.AuditCursor{}) {
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
func stillMine(ctx context.Context, a pages.Caller, f *File, id, begins string, ends []string) (bool, error) {
	made, err := lastEntry(ctx, a, id, begins)
	if err != nil || made == nil || made.Actor != f.Provenance().Actor() {
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

func lastEntry(ctx context.Context, a pages.Caller, target, action string) (*authz.AuditEntry, error) {
	var result struct{ Events []authz.AuditEntry }
	err := a.Call(ctx, "listAuditEvents", fields{"filter": fields{"target": target, "action": action, "limit": 1}}, &result)
	if err != nil || len(result.Events) == 0 {
		return nil, err
	}
	return &result.Events[0], nil
}

// readGrants keeps what concerns the file out of all grants.
func (s *State) readGrants(ctx context.Context, a pages.Caller, f *File) error {
	declared := map[key]bool{}
	for _, g := range f.Grants {
		declared[g.key()] = true
	}
	mine := f.Provenance()
	err := pages.Each(ctx, a, "listGrants", "grants", nil, 0, func(g authz.Grant) error {
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
