package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/hostedclient"
	"github.com/authzhost/authz/sdk/access"
	"github.com/authzhost/authz/sdk/authz"
	"github.com/authzhost/authz/sdk/provider"
)

// explainHosted asks the org root, or whoever owns the scope.
func (q *question) explainHosted(ctx context.Context, warn io.Writer, ask checkParams, e *access.Explained) error {
	if q.app != "" {
		return usageError{errors.New("with --org the scope says whose it is: leave --app out")}
	}
	h, err := q.hosted(warn)
	if err != nil {
		return err
	}
	query := hostedclient.PrincipalQuery(ask.Principal)
	query["key"], query["scope"] = ask.Key, cmp.Or(ask.Scope, authz.Global)
	return h.Ask(ctx, http.MethodGet, []string{"org", "explain"}, query, nil, e)
}

func newExplain() *cobra.Command {
	q := &question{}
	s := &supposing{}
	link := &linkFlag{}
	c := &cobra.Command{
		Use:   "explain (--user ID | --service ID) KEY [SCOPE]",
		Short: "Show which rows decide a question",
		Long: `Show the working of a check: the answer, the grants and revokes that decided it, and the
chain of scopes that was used. Of a denial it shows what came near, and the commands that
would change it. With --url the provider API is asked; to a secret that may only check it names no
rows. With --org the hosted API answers.

Where the host has a dashboard, a denial ends with the address at which it is explained there, and
--link prints that address alone.

With --with and --without it answers as if rows were there or gone; nothing is written.`,
		Example: `  authz explain --user u_17 docs.files.update_file docs.doc:d_1
  authz explain --url https://authz.example/apps/docs --token-file token --user u_1 docs.files.read
  authz explain --user u_17 docs.files.update_file docs.doc:d_1 --with 'grant group:g_legal role r_editor docs.folder:f_1'
  authz explain --org acme --user u_17 authz_internal.access.manage_grants
  authz explain --user u_17 docs.files.update_file docs.doc:d_1 --link`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := q.principal()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), callTimeout)
			defer cancel()
			ask := struct {
				checkParams
				provider.Supposing
			}{checkParams: params(p, args)}
			if ask.Supposing, err = s.read(q.user); err != nil {
				return err
			}
			if link.link && !ask.Empty() {
				return usageError{errors.New("the dashboard explains rows that are there: leave --with and --without out, or --link")}
			}
			var e access.Explained
			if q.org != "" {
				if !ask.Empty() {
					return usageError{errors.New("--with and --without ask the application itself: leave --org out")}
				}
				if err = q.explainHosted(ctx, c.ErrOrStderr(), ask.checkParams, &e); err != nil {
					err = atScope{err, ask.Scope}
				}
			} else {
				err = q.ask(ctx, "explain", ask.Scope, ask, &e)
			}
			if err != nil {
				return err
			}
			if link.link {
				screens, err := q.mustScreens(ctx)
				if err != nil {
					return err
				}
				return link.printLinks(&q.outputFlag, c.OutOrStdout(), screens, explainPath(p, ask.Key, ask.Scope))
			}
			if !e.Allowed && q.org == "" && q.url == "" {
				if err := q.doubt(ctx, false, c.ErrOrStderr()); err != nil {
					return err
				}
			}
			return q.print(c.OutOrStdout(), e, func(w io.Writer) {
				fmt.Fprint(w, e.Text(p, ask.Key, ask.Scope))
				if ask.Empty() {
					q.printWays(w, q.waysOf(p, ask.Key, e))
				}
				if !e.Allowed && ask.Empty() {
					q.tellWhy(ctx, w, p, ask.Key, ask.Scope)
				}
			})
		},
	}
	q.add(c)
	s.add(c)
	q.addURL(c)
	q.addOrg(c)
	link.addLink(c, &q.target, "the explanation")
	return c
}

// way is a command that would change a denial, and what it does.
type way struct {
	command []string
	does    string
}

// waysOf are the commands that would change a denial, those that take least first.
func (q *question) waysOf(p authz.Principal, key string, e access.Explained) (ways []way) {
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
		if q.org != "" {
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
	if q.org == "" && e.Near.Parentless {
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

// printWays prints commands that can be copied into a shell.
func (q *question) printWays(w io.Writer, ways []way) {
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
		if q.org != "" {
			command = append(command, "--org", q.org)
		} else if q.app != "" {
			command = append(command, "--app", q.app)
		}
		if q.url != "" {
			command = append(command, "--url", q.url, "--token-file", q.tokenFile)
		}
		for i := range command {
			command[i] = shellQuote(command[i])
		}
		fmt.Fprintf(w, "  %s  # %s\n", strings.Join(command, " "), plain(way.does))
	}
}
