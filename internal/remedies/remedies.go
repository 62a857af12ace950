package remedies

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/authzhost/authz/internal/spell"
	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
)

// way is a command that would change a denial, and what it does.
type way struct {
	command []string
	does    string
}

// Command says how the commands reach the application that was asked.
type Command struct {
	Org, App, URL, TokenFile string
}

func (q *Command) waysOf(p authz.Principal, key string, e access.Explained) (ways []way) {
	add := func(does string, command ...string) { ways = append(ways, way{command, does}) }
	switch {
	case e.Allowed:
		return nil
	case !e.Active:
		add("gives back all that is granted to them", "user", "activate", p.UserID)
		return ways
	case len(e.MatchedRevokes) > 0:
		ids := []string{"revoke", "delete"}
		for _, r := range e.MatchedRevokes {
			ids = append(ids, r.ID)
		}
		does := "gives back all of " + e.MatchedRevokes[0].Pattern + " that is granted"
		if len(e.MatchedRevokes) > 1 {
			does = "gives back all they took that is granted"
		}
		if len(e.MatchedGrants) == 0 {
			does += "; no grant on the chain confers the key either"
		}
		add(does, ids...)
		return ways
	case e.Near == nil || e.Near.LentBy != "":
		return nil
	}
	asked := e.ObjectClosure[0]
	for _, r := range e.Near.Requests {
		if q.Org != "" {
			break // over the hosted API people ask for themselves
		}
		what := []string{"--role", r.RoleID}
		if r.Pattern != "" {
			what = []string{"--pattern", r.Pattern}
		}
		add("asks the approvers, who decide", at(append([]string{"request", "submit", "--as", p.UserID}, what...), r.Scope)...)
	}
	for _, g := range e.Near.Groups {
		add("gives all that members of "+cmp.Or(g.Name, g.GroupID)+" have, by the grant "+g.GrantID+" this key", "user", "groups", p.UserID, "--add", g.GroupID)
	}
	if q.Org == "" && e.Near.Parentless {
		ways = append(ways, below(asked, e.Near)...)
	}
	where := "" // when it gives more than was asked
	switch at := e.Near.GrantAt; {
	case at == asked:
	case at == authz.Global:
		where = "everywhere; "
	default:
		where = "for all in " + at + "; "
	}
	for _, r := range e.Near.Roles {
		add(where+"the role "+r.Name+" has "+r.Pattern, at([]string{"grant", "create", p.Subject(), "--role", r.RoleID}, e.Near.GrantAt)...)
	}
	if len(e.Near.Roles) == 0 {
		add(where+"no role has it; this gives the key alone", at([]string{"grant", "create", p.Subject(), "--pattern", key}, e.Near.GrantAt)...)
	}
	return ways
}

// below are parents that a scope without any could be given: scopes of its parent type at
// which the principal has the key already.
func below(scope string, near *access.Near) (ways []way) {
	var told []string
	for _, g := range near.Elsewhere {
		if authz.ScopeType(g.Scope) == near.ParentType && !slices.Contains(told, g.Scope) {
			told = append(told, g.Scope)
			ways = append(ways, way{[]string{"scope", "parents", scope, g.Scope}, "if it lies there; whoever may at " + g.Scope + " then may here"})
		}
	}
	return ways
}

// at puts a scope at the end of a command; without one it is global.
func at(command []string, scope string) []string {
	if scope == authz.Global {
		return command
	}
	return append(command, scope)
}

// Write writes what would change a denial, as commands that can be copied into a shell.
// Of an allow it writes nothing.
func (q *Command) Write(w io.Writer, p authz.Principal, key string, e access.Explained) {
	ways := q.waysOf(p, key, e)
	if len(ways) == 0 {
		return
	}
	if len(ways) == 1 {
		fmt.Fprintln(w, "to change it:")
	} else {
		fmt.Fprintln(w, "to change it, any one of:")
	}
	for _, way := range ways {
		command := append([]string{"authz"}, way.command...)
		if q.Org != "" {
			command = append(command, "--org", q.Org)
		} else if q.App != "" {
			command = append(command, "--app", q.App)
		}
		if q.URL != "" {
			command = append(command, "--url", q.URL, "--token-file", q.TokenFile)
		}
		for i := range command {
			command[i] = words.Shell(command[i])
		}
		fmt.Fprintf(w, "  %s  # %s\n", strings.Join(command, " "), spell.EchoN(way.does, math.MaxInt32))
	}
}
