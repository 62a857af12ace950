package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/authzhost/authz/host/orgmerge"
	"github.com/authzhost/authz/internal/input"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
)

// What two organizations contradict each other in, as a person reads it, and the file in
// which it is settled (spec: merge §3, §5).

// resolutions are what was decided about conflicts, and the fingerprint of those that were
// looked at.
type resolutions struct {
	fingerprint string
	decided     map[string]authz.Resolution
}

// decision is a resolution as a file has it.
type decision struct {
	Action        action              `json:"action"`
	NewID         string              `json:"newId"`
	UserID        string              `json:"userId"`
	ManagerUserID authz.ChosenManager `json:"managerUserId"`
}

type action authz.ConflictAction

// UnmarshalText refuses what is no action, with the one that was meant.
func (a *action) UnmarshalText(text []byte) error {
	known := make([]string, len(actionOrder))
	for i, k := range actionOrder {
		known[i] = string(k)
	}
	if *a = action(text); slices.Contains(known, string(text)) {
		return nil
	}
	advice := "there are " + strings.Join(known, ", ")
	if near := spell.Nearest(string(text), known); near != "" {
		advice = "did you mean " + near + "?"
	}
	return fmt.Errorf("%s is no action: %s", spell.Quote(string(text)), advice)
}

var actionOrder = []authz.ConflictAction{authz.ActionRenameIncoming, authz.ActionRenameCurrent, authz.ActionUnite, authz.ActionChoose, authz.ActionNarrow, authz.ActionAccept}

// readResolutions reads the file of --resolutions, for a command that may ask afterwards.
func readResolutions(in io.Reader, file string, asks bool) (resolutions, error) {
	if file == input.Stdin && asks {
		return resolutions{}, usageError{errors.New("standard input is the resolutions: give --yes or --dry-run")}
	}
	var read struct {
		Fingerprint string              `json:"fingerprint"`
		Resolutions map[string]decision `json:"resolutions"`
	}
	if err := input.Into(in, file, &read); err != nil {
		return resolutions{}, err
	}
	r := resolutions{read.Fingerprint, make(map[string]authz.Resolution, len(read.Resolutions))}
	var wrong []string
	for _, id := range slices.Sorted(maps.Keys(read.Resolutions)) {
		d := read.Resolutions[id]
		if d.Action == "" {
			wrong = append(wrong, fmt.Sprintf("resolutions.%s: has no action", id))
		}
		r.decided[id] = authz.Resolution{Action: authz.ConflictAction(d.Action), NewID: d.NewID, UserID: d.UserID, ManagerUserID: d.ManagerUserID}
	}
	return r, faulty(file, wrong)
}

// sides are the two that are merged, as messages name them; ids are of them where a new id
// is suggested.
type sides struct {
	current, currentID   string
	incoming, incomingID string
}

// of are the sides of one conflict: with several incoming ones, its id begins with the name
// of its own.
func (s sides) of(c authz.Conflict) (_ sides, rest string) {
	name, rest, several := strings.Cut(c.ID, "/")
	if !several || strings.Contains(name, ":") {
		return s, c.ID
	}
	s.incoming, s.incomingID = name, name
	return s, rest
}

// openConflicts is what is printed as JSON of an error that has conflicts.
type openConflicts struct {
	Fingerprint string           `json:"fingerprint"`
	Conflicts   []authz.Conflict `json:"conflicts"`
}

func conflictsText(n int) string {
	if n == 1 {
		return "1 conflict"
	}
	return fmt.Sprintf("%d conflicts", n)
}

// print says of each conflict what contradicts what, and what may be done about it.
func (s sides) print(w io.Writer, conflicts []authz.Conflict) {
	for _, c := range conflicts {
		s, id := s.of(c)
		fmt.Fprintf(w, "\n%s: %s\n", plain(c.ID), plain(s.title(c, id)))
		var rows [][]string
		for _, side := range []struct {
			name string
			raw  json.RawMessage
		}{{s.current, c.Current}, {s.incoming, c.Incoming}} {
			if len(side.raw) > 0 {
				rows = append(rows, []string{"  " + side.name, sideText(c, side.raw)})
			}
		}
		if len(c.Path) > 0 {
			rows = append(rows, []string{"  together", strings.Join(c.Path, " → ") + ", each managed by the next"})
		}
		if len(c.Beyond) > 0 {
			rows = append(rows, []string{"  beyond it", strings.Join(c.Beyond, ", ")})
		}
		table(w, rows)
		rows = nil
		for _, a := range c.Actions {
			rows = append(rows, []string{"  - " + string(a), s.does(c, a)})
		}
		table(w, rows)
		for _, b := range c.Blocked {
			fmt.Fprintf(w, "  %s is not possible: %d %s of %s name the id, and no merge rewrites them; re-point them first\n", plain(string(b.Action)), b.Count, blockedText(b.Reason), plain(b.Application))
		}
		if len(c.Actions) == 0 && len(c.Blocked) == 0 {
			fmt.Fprintln(w, "  nothing can be decided about it here: change one side first")
		}
	}
}

func (s sides) title(c authz.Conflict, id string) string {
	kind, name, _ := strings.Cut(id, ":")
	switch c.Kind {
	case authz.ConflictRoleID, authz.ConflictGroupID:
		return "two different " + kind + "s have the id " + name
	case authz.ConflictReportingEdge:
		return c.UserID + " has two managers"
	case authz.ConflictReportingCycle:
		return "people who manage each other"
	case authz.ConflictWidens:
		whose, row, _ := strings.Cut(name, ":")
		owner := s.incoming
		if whose == "current" {
			owner = s.current
		}
		entity, _, _ := strings.Cut(row, ":")
		return "a " + entity + " of " + owner + " meant one application, and would mean the whole organization"
	}
	return strings.ReplaceAll(string(c.Kind), "_", " ") // of a later version
}

// sideText is what one side has.
func sideText(c authz.Conflict, raw json.RawMessage) string {
	if string(raw) == "null" {
		return "names the id in rows, and has no role of it"
	}
	var row struct {
		ID, Name, Subject, RequesterUserID, RoleID, Pattern string

		Patterns, Parents, GroupsBelow, OnlyHere []string
		Members                                  int
		Requestable                              json.RawMessage
	}
	var manager string
	switch {
	case c.Kind == authz.ConflictReportingEdge && json.Unmarshal(raw, &manager) == nil:
		return "managed by " + manager
	case json.Unmarshal(raw, &row) != nil:
		return string(raw)
	case c.Kind == authz.ConflictGroupID:
		return groupText(row.Name, row.Members, row.OnlyHere, row.Parents, row.GroupsBelow)
	case row.Subject != "":
		return row.Subject + " holds " + words.Gives(row.RoleID, row.Pattern) + " at *"
	case row.RequesterUserID != "":
		return row.RequesterUserID + " asks for " + words.Gives(row.RoleID, row.Pattern) + " at *"
	}
	text := spell.Quote(row.Name) + " with " + orDash(strings.Join(row.Patterns, ", "))
	if len(row.Requestable) > 0 {
		text += ", which may be requested"
	}
	return text
}

func groupText(name string, members int, only, parents, below []string) string {
	text := "names the id in rows, and has no group of it"
	if name != "" {
		text = spell.Quote(name)
	}
	if name != "" || members > 0 {
		text += fmt.Sprintf("; people: %d", members)
	}
	if len(only) > 0 {
		text += ", only here " + strings.Join(only, ", ")
	}
	if len(parents) > 0 {
		text += "; below " + strings.Join(parents, ", ")
	}
	if len(below) > 0 {
		text += "; above " + strings.Join(below, ", ")
	}
	return text
}

func blockedText(r authz.BlockedReason) string {
	switch r {
	case authz.BlockedByRows:
		return "rows at instances"
	case authz.BlockedByRequests:
		return "pending requests at instances"
	case authz.BlockedByCatalog:
		return "approval stages in the catalog"
	}
	return strings.ReplaceAll(string(r), "_", " ")
}

// does says what an action would do about a conflict.
func (s sides) does(c authz.Conflict, a authz.ConflictAction) string {
	switch a {
	case authz.ActionRenameIncoming:
		return "that of " + s.incoming + " gets another id, newId; what names it there follows"
	case authz.ActionRenameCurrent:
		return "that of " + s.current + " gets another id, newId; what names it there follows"
	case authz.ActionUnite:
		if c.Kind == authz.ConflictGroupID {
			return "they are one group: whoever is in either is in it, and gets what either gives"
		}
		return "they are one role"
	case authz.ActionChoose:
		if c.Kind == authz.ConflictReportingCycle {
			return "the userId has no manager any more: managerUserId is null"
		}
		return "managerUserId is one of the two, or null for nobody"
	case authz.ActionNarrow:
		if len(c.Narrowed) > 0 {
			text := "it keeps to its application: " + strings.Join(c.Narrowed, ", ")
			if authz.MatchAny(c.Beyond, orgmerge.AdministratorKey) {
				text += "; it administers nothing any more"
			}
			return text
		}
		if strings.Contains(c.ID, ":role:") {
			return "the role stays, and gives nothing"
		}
		return "it is deleted: no part of it belongs to its application"
	case authz.ActionAccept:
		return "it stays as it is, and speaks for the whole organization"
	}
	return ""
}

// show prints the conflicts, and on out the beginning of a file that settles them.
func (s sides) show(tell, out io.Writer, conflicts []authz.Conflict, fingerprint string, decided map[string]authz.Resolution) {
	s.print(tell, conflicts)
	fmt.Fprint(tell, "\nA file for --resolutions. What is no comment in it gives nobody anything new:\n\n")
	s.template(out, conflicts, fingerprint, decided)
}

// stillDecided is what of the decisions has its place in the next file. Where all conflicts
// are listed, decisions about others have none any more.
func stillDecided(e *authz.PromotionConflictError, decided map[string]authz.Resolution) map[string]authz.Resolution {
	if e.Code == authz.UnresolvedConflicts {
		return decided
	}
	still := map[string]authz.Resolution{}
	for _, c := range e.Conflicts {
		if r, ok := decided[c.ID]; ok {
			still[c.ID] = r
		}
	}
	return still
}

// template prints a file for --resolutions. What was decided stands in it already; beside it
// what gives nobody anything, where that keeps the row. Everything else is a comment.
func (s sides) template(w io.Writer, conflicts []authz.Conflict, fingerprint string, decided map[string]authz.Resolution) {
	fmt.Fprintf(w, "fingerprint: %q\nresolutions:\n", fingerprint)
	byID := make(map[string]authz.Conflict, len(conflicts))
	for id := range decided {
		byID[id] = authz.Conflict{ID: id}
	}
	for _, c := range conflicts {
		byID[c.ID] = c
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		c := byID[id]
		if r, ok := decided[id]; ok {
			fmt.Fprintf(w, "  %q: %s\n", id, resolutionText(r))
			continue
		}
		s, rest := s.of(c)
		about := s.title(c, rest)
		if c.Kind == authz.ConflictWidens {
			about += ": " + sideText(c, slices.Concat(c.Current, c.Incoming)) // it has one of them
		}
		fmt.Fprintf(w, "  # %s\n", plain(about))
		for _, r := range s.ways(c, rest) {
			mark := "# "
			if harmless(c, r) {
				mark = ""
			}
			fmt.Fprintf(w, "  %s%q: %s\n", mark, id, resolutionText(r))
		}
		if len(c.Actions) == 0 {
			fmt.Fprintln(w, "  # it cannot be settled here")
		}
	}
}

// ways are those in which a conflict may be settled.
func (s sides) ways(c authz.Conflict, id string) (ways []authz.Resolution) {
	_, name, _ := strings.Cut(id, ":")
	add := func(r authz.Resolution) { ways = append(ways, r) }
	for _, a := range c.Actions {
		switch {
		case a == authz.ActionRenameIncoming:
			add(authz.Resolution{Action: a, NewID: s.incomingID + "-" + name})
		case a == authz.ActionRenameCurrent:
			add(authz.Resolution{Action: a, NewID: s.currentID + "-" + name})
		case c.Kind == authz.ConflictReportingCycle:
			for _, user := range c.Path[:max(len(c.Path)-1, 0)] {
				add(authz.Resolution{Action: a, UserID: user, ManagerUserID: authz.ChooseManager("")})
			}
		case a == authz.ActionChoose:
			for _, side := range []json.RawMessage{c.Current, c.Incoming} {
				var manager string
				if json.Unmarshal(side, &manager) == nil {
					add(authz.Resolution{Action: a, ManagerUserID: authz.ChooseManager(manager)})
				}
			}
			add(authz.Resolution{Action: a, ManagerUserID: authz.ChooseManager("")})
		default:
			add(authz.Resolution{Action: a})
		}
	}
	return ways
}

// harmless reports a way to settle a conflict that keeps what there is and gives nobody anything new.
func harmless(c authz.Conflict, r authz.Resolution) bool {
	return r.Action == authz.ActionRenameIncoming || r.Action == authz.ActionNarrow && len(c.Narrowed) > 0
}

// resolutionText is a resolution as YAML in one line. What %q escapes, YAML reads.
func resolutionText(r authz.Resolution) string {
	text := "{action: " + string(r.Action)
	if r.NewID != "" {
		text += fmt.Sprintf(", newId: %q", r.NewID)
	}
	if r.UserID != "" {
		text += fmt.Sprintf(", userId: %q", r.UserID)
	}
	switch manager, chosen := r.ManagerUserID.UserID(); {
	case chosen && manager == "":
		text += ", managerUserId: null"
	case chosen:
		text += fmt.Sprintf(", managerUserId: %q", manager)
	}
	return text + "}"
}

// unsettled is what a merge ends with that has open conflicts.
type unsettled struct {
	error
	shown bool   // the beginning of a file was
	next  string // the command that takes it
}

func (e unsettled) Unwrap() error { return e.error }

func (e unsettled) hint() string {
	file := "Write a file {fingerprint, resolutions}"
	if e.shown {
		file = "Put what begins with fingerprint: into a file"
	}
	return file + ", decide about each conflict, and run:\n  " + e.next
}

// settledBy is the command that takes the decisions that are yet to be made.
func settledBy(c *cobra.Command, file string) string {
	if file == "" || file == input.Stdin {
		file = "decided.yaml"
	}
	return sameCommand(c, "dry-run", "resolutions", "fingerprint") + " --resolutions " + words.Shell(file)
}

// sameCommand is the command that runs, without some of its flags.
func sameCommand(c *cobra.Command, without ...string) string {
	text := c.CommandPath()
	for _, arg := range c.Flags().Args() {
		text += " " + words.Shell(arg)
	}
	c.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		if list, ok := f.Value.(pflag.SliceValue); ok {
			value = strings.Join(list.GetSlice(), ",")
		}
		switch {
		case slices.Contains(without, f.Name):
		case value == "true" && f.Value.Type() == "bool":
			text += " --" + f.Name
		case f.Value.Type() == "bool":
			text += " --" + f.Name + "=" + value
		default:
			text += " --" + f.Name + " " + words.Shell(value)
		}
	})
	return text
}
