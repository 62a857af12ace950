package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// guarded refuses parameters in which a subject stands where an id is wanted: user:ann
// for ann is another user, and who writes it would be told of a success that touched
// nobody. An id that a record or a row has is let through. It refuses words that are no
// subjects and no scopes where these are wanted: as filters they would select nothing.
type guarded struct {
	asked
	local bool // over the socket
}

func (g guarded) Call(ctx context.Context, op string, params, result any) error {
	if err := g.look(ctx, op, params); err != nil {
		return err
	}
	return g.asked.Call(ctx, op, params, result)
}

// look leaves directories and outcomes of other systems alone: their ids are what
// they are.
func (g guarded) look(ctx context.Context, op string, params any) error {
	if op == "importDirectory" || params == nil {
		return nil
	}
	text, err := json.Marshal(params)
	if err != nil {
		return err
	}
	var tree map[string]any
	if json.Unmarshal(text, &tree) != nil {
		return nil // not an object: no operation takes it
	}
	return g.lookInto(ctx, op, tree)
}

func (g guarded) lookInto(ctx context.Context, op string, members map[string]any) error {
	for name, v := range members {
		kind, wanted := authz.IDKind(name)
		if wrong := wrongWord(op, name, v); wrong != nil {
			return usageError{wrong}
		}
		switch {
		case op == "createGroup" && (name == "id" || name == "parents"), op == "setGroupParents" && name == "parents",
			op == "changeGroupMembership" && (name == "add" || name == "remove"):
			kind, wanted = authz.SubjectGroup, true
		case op == "findGrants" && name == "actor":
			kind, wanted = authz.SubjectUser, true
		case name == "subject":
			if text, _ := v.(string); text != "" {
				if own, id, ok := authz.ParseSubject(text); ok {
					kind, wanted, v = own, true, id
				}
			}
		}
		for _, one := range listOf(v) {
			switch one := one.(type) {
			case string:
				if wanted {
					if err := g.bare(ctx, kind, one); err != nil {
						return err
					}
				}
			case map[string]any:
				if err := g.lookInto(ctx, op, one); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// aboutRows are the operations whose members scope and subject, in the plural too,
// are such words and nothing else.
var aboutRows = []string{"check", "explain", "createGrant", "createGrants", "changeGrants", "listGrants", "findGrants", "countGrants", "createRevoke", "listRevokes",
	"submitRequest", "listRequests", "setScopeParents", "resolveAncestors", "deleteScope", "deleteSubject", "reconcileRows"}

// wrongWord finds what is no subject, or no scope, where one is wanted.
func wrongWord(op, name string, v any) error {
	check := map[string]func(string) error{"scope": words.CheckScope, "subject": words.CheckSubject, "scopes": words.CheckScope, "subjects": words.CheckSubject}[name]
	if op == "setScopeParents" && name == "parents" {
		check = words.CheckScope
	}
	if check == nil || !slices.Contains(aboutRows, op) {
		return nil
	}
	for _, one := range listOf(v) {
		if word, ok := one.(string); ok {
			if err := check(word); err != nil {
				return err
			}
		}
	}
	return nil
}

func listOf(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// bare refuses an id that begins with a kind of subject and that nothing has.
func (g guarded) bare(ctx context.Context, kind authz.SubjectKind, id string) error {
	misplaced, rest, ok := authz.MisplacedSubject(id)
	if !ok {
		return nil
	}
	if kind == authz.SubjectUser || kind == authz.SubjectGroup || kind == authz.SubjectService {
		known, err := lookUp(ctx, g.asked, g.local, authz.SubjectOf(kind, id))
		if err != nil || known.Record || known.Rows {
			return err
		}
	}
	return usageError{misplacedID(kind, id, misplaced, rest)}
}

func misplacedID(kind authz.SubjectKind, id string, misplaced authz.SubjectKind, rest string) error {
	if kind == misplaced || kind.IsImplicit() && misplaced == authz.SubjectUser {
		return fmt.Errorf("%s is how grants name a subject, and nothing has it as its id: write %s, the id of the %s", spell.Quote(id), rest, misplaced)
	}
	return fmt.Errorf("%s is how grants name a %s, and the id of a %s is wanted here: write it without a kind", spell.Quote(id), misplaced, kind)
}

// lookUp asks what is stored of a subject: the administration socket tells it, over
// the network the rows do.
func lookUp(ctx context.Context, a asked, local bool, subject string) (known provider.Known, err error) {
	if local {
		err := a.Call(ctx, "lookUp", fields{"subject": subject}, &known)
		return known, err
	}
	kind, id, _ := authz.ParseSubject(subject)
	var count struct {
		Count int64 `json:"count"`
	}
	if err := a.Call(ctx, "countGrants", fields{"filter": fields{"subject": subject}}, &count); err != nil {
		return known, err
	}
	known.Rows = count.Count > 0
	switch kind {
	case authz.SubjectUser:
		var access authz.SubjectAccess
		err := a.Call(ctx, "getSubjectAccess", fields{"principal": authz.UserPrincipal(id)}, &access)
		// Everybody is themselves and of everyone; more than that is a record.
		return provider.Known{Rows: known.Rows || len(access.Revokes) > 0, Record: len(access.Closure) > 2 || len(access.ManagerChain) > 0 || !access.Active}, err
	case authz.SubjectGroup:
		app := &application{asked: a}
		found, err := find(ctx, app, "listGroups", "groups", nil, func(g authz.Group) bool { return g.ID == id })
		return provider.Known{Rows: known.Rows, Record: found != nil}, err
	}
	return known, nil
}

// doubts finds what a write names and nothing stored has: it is allowed, for it may
// come later, and it is probably a slip.
type doubts struct {
	app    *application
	strict bool
	to     io.Writer
	told   []string
	asked  map[string]bool
}

func (a *admin) doubts(app *application) *doubts {
	return newDoubts(app, a.strict, a.command.ErrOrStderr())
}

func newDoubts(app *application, strict bool, to io.Writer) *doubts {
	return &doubts{app: app, strict: strict, to: to, asked: map[string]bool{}}
}

// subject looks at a user or group that gets or loses something.
func (d *doubts) subject(ctx context.Context, subject string) error {
	kind, id, _ := authz.ParseSubject(subject)
	if d.asked[subject] || kind != authz.SubjectUser && kind != authz.SubjectGroup || !d.judged() {
		return nil
	}
	if _, _, misplaced := authz.MisplacedSubject(id); misplaced {
		return nil // which is refused where it is asked
	}
	d.asked[subject] = true
	known, err := lookUp(ctx, d.app.inner(), d.app.local != nil, subject)
	if err != nil {
		return err
	}
	switch {
	case known.Record, kind == authz.SubjectUser && (known.Rows || !known.UserRecords):
	case kind == authz.SubjectUser:
		d.say("nothing is known of the user %s: no record and no row names them%s", spell.Quote(id), meant(ctx, d.app, id, userIDs))
	case known.OrgRoot || d.app.hosted != nil || d.app.remote && d.atRoot(ctx):
		d.say("there is no group %s%s", spell.Quote(id), meant(ctx, d.app, id, groupIDs))
	}
	return nil
}

// role looks at a role that somebody asks about.
func (d *doubts) role(ctx context.Context, id string) {
	if ids := plainIDs(roleIDs(ctx, d.app)); d.app.hosted == nil && len(ids) < pageSize && !slices.Contains(ids, id) {
		d.say("there is no role %s%s", spell.Quote(id), meant(ctx, d.app, id, roleIDs))
	}
}

// meant says which of the candidates an id may have been meant to be.
func meant(ctx context.Context, app *application, id string, from candidates) string {
	if near := spell.Nearest(id, plainIDs(from(ctx, app))); near != "" {
		return ". Did you mean " + spell.Quote(near) + "?"
	}
	return ""
}

// noSuch is the refusal of a thing that is not there. The command lists those that are.
func noSuch(ctx context.Context, app *application, thing, id string, from candidates) error {
	near := meant(ctx, app, id, from)
	if near == "" {
		near = " —"
	}
	return authz.Rejected(authz.CodeNotFound, "there is no %s %s%s 'authz %s list' shows those there are", thing, spell.Quote(id), near, thing)
}

// absent makes of not_found what says which thing was not found.
func absent(ctx context.Context, app *application, err error, thing, id string, from candidates) error {
	if app.hosted == nil && authz.CodeOf(err) == authz.CodeNotFound {
		return noSuch(ctx, app, thing, id, from)
	}
	return err
}

// asksAbout tells of users and groups that nothing stored has, before something is
// shown of them: they would be shown as if they were there.
func (a *admin) asksAbout(c *cobra.Command, app *application, subjects ...string) error {
	d := newDoubts(app, false, c.ErrOrStderr())
	for _, subject := range subjects {
		if err := d.subject(c.Context(), subject); err != nil {
			return err
		}
	}
	return d.err()
}

// asksAboutUsers is asksAbout of user ids.
func (a *admin) asksAboutUsers(c *cobra.Command, app *application, ids ...string) error {
	subjects := make([]string, len(ids))
	for i, id := range ids {
		subjects[i] = authz.SubjectOf(authz.SubjectUser, id)
	}
	return a.asksAbout(c, app, subjects...)
}

// judged: the hosted API tells its own doubts with the answer; asked beforehand only to
// refuse.
func (d *doubts) judged() bool { return d.app.hosted == nil || d.strict }

// atRoot reports that groups and roles are stored where the question goes.
func (d *doubts) atRoot(ctx context.Context) bool {
	var answer struct {
		OrgRoot bool `json:"orgRoot"`
	}
	return d.app.call(ctx, "ping", nil, &answer) == nil && answer.OrgRoot
}

func (d *doubts) say(format string, args ...any) {
	d.told = append(d.told, fmt.Sprintf(format, args...))
}

// err tells the doubts, or refuses for them.
func (d *doubts) err() error {
	if len(d.told) > 0 && d.strict {
		return usageError{fmt.Errorf("--strict: %s", strings.Join(d.told, "; "))}
	}
	for _, told := range d.told {
		fmt.Fprintln(d.to, "warning: "+plain(told))
	}
	return nil
}

// plainIDs leaves the descriptions of candidates out.
func plainIDs(candidates []string) []string {
	ids := make([]string, len(candidates))
	for i, c := range candidates {
		ids[i], _, _ = strings.Cut(c, "\t")
	}
	return ids
}

// inner is who is asked, without the guard.
func (a *application) inner() asked {
	if g, ok := a.asked.(guarded); ok {
		return g.asked
	}
	return a.asked
}

// doubtful adds --strict to a command that may name what is not stored.
func (a *admin) doubtful(c *cobra.Command) {
	c.Flags().BoolVar(&a.strict, "strict", false, "refuse users and groups that nothing stored has, instead of a warning")
}

// sureOf tells, or refuses, when nothing is known of a user.
func (a *admin) sureOf(c *cobra.Command, app *application, user string) error {
	d := a.doubts(app)
	if err := d.subject(c.Context(), authz.SubjectOf(authz.SubjectUser, user)); err != nil {
		return err
	}
	return d.err()
}
