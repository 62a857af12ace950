package orgmerge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// step merges one incoming side into the current one. What it finds depends on the
// two sides alone, never on how something is settled: so the fingerprint of the
// conflicts holds while they are settled.
type step struct {
	*merger
	prefix            string // of the ids of conflicts
	current, incoming Side
	a, b              *index // of current and incoming, as they came until apply

	found       []authz.Conflict
	widening    map[string]bool // ids of conflicts
	apartRoles  map[string]bool // that collide
	apartGroups map[string]bool

	// What was decided.
	narrow       map[string]bool // ids of conflicts
	renames      [2]renames      // of current and incoming
	unitedGroups map[string]bool
	managers     map[string]string // chosen, "" for none
	chosenBy     map[string]string // user id to the id of the conflict
}

// The two sides as conflicts name them.
const (
	ofCurrent  = "current"
	ofIncoming = "incoming"
)

func (s *step) add(c authz.Conflict) {
	if c.Actions == nil {
		c.Actions = []authz.ConflictAction{}
	}
	s.found = append(s.found, c)
}

// findGroups: groups of one id are one when their parents and direct members are
// equal. A cohort counts also where it is only named: rows for it would come to reach
// the other side's members.
func (s *step) findGroups() {
	s.apartGroups = map[string]bool{}
	for _, id := range both(s.a.groups, s.b.groups) {
		a, b := s.a.groups[id], s.b.groups[id]
		if slices.Equal(set(parentsOf(a)), set(parentsOf(b))) && slices.Equal(a.people, b.people) && slices.Equal(a.below, b.below) {
			continue
		}
		s.apartGroups[id] = true
		c := authz.Conflict{ID: s.groupConflict(id), Kind: authz.ConflictGroupID,
			Current: encode(showGroup(id, a, b)), Incoming: encode(showGroup(id, b, a))}
		s.offerRenames(&c, func(n Named) Count { return n.Groups[id] })
		c.Actions = append(c.Actions, authz.ActionUnite)
		s.add(c)
	}
}

func parentsOf(c *cohort) []string {
	if c.group == nil {
		return nil
	}
	return c.group.Parents
}

// shownGroup is a group as a conflict shows it.
type shownGroup struct {
	ID          string   `json:"id"`
	Name        string   `json:"name,omitempty"` // absent where the id is only named
	Description string   `json:"description,omitempty"`
	Parents     []string `json:"parents"`
	Below       []string `json:"groupsBelow"`
	Members     int      `json:"members"`     // people, direct
	Only        []string `json:"onlyHere"`    // of them those whom the other side has not, at most maxShown
	MembersHash string   `json:"membersHash"` // of all ids, ascending
}

const maxShown = 20

func showGroup(id string, c, other *cohort) shownGroup {
	shown := shownGroup{ID: id, Parents: append([]string{}, parentsOf(c)...), Below: append([]string{}, c.below...), Members: len(c.people), Only: []string{}}
	if c.group != nil {
		shown.Name, shown.Description = c.group.Name, c.group.Description
	}
	for _, u := range c.people {
		if _, shared := slices.BinarySearch(other.people, u); !shared && len(shown.Only) < maxShown {
			shown.Only = append(shown.Only, u)
		}
	}
	hash, err := hashOf(append([]string{}, c.people...))
	if err != nil {
		panic(err) // strings are JSON
	}
	shown.MembersHash = "sha256:" + hash
	return shown
}

// findRoles: roles of one id are one when patterns and policy are equal, and nothing
// else may set them apart: a pattern that widens, or an approver or group whose id
// collides. Then unite says that they are one, and holds only if they are.
func (s *step) findRoles() {
	s.apartRoles = map[string]bool{}
	equal := map[string]bool{}
	for _, id := range both(s.a.roles, s.b.roles) {
		a, b := s.a.roles[id], s.b.roles[id]
		switch {
		case a == nil && b == nil: // neither confers anything
		case a == nil || b == nil || !sameRole(a, b):
			s.apartRoles[id] = true
		default:
			equal[id] = true
		}
	}
	for more := true; more; { // a role that is set apart sets those apart that it approves
		more = false
		for id := range equal {
			if !s.apartRoles[id] && s.setApart(id) {
				s.apartRoles[id], more = true, true
			}
		}
	}
	for id := range s.apartRoles {
		c := authz.Conflict{ID: s.roleConflict(id), Kind: authz.ConflictRoleID, Current: encode(s.a.roles[id]), Incoming: encode(s.b.roles[id])}
		s.offerRenames(&c, func(n Named) Count { return n.Roles[id] })
		if equal[id] {
			c.Actions = append(c.Actions, authz.ActionUnite)
		}
		s.add(c)
	}
}

func (s *step) setApart(id string) bool {
	if s.widening[s.widens(ofCurrent, "role", id)] || s.widening[s.widens(ofIncoming, "role", id)] {
		return true
	}
	apart := false
	references{
		role:  func(id *string) { apart = apart || s.apartRoles[*id] },
		group: func(id *string) { apart = apart || s.apartGroups[*id] },
	}.stages(stagesOf(s.a.roles[id]))
	return apart
}

// sameRole compares what a role does. The order of patterns does nothing.
func sameRole(a, b *authz.Role) bool {
	return slices.Equal(set(a.Patterns), set(b.Patterns)) && slices.Equal(encode(a.Requestable), encode(b.Requestable))
}

func (s *step) roleConflict(id string) string  { return s.prefix + "role:" + id }
func (s *step) groupConflict(id string) string { return s.prefix + "group:" + id }

// offerRenames offers to rename on a side where nothing names the id that no merge
// rewrites (spec: merge §3.1).
func (s *step) offerRenames(c *authz.Conflict, named func(Named) Count) {
	c.Blocked = []authz.BlockedRename{}
	for _, rename := range []struct {
		action authz.ConflictAction
		named  []Named
	}{{authz.ActionRenameIncoming, s.incoming.Named}, {authz.ActionRenameCurrent, s.current.Named}} {
		free := true
		block := func(application string, reason authz.BlockedReason, n int) {
			if n > 0 {
				c.Blocked = append(c.Blocked, authz.BlockedRename{Action: rename.action, Application: application, Reason: reason, Count: n})
				free = false
			}
		}
		for _, n := range slices.SortedStableFunc(slices.Values(rename.named), func(a, b Named) int { return cmp.Compare(a.Application, b.Application) }) {
			count := named(n)
			block(n.Application, authz.BlockedByRows, count.Rows)
			block(n.Application, authz.BlockedByRequests, count.Requests)
			block(n.Application, authz.BlockedByCatalog, count.Stages)
		}
		if free {
			c.Actions = append(c.Actions, rename.action)
		}
	}
}

// encode is a value in a conflict. Every type that comes here has a JSON form.
func encode(v any) json.RawMessage {
	raw, err := authz.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return raw
}

// quoted are ids in a message.
func quoted(ids []string) string { return spell.QuoteList(ids) }
