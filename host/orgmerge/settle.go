package orgmerge

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/sdk/authz"
)

// settle reads the resolution of every conflict of the step.
func (s *step) settle() {
	s.narrow, s.managers, s.chosenBy = map[string]bool{}, map[string]string{}, map[string]string{}
	s.unitedGroups = map[string]bool{}
	for i := range s.renames {
		s.renames[i] = renames{map[string]string{}, map[string]string{}}
	}
	slices.SortFunc(s.found, func(a, b authz.Conflict) int { return cmp.Compare(a.ID, b.ID) })
	s.conflicts = append(s.conflicts, s.found...)
	var guesses []*authz.Conflict // last, so that no guess takes an id that a resolution wants
	for i := range s.found {
		c := &s.found[i]
		r, decided := s.resolutions[c.ID]
		switch {
		case !decided:
			if s.open == nil {
				s.open = map[string]bool{}
			}
			s.open[c.ID] = true
			guesses = append(guesses, c)
		case !slices.Contains(c.Actions, r.Action):
			s.refuse(c.ID, "its actions are %s, not %s", offered(c.Actions), spell.Quote(string(r.Action)))
			guesses = append(guesses, c)
		case !s.decide(c, r):
			guesses = append(guesses, c)
		}
	}
	for _, c := range guesses {
		s.guessed = true
		s.guess(c)
	}
}

func offered(actions []authz.ConflictAction) string {
	names := make([]string, len(actions))
	for i, a := range actions {
		names[i] = string(a)
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// decide does what a resolution with a fitting action says, or refuses it and reports
// false.
func (s *step) decide(c *authz.Conflict, r authz.Resolution) bool {
	manager, chosen := r.ManagerUserID.UserID()
	rename := r.Action == authz.ActionRenameIncoming || r.Action == authz.ActionRenameCurrent
	choose := r.Action == authz.ActionChoose
	switch {
	case r.NewID != "" && !rename:
		return s.reject(c, "%s takes no newId", r.Action)
	case chosen && !choose:
		return s.reject(c, "%s takes no managerUserId", r.Action)
	case r.UserID != "" && c.Kind != authz.ConflictReportingCycle:
		return s.reject(c, "a %s takes no userId", c.Kind)
	case choose && !chosen:
		return s.reject(c, "choose needs a managerUserId, a user id or null")
	case rename:
		return s.rename(c, r)
	case c.Kind == authz.ConflictReportingEdge:
		return s.chooseManager(c, manager)
	case c.Kind == authz.ConflictReportingCycle:
		return s.breakCycle(c, r.UserID, manager)
	}
	switch r.Action {
	case authz.ActionNarrow:
		s.narrow[c.ID] = true
	case authz.ActionUnite:
		if c.Kind == authz.ConflictGroupID {
			s.unitedGroups[s.idOf(c)] = true
		}
	}
	return true
}

func (s *step) reject(c *authz.Conflict, format string, args ...any) bool {
	s.refuse(c.ID, format, args...)
	return false
}

// idOf is the id of the role or group that collides.
func (s *step) idOf(c *authz.Conflict) string {
	_, id, _ := strings.Cut(strings.TrimPrefix(c.ID, s.prefix), ":")
	return id
}

// rename wants an id that neither side has or names, and that no other rename took.
func (s *step) rename(c *authz.Conflict, r authz.Resolution) bool {
	if reason := badID(r.NewID); reason != "" {
		return s.reject(c, "newId %s", reason)
	}
	if s.taken(c.Kind, r.NewID) {
		return s.reject(c, "the newId %s is taken", spell.Quote(r.NewID))
	}
	whose := 0
	if r.Action == authz.ActionRenameIncoming {
		whose = 1
	}
	s.renameTo(whose, c, r.NewID)
	return true
}

func (s *step) renameTo(whose int, c *authz.Conflict, newID string) {
	names := s.renames[whose].groups
	if c.Kind == authz.ConflictRoleID {
		names = s.renames[whose].roles
	}
	names[s.idOf(c)] = newID
	if c.Kind == authz.ConflictRoleID {
		s.a.role(newID)
	} else {
		s.a.cohort(newID)
	}
}

func (s *step) taken(kind authz.ConflictKind, id string) bool {
	if kind == authz.ConflictRoleID {
		_, a := s.a.roles[id]
		_, b := s.b.roles[id]
		return a || b
	}
	_, a := s.a.groups[id]
	_, b := s.b.groups[id]
	return a || b
}

// maxID bounds ids as every write does (spec: application §1.4).
const maxID = 1024

func badID(id string) string {
	switch {
	case id == "":
		return "is missing"
	case len(id) > maxID:
		return "is too long"
	case !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl):
		return "must be valid UTF-8 without control characters"
	}
	return ""
}

func (s *step) chooseManager(c *authz.Conflict, manager string) bool {
	if manager != "" && manager != decoded(c.Current) && manager != decoded(c.Incoming) {
		return s.reject(c, "%s is the manager on neither side", spell.Quote(manager))
	}
	s.managers[c.UserID], s.chosenBy[c.UserID] = manager, c.ID
	return true
}

func decoded(raw json.RawMessage) (id string) {
	_ = json.Unmarshal(raw, &id) // encoded here, of a string
	return id
}

// breakCycle takes one edge away: any manager that a side knows would leave it.
func (s *step) breakCycle(c *authz.Conflict, userID, manager string) bool {
	switch {
	case !slices.Contains(c.Path, userID):
		return s.reject(c, "userId must be a user on its path, not %s", spell.Quote(userID))
	case manager != "":
		return s.reject(c, "a cycle is broken by the managerUserId null")
	}
	s.managers[userID], s.chosenBy[userID] = "", c.ID
	return true
}

// guess goes on without a decision: collisions stay apart, an edge stays as it is, a
// cycle loses one.
func (s *step) guess(c *authz.Conflict) {
	switch c.Kind {
	case authz.ConflictRoleID, authz.ConflictGroupID:
		id := s.incoming.Name + "/" + s.idOf(c)
		for s.taken(c.Kind, id) {
			id += "'"
		}
		s.renameTo(1, c, id)
	case authz.ConflictReportingEdge:
		s.managers[c.UserID] = decoded(c.Current)
	case authz.ConflictReportingCycle:
		s.managers[c.Path[0]] = ""
	}
}
