package apply

import (
	"bytes"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
)

// loosen takes away the parents that groups lose, before any group gets one: an
// edge that turns round would else close a cycle on the way. What it made of them
// is by group.
func (p *planner) loosen() map[string]*Change {
	changes := map[string]*Change{}
	for _, g := range p.f.Groups {
		stored, there := p.s.groups[g.ID]
		if !there || slices.Equal(stored.Parents, g.Parents) {
			continue
		}
		c := p.add("update", "group", g.ID, "parents "+listText(stored.Parents)+" → "+listText(g.Parents))
		changes[g.ID] = c
		kept := slices.DeleteFunc(slices.Clone(stored.Parents), func(id string) bool { return !slices.Contains(g.Parents, id) })
		if len(kept) < len(stored.Parents) {
			p.do("setGroupParents", fields{"groupId": g.ID, "parents": append([]string{}, kept...)}, c)
		}
	}
	return changes
}

func listText(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// roles changes those that only lose before any that gain; one that gains and
// loses changes in one write.
func (p *planner) roles() {
	gains := func(r Role) int {
		stored, there := p.s.roles[r.ID]
		if there && !slices.ContainsFunc(r.Patterns, func(pattern string) bool { return !slices.Contains(stored.Patterns, pattern) }) {
			return 0
		}
		return 1
	}
	for _, r := range slices.SortedStableFunc(slices.Values(p.f.Roles), func(a, b Role) int { return gains(a) - gains(b) }) {
		stored, there := p.s.roles[r.ID]
		input := fields{"name": r.Name, "patterns": append([]string{}, r.Patterns...)}
		if r.Description != "" {
			input["description"] = r.Description
		}
		if r.Requestable != nil {
			input["requestable"] = r.Requestable
		}
		if !there {
			input["id"] = r.ID
			p.do("createRole", fields{"input": input}, p.add("create", "role", r.ID, listText(r.Patterns)))
			continue
		}
		var differs []string
		if r.Name != stored.Name {
			differs = append(differs, "name")
		} else {
			delete(input, "name")
		}
		if r.Description != stored.Description {
			differs = append(differs, "description")
			if r.Description == "" {
				input["description"] = nil // which clears
			}
		} else {
			delete(input, "description")
		}
		if !slices.Equal(r.Patterns, stored.Patterns) {
			differs = append(differs, "patterns "+listText(stored.Patterns)+" → "+listText(r.Patterns))
		} else {
			delete(input, "patterns")
		}
		if !sameRequestable(r.Requestable, stored.Requestable) {
			differs = append(differs, "requestable")
			if r.Requestable == nil {
				input["requestable"] = nil
			}
		} else {
			delete(input, "requestable")
		}
		if len(differs) > 0 {
			p.do("updateRole", fields{"roleId": r.ID, "input": input}, p.add("update", "role", r.ID, strings.Join(differs, "; ")))
		}
	}
}

func sameRequestable(a, b *authz.Requestable) bool {
	if a == nil || b == nil {
		return a == b
	}
	left, errLeft := authz.Marshal(a)
	right, errRight := authz.Marshal(b)
	return errLeft == nil && errRight == nil && bytes.Equal(left, right)
}

// groups creates parents before their children, then changes those there.
func (p *planner) groups(loosened map[string]*Change) {
	declared := map[string]Group{}
	for _, g := range p.f.Groups {
		declared[g.ID] = g
	}
	done := map[string]bool{}
	var create func(g Group)
	create = func(g Group) {
		if _, there := p.s.groups[g.ID]; there || done[g.ID] {
			return
		}
		done[g.ID] = true
		for _, parent := range g.Parents {
			if d, ok := declared[parent]; ok {
				create(d)
			}
		}
		input := fields{"id": g.ID, "name": g.Name, "parents": append([]string{}, g.Parents...)}
		if g.Description != "" {
			input["description"] = g.Description
		}
		what := ""
		if len(g.Parents) > 0 {
			what = "parents " + listText(g.Parents)
		}
		p.do("createGroup", fields{"input": input}, p.add("create", "group", g.ID, what))
	}
	for _, g := range p.f.Groups {
		create(g)
	}
	for _, g := range p.f.Groups {
		stored, there := p.s.groups[g.ID]
		if !there {
			continue
		}
		input, differs := fields{}, []string{}
		if g.Name != stored.Name {
			input["name"], differs = g.Name, append(differs, "name")
		}
		if g.Description != stored.Description {
			input["description"], differs = g.Description, append(differs, "description")
		}
		if len(differs) > 0 {
			p.do("updateGroup", fields{"groupId": g.ID, "input": input}, p.add("update", "group", g.ID, strings.Join(differs, "; ")))
		}
		c, changed := loosened[g.ID]
		gains := !slices.Equal(g.Parents, slices.DeleteFunc(slices.Clone(stored.Parents), func(id string) bool { return !slices.Contains(g.Parents, id) }))
		if changed && gains {
			p.do("setGroupParents", fields{"groupId": g.ID, "parents": append([]string{}, g.Parents...)}, c)
		}
	}
}
