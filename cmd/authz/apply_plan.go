package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/authzhost/authz/sdk/authz"
)

// What became of a change.
const (
	statePlanned  = "planned"
	stateApplied  = "applied"
	statePartly   = "partly applied"
	stateFailed   = "failed"
	stateUnknown  = "unknown" // no answer arrived
	stateNotTried = "not tried"
)

// accessPlan is what an apply does. It is told in the order in which it happens.
type accessPlan struct {
	Name        string    `json:"name"`
	Application string    `json:"application"`
	Changes     []*change `json:"changes"`
	Warnings    []string  `json:"warnings"`
	steps       []step
}

// change is one line of a plan.
type change struct {
	Action string `json:"action"` // create, update or delete
	Kind   string `json:"kind"`   // role, group or grant
	ID     string `json:"id,omitempty"`
	What   string `json:"what,omitempty"`
	State  string `json:"state"`

	left int // steps to go
	of   int
}

func (c *change) String() string {
	sign := map[string]string{"create": "+", "update": "~", "delete": "-"}[c.Action]
	text := sign + " " + c.Kind
	if c.ID != "" {
		text += " " + c.ID
	}
	if c.What != "" {
		text += ": " + c.What
	}
	return text
}

// step is one operation, which carries out changes or parts of them.
type step struct {
	op      string
	params  fields
	changes []*change
}

func (p *accessPlan) add(action, kind, id, what string) *change {
	c := &change{Action: action, Kind: kind, ID: id, What: what, State: statePlanned}
	p.Changes = append(p.Changes, c)
	return c
}

func (p *accessPlan) do(op string, params fields, changes ...*change) {
	for _, c := range changes {
		c.left++
		c.of++
	}
	p.steps = append(p.steps, step{op, params, changes})
}

func (p *accessPlan) warn(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}

// planner finds the changes between a file and a state. The order takes away
// before it gives, so that at no instant anybody has more than before or after:
// a role that gains and loses changes in one write, those that only lose come
// first. What others name comes before those that name it.
type planner struct {
	*accessPlan
	f     *accessFile
	s     *accessState
	now   time.Time
	prune bool
}

func planAccess(f *accessFile, s *accessState, where string, now time.Time, prune bool) (*accessPlan, error) {
	p := planner{&accessPlan{Name: f.Name, Application: where, Changes: []*change{}, Warnings: []string{}}, f, s, now, prune}
	if err := p.check(); err != nil {
		return nil, err
	}
	p.takeAway()
	loosened := p.loosen()
	p.roles()
	p.groups(loosened)
	p.grants()
	return p.accessPlan, nil
}

// check refuses a file that names what will not be there.
func (p *planner) check() error {
	roles, groups := map[string]bool{}, map[string]bool{}
	for id := range p.s.roles {
		roles[id] = true
	}
	for id := range p.s.groups {
		groups[id] = true
	}
	for _, r := range p.f.Roles {
		roles[r.ID] = true
	}
	for _, g := range p.f.Groups {
		groups[g.ID] = true
	}
	for _, g := range p.f.Groups {
		for _, parent := range g.Parents {
			if !groups[parent] {
				return authz.Rejected(authz.CodeNotFound, "group %s: its parent %s is neither declared nor there%s", g.ID, authz.Quote(parent), likely(parent, groups))
			}
		}
	}
	for _, g := range p.f.Grants {
		if g.Role != "" && !roles[g.Role] {
			return authz.Rejected(authz.CodeNotFound, "grant to %s: the role %s is neither declared nor there%s", g.Subject, authz.Quote(g.Role), likely(g.Role, roles))
		}
		if kind, id, _ := authz.ParseSubject(g.Subject); kind == authz.SubjectGroup && !groups[id] {
			p.warn("%s is neither declared nor there: what it is given reaches nobody%s", g.Subject, likely(id, groups))
		}
	}
	return p.cycle()
}

// likely says which id was probably meant.
func likely(id string, known map[string]bool) string {
	if near := authz.Nearest(id, slices.Sorted(maps.Keys(known))); near != "" {
		return ". Did you mean " + authz.Quote(near) + "?"
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
