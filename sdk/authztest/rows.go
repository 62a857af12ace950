package authztest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/authzhost/authz/internal/apply"
	"github.com/authzhost/authz/internal/input"
	"github.com/authzhost/authz/internal/rows"
	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// kinds are the first words of rows, in the order in which the rows of a text are written:
// a grant may stand before the role that it names.
var kinds = []string{"role", "group", "scope", "user", "grant", "revoke"}

// forms say what a row of a kind looks like.
var forms = map[string]string{
	"role":   "a role is 'role ID PATTERN...'",
	"group":  "a group is 'group ID [PARENT...]'",
	"scope":  "a scope is 'scope SCOPE parents PARENT...', or 'scope SCOPE' where nothing is above it",
	"user":   "a user is 'user ID groups GROUP...', 'user ID manager USER' or 'user ID inactive'",
	"grant":  "a grant is " + rows.GrantForm,
	"revoke": "a revoke is " + rows.RevokeForm,
}

// row is a line of a text of rows.
type row struct {
	line  int
	text  string
	words []string
}

// Write writes rows, one a line; a # begins a comment:
//
//	role   ID PATTERN...
//	group  ID [PARENT...]
//	scope  SCOPE [parents PARENT...]
//	user   ID groups GROUP...
//	user   ID manager USER
//	user   ID inactive
//	grant  SUBJECT role ID [SCOPE] [until TIME]
//	grant  SUBJECT PATTERN [SCOPE] [until TIME]
//	revoke USER PATTERN [SCOPE]
//
// A TIME is 2027-01-31, 2027-01-31T17:00:00Z or a time from now, 8h. A scope that a row
// names and none records is a root. The ids of grants and revokes are grant-1, grant-2 …
// and revoke-1 … in the order of writing. What a host would refuse ends the test; so does
// a role or group that is not there, of which a host only warns.
func (w *World) Write(text string) {
	w.t.Helper()
	w.write("", text)
}

// WriteFile writes the rows of a file, as Write does.
func (w *World) WriteFile(file string) {
	w.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatalf("authztest: %v", err)
	}
	w.write(file, string(text))
}

func (w *World) write(file, text string) {
	w.t.Helper()
	at := func(r row, err error) string {
		if file != "" {
			return fmt.Sprintf("authztest: %s:%d: %s: %v", file, r.line, r.text, err)
		}
		return fmt.Sprintf("authztest: line %d: %s: %v", r.line, r.text, err)
	}
	var list []row
	var wrong []string
	for n, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		r := row{line: n + 1, text: strings.TrimSpace(line), words: strings.Fields(line)}
		if len(r.words) == 0 {
			continue
		}
		if err := rows.Kind(r.words[0], kinds); err != nil {
			wrong = append(wrong, at(r, err))
		}
		list = append(list, r)
	}
	if len(wrong) > 0 {
		w.t.Fatal(strings.Join(wrong, "\n"))
	}
	slices.SortStableFunc(list, func(a, b row) int {
		return slices.Index(kinds, a.words[0]) - slices.Index(kinds, b.words[0])
	})
	for _, r := range list {
		if err := w.writeRow(r.words); err != nil {
			w.t.Fatal(at(r, err))
		}
	}
}

func (w *World) writeRow(r []string) (err error) {
	kind, rest := r[0], r[1:]
	misshapen := fmt.Errorf("%s", forms[kind])
	switch kind {
	case "role":
		if len(rest) < 2 {
			return misshapen
		}
		_, err = w.app.CreateRole(w.ctx, provider.RoleInput{ID: &rest[0], Name: rest[0], Patterns: rest[1:]}, writer)
		return err
	case "group":
		if len(rest) < 1 {
			return misshapen
		}
		if err := bare("a group's row", rest...); err != nil {
			return err
		}
		_, err = w.app.CreateGroup(w.ctx, provider.GroupInput{ID: &rest[0], Name: rest[0], Parents: rest[1:]}, writer)
		return err
	case "scope":
		switch {
		case w.resolved:
			return fmt.Errorf("the resolver that the test gave answers what is above a scope: take the row out")
		case len(rest) == 1:
			return w.record(rest[0], []string{})
		case rest[1] != "parents":
			return meant(misshapen, rest[1], "parents")
		case len(rest) < 3:
			return misshapen
		}
		for _, parent := range rest[2:] {
			if err := w.root(parent); err != nil {
				return err
			}
		}
		return w.record(rest[0], rest[2:])
	case "user":
		return w.writeUser(rest, misshapen)
	case "grant":
		in, err := rows.Grant(rest, time.UnixMilli(w.now()))
		if err != nil {
			return err
		}
		if in.ExpiresAt.Expired(w.now()) {
			return fmt.Errorf("it would never have been live: write 'until 1h', and let that pass with Advance")
		}
		return w.grant(in)
	}
	in, err := rows.Revoke(rest)
	if err != nil {
		return err
	}
	if err := bare("a revoke", in.UserID); err != nil {
		return err
	}
	if err := w.root(in.Scope); err != nil {
		return err
	}
	w.names.row("revoke")
	_, err = w.app.CreateRevoke(w.ctx, in, writer)
	return err
}

func (w *World) writeUser(rest []string, misshapen error) error {
	if len(rest) < 2 {
		return misshapen
	}
	if err := bare("a user's row", rest[0]); err != nil {
		return err
	}
	switch id, what, rest := rest[0], rest[1], rest[2:]; {
	case what == "groups" && len(rest) > 0:
		if err := bare("a membership", rest...); err != nil {
			return err
		}
		return w.app.ChangeGroupMembership(w.ctx, id, provider.MembershipChange{Add: rest}, writer)
	case what == "manager" && len(rest) == 1:
		if err := bare("a manager", rest...); err != nil {
			return err
		}
		return w.app.SetReportingEdge(w.ctx, id, rest[0], writer)
	case what == "inactive" && len(rest) == 0:
		return w.app.SetUserActive(w.ctx, id, false, writer)
	default:
		return meant(misshapen, what, "groups", "manager", "inactive")
	}
}

// meant adds which word a misspelt one in a row was probably meant to be.
func meant(misshapen error, word string, words ...string) error {
	if near := spell.Nearest(word, words); near != "" && near != word {
		return fmt.Errorf("%w; did you mean %s?", misshapen, spell.Quote(near))
	}
	return misshapen
}

func (w *World) grant(in provider.GrantInput) error {
	if err := bareSubject(in.Subject); err != nil {
		return err
	}
	if in.RoleID != "" {
		known := []string{}
		for r, err := range w.app.ListRoles(w.ctx, provider.Paging{}) {
			if err != nil {
				return err
			}
			known = append(known, r.ID)
		}
		if err := among("role", in.RoleID, known); err != nil {
			return err
		}
	}
	if kind, id, _ := authz.ParseSubject(in.Subject); kind == authz.SubjectGroup {
		known := []string{}
		for g, err := range w.app.ListGroups(w.ctx, provider.Paging{}) {
			if err != nil {
				return err
			}
			known = append(known, g.ID)
		}
		if err := among("group", id, known); err != nil {
			return err
		}
	}
	if err := w.root(in.Scope); err != nil {
		return err
	}
	w.names.row("grant")
	_, err := w.app.CreateGrant(w.ctx, in, writer)
	return err
}

func among(kind, id string, known []string) error {
	if slices.Contains(known, id) {
		return nil
	}
	if near := spell.Nearest(id, known); near != "" {
		return fmt.Errorf("there is no %s %s; did you mean %s?", kind, spell.Quote(id), spell.Quote(near))
	}
	return fmt.Errorf("there is no %s %s: write %s", kind, spell.Quote(id), strings.TrimPrefix(forms[kind], "a "+kind+" is "))
}

// root records a scope without parents, unless it is recorded.
func (w *World) root(scope string) error {
	if scope == "" || scope == authz.Global || w.resolved {
		return nil
	}
	if err := words.CheckScope(scope); err != nil {
		return err
	}
	found, err := w.store.GetScopeParents(w.ctx, []string{scope})
	if _, recorded := found[scope]; err != nil || recorded {
		return err
	}
	return w.record(scope, []string{})
}

func (w *World) record(scope string, parents []string) error {
	if err := words.CheckScope(scope); err != nil {
		return err
	}
	_, err := w.app.SetScopeParents(w.ctx, []provider.ScopeParents{{Scope: scope, Parents: &parents}}, writer)
	return err
}

// Apply writes the roles, groups and grants that a file declares for authz apply. They
// must not be there yet.
func (w *World) Apply(file string) {
	w.t.Helper()
	f := &apply.File{}
	if err := input.Into(strings.NewReader(""), file, f); err != nil {
		w.t.Fatalf("authztest: %v", err)
	}
	if wrong := f.Complete(); len(wrong) > 0 {
		w.t.Fatalf("authztest: %s:\n  %s", file, strings.Join(wrong, "\n  "))
	}
	if err := w.apply(f); err != nil {
		w.t.Fatalf("authztest: %s: %v", file, err)
	}
}

func (w *World) apply(f *apply.File) error {
	for i, r := range f.Roles {
		in := provider.RoleInput{ID: &r.ID, Name: r.Name, Description: r.Description, Patterns: r.Patterns, Requestable: r.Requestable}
		if _, err := w.app.CreateRole(w.ctx, in, f.Provenance()); err != nil {
			return fmt.Errorf("roles[%d]: %w", i, err)
		}
	}
	for i, g := range f.Groups {
		if _, err := w.app.CreateGroup(w.ctx, provider.GroupInput{ID: &g.ID, Name: g.Name, Description: g.Description}, f.Provenance()); err != nil {
			return fmt.Errorf("groups[%d]: %w", i, err)
		}
	}
	for i, g := range f.Groups { // of which one may stand before its parents
		if len(g.Parents) == 0 {
			continue
		}
		if _, err := w.app.SetGroupParents(w.ctx, g.ID, g.Parents, f.Provenance()); err != nil {
			return fmt.Errorf("groups[%d]: %w", i, err)
		}
	}
	for i, g := range f.Grants {
		if err := w.grant(g.Input()); err != nil {
			return fmt.Errorf("grants[%d]: %w", i, err)
		}
	}
	return nil
}
