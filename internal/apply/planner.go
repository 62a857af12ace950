package apply

import (
	"maps"
	"slices"
	"time"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// planner finds the changes between a file and a state. The order takes away
// before it gives, so that at no instant anybody has more than before or after:
// a role that gains and loses changes in one write, those that only lose come
// first. What others name comes before those that name it.
type planner struct {
	*Plan
	f     *File
	s     *State
	now   time.Time
	prune bool
}

// NewPlan compares a file with the state that was read for it. It refuses a file that
// names what will not be there. Only with prune is anything deleted that earlier
// applies of the file made.
func NewPlan(f *File, s *State, application string, now time.Time, prune bool) (*Plan, error) {
	plan := &Plan{Name: f.Name, Application: application, Changes: []*Change{}, Warnings: []string{}, provenance: f.Provenance()}
	plan.patterns = map[string][]string{}
	for id, r := range s.roles {
		plan.patterns[id] = r.Patterns
	}
	for _, r := range f.Roles {
		plan.patterns[r.ID] = r.Patterns
	}
	p := planner{plan, f, s, now, prune}
	if err := p.check(); err != nil {
		return nil, err
	}
	p.takeAway()
	loosened := p.loosen()
	p.roles()
	p.groups(loosened)
	p.grants()
	return plan, nil
}

// check refuses a file that names what will not be there.
func (p *planner) check() error {
	groups := map[string]bool{}
	for id := range p.s.groups {
		groups[id] = true
	}
	for _, g := range p.f.Groups {
		groups[g.ID] = true
	}
	for _, g := range p.f.Groups {
		for _, parent := range g.Parents {
			if !groups[parent] {
				return authz.Rejected(authz.CodeNotFound, "group %s: its parent %s is neither declared nor there%s", g.ID, spell.Quote(parent), likely(parent, groups))
			}
		}
	}
	for _, g := range p.f.Grants {
		if _, there := p.patterns[g.Role]; g.Role != "" && !there {
			return authz.Rejected(authz.CodeNotFound, "grant to %s: the role %s is neither declared nor there%s", g.Subject, spell.Quote(g.Role), likely(g.Role, p.patterns))
		}
		if kind, id, _ := authz.ParseSubject(g.Subject); kind == authz.SubjectGroup && !groups[id] {
			p.warn("%s is neither declared nor there: what it is given reaches nobody%s", g.Subject, likely(id, groups))
		}
	}
	return p.cycle()
}

// likely says which id was probably meant.
func likely[T any](id string, known map[string]T) string {
	if near := spell.Nearest(id, slices.Sorted(maps.Keys(known))); near != "" {
		return ". Did you mean " + spell.Quote(near) + "?"
	}
	return ""
}

// cycle refuses parents that would close one, once everything is applied.
func (p *planner) cycle() error {
	parents := map[string][]string{}
	for id, g := range p.s.groups {
		parents[id] = g.Parents
	}
	for _, g := range p.f.Groups {
		parents[g.ID] = g.Parents
	}
	done := map[string]bool{}
	var path []string
	var walk func(id string) []string
	walk = func(id string) []string {
		if i := slices.Index(path, id); i >= 0 {
			return append(slices.Clone(path[i:]), id)
		}
		if done[id] {
			return nil
		}
		path = append(path, id)
		for _, parent := range parents[id] {
			if found := walk(parent); found != nil {
				return found
			}
		}
		path = path[:len(path)-1]
		done[id] = true
		return nil
	}
	for _, g := range p.f.Groups {
		if found := walk(g.ID); found != nil {
			return authz.Cycle(found)
		}
	}
	return nil
}
