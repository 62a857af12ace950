package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// takeAway deletes what earlier applies of the file made and it does not declare
// any more.
func (p *planner) takeAway() {
	declared := map[grantKey]bool{}
	for _, g := range p.f.Grants {
		declared[g.key()] = true
	}
	old := 0
	for _, g := range p.s.mine {
		if declared[keyOf(g)] {
			continue
		}
		if old++; p.prune {
			p.do("deleteGrant", fields{"grantId": g.ID}, p.add("delete", "grant", g.ID, keyOf(g).String()))
		}
	}
	for _, id := range p.s.oldGroups {
		if old++; p.prune {
			p.pruneGroup(id)
		}
	}
	for _, id := range p.s.oldRoles {
		if old++; !p.prune {
			continue
		}
		if n := p.s.others["role "+id]; n > 0 {
			p.warn("role %s stays: %d grants that this file did not make give it", id, n)
			continue
		}
		p.do("deleteRole", fields{"roleId": id}, p.add("delete", "role", id, ""))
	}
	if old > 0 && !p.prune {
		p.warn("%d roles, groups and grants that earlier applies of %s made are no longer declared: --prune deletes them", old, p.f.Name)
	}
}

func (p *planner) pruneGroup(id string) {
	if why := p.stays(id); why != "" {
		p.warn("group %s stays: %s", id, why)
		return
	}
	p.do("deleteGroup", fields{"groupId": id}, p.add("delete", "group", id, "its memberships go with it"))
}

// stays says what others hung on an old group, "" when nothing.
func (p *planner) stays(id string) string {
	if n := p.s.others["group "+id]; n > 0 {
		return fmt.Sprintf("it has %d grants that this file did not make", n)
	}
	for _, child := range slices.Sorted(maps.Keys(p.s.groups)) {
		switch {
		case !slices.Contains(p.s.groups[child].Parents, id), p.declares(child):
		case !slices.Contains(p.s.oldGroups, child):
			return "the group " + child + ", which this file did not make, belongs to it"
		case p.stays(child) != "":
			return "the group " + child + ", which stays, belongs to it"
		}
	}
	return ""
}

func (p *planner) declares(group string) bool {
	return slices.ContainsFunc(p.f.Groups, func(g groupEntry) bool { return g.ID == group })
}

// loosen takes away the parents that groups lose, before any group gets one: an
// edge that turns round would else close a cycle on the way. What it made of them
// is by group.
func (p *planner) loosen() map[string]*change {
	changes := map[string]*change{}
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
	gains := func(r roleEntry) int {
		stored, there := p.s.roles[r.ID]
		if there && !slices.ContainsFunc(r.Patterns, func(pattern string) bool { return !slices.Contains(stored.Patterns, pattern) }) {
			return 0
		}
		return 1
	}
	for _, r := range slices.SortedStableFunc(slices.Values(p.f.Roles), func(a, b roleEntry) int { return gains(a) - gains(b) }) {
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
	return errLeft == nil && errRight == nil && sameJSON(left, right)
}

// groups creates parents before their children, then changes those there.
func (p *planner) groups(loosened map[string]*change) {
	declared := map[string]groupEntry{}
	for _, g := range p.f.Groups {
		declared[g.ID] = g
	}
	done := map[string]bool{}
	var create func(g groupEntry)
	create = func(g groupEntry) {
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

// grantBatch is how many grants one commit makes: a few are all there or none is.
const grantBatch = 500

// grants deletes those of ours that a declared one makes superfluous, makes the
// declared ones, and deletes those that they replace.
func (p *planner) grants() {
	type making struct {
		grantEntry
		older []authz.Grant
	}
	var missing []making
	mine := p.f.provenance()
	for _, g := range p.f.Grants {
		exact := false
		var older, others []authz.Grant
		for _, stored := range p.s.grants[g.key()] {
			switch {
			case stored.ExpiresAt == g.Expires.Expiry:
				exact = true
			case madeBy(stored, mine):
				older = append(older, stored)
			case !stored.ExpiresAt.Expired(p.now.UnixMilli()):
				others = append(others, stored)
			}
		}
		for _, o := range others {
			p.warn("%s is also given by grant %s, which this file did not make and which expires %s", g.key(), o.ID, expiryText(o.ExpiresAt))
		}
		if !exact && g.Expires.Expired(p.now.UnixMilli()) {
			p.warn("%s has expired (%s) and is not made: take it out of the file", g.key(), expiryText(g.Expires.Expiry))
			exact = true
		}
		if !exact {
			missing = append(missing, making{g, older})
			continue
		}
		for _, o := range older {
			p.do("deleteGrant", fields{"grantId": o.ID}, p.add("delete", "grant", o.ID, g.key().String()+", which is declared with another expiry"))
		}
	}
	if p.s.homes {
		slices.SortStableFunc(missing, func(a, b making) int { return strings.Compare(a.home(), b.home()) })
	}
	changes := make([]*change, len(missing))
	for i, m := range missing {
		if len(m.older) > 0 {
			changes[i] = p.add("update", "grant", "", m.key().String()+", expires "+expiryText(m.older[0].ExpiresAt)+" → "+expiryText(m.Expires.Expiry))
		} else {
			changes[i] = p.add("create", "grant", "", m.key().String()+", expires "+expiryText(m.Expires.Expiry))
		}
	}
	for from, to := 0, 0; from < len(missing); from = to {
		for to = from + 1; to < min(from+grantBatch, len(missing)) && (!p.s.homes || missing[to].home() == missing[from].home()); to++ {
		}
		var inputs []provider.GrantInput
		for _, m := range missing[from:to] {
			inputs = append(inputs, m.input())
		}
		p.do("createGrants", fields{"inputs": inputs}, changes[from:to]...)
	}
	for i, m := range missing {
		for _, o := range m.older {
			p.do("deleteGrant", fields{"grantId": o.ID}, changes[i])
		}
	}
}
