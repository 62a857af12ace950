package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/words"
	"github.com/authzhost/authz/sdk/authz"
)

func newRevoke() *cobra.Command {
	c := &cobra.Command{Use: "revoke", Short: "Take access from one user, whatever grants say", Args: cobra.NoArgs, RunE: showHelp}
	c.AddCommand(newRevokeCreate(), newRevokeList(),
		newDelete("revoke", "deleteRevoke", "revokeId", revokeIDs, "Lift a revoke", `  authz revoke delete 0d7e5a52-61c8-4a5b-9c55-9a6a0f2a1b10`))
	return c
}

func newRevokeCreate() *cobra.Command {
	a := &admin{}
	c := &cobra.Command{
		Use:   "create USER PATTERN [SCOPE]",
		Short: "Take a permission from a user",
		Long: `Take what PATTERN matches from one user at SCOPE and below it; without SCOPE everywhere.
A revoke wins over every grant and never expires: delete it to lift it.`,
		Example: `  authz revoke create u_17 docs.files.delete docs.folder:f_1
  authz revoke create u_17 '*'`,
		Args: cobra.RangeArgs(2, 3),
		RunE: a.opened(func(c *cobra.Command, app *application, args []string) error {
			if err := a.sureOf(c, app, args[0]); err != nil {
				return err
			}
			input := app.by(fields{"userId": args[0], "pattern": args[1]})
			if len(args) > 2 {
				if err := needsType(c.Context(), app, args[2]); err != nil {
					return err
				}
				input["scope"] = args[2]
			}
			var result struct {
				Revoke authz.Revoke `json:"revoke"`
			}
			if err := app.call(c.Context(), "createRevoke", fields{"input": input}, &result); err != nil {
				return err
			}
			r := result.Revoke
			return a.printed(c, result, func(w io.Writer) {
				fmt.Fprintf(w, "%s: %s is taken from %s at %s\n", r.ID, r.Pattern, r.UserID, r.Scope)
			})
		}),
	}
	a.writes(c)
	a.addOrg(c)
	a.doubtful(c)
	c.ValidArgsFunction = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		source := []candidates{userIDs, patterns, scopes}[min(len(args), 2)]
		return a.complete(source)(c, args, typed)
	}
	return c
}

func newRevokeList() *cobra.Command {
	a := &admin{}
	var user, scope string
	var limit int
	c := &cobra.Command{
		Use:     "list",
		Short:   "List revokes",
		Example: `  authz revoke list --user u_17`,
		Args:    cobra.NoArgs,
		RunE: a.opened(func(c *cobra.Command, app *application, _ []string) error {
			d := newDoubts(app, false, c.ErrOrStderr())
			if user != "" {
				if err := d.subject(c.Context(), authz.SubjectOf(authz.SubjectUser, user)); err != nil {
					return err
				}
			}
			if scope != "" && words.CheckScope(scope) == nil {
				if err := d.scope(c.Context(), scope); err != nil {
					return err
				}
			}
			if err := d.err(); err != nil {
				return err
			}
			l := a.listing(c.OutOrStdout(), "revokes", "ID", "USER", "TAKES", "SCOPE", "BY")
			return list(c.Context(), app, "listRevokes", filtered(c, map[string]string{"user": "userId", "scope": "scope"}), limit, l, revokeCells)
		}),
	}
	a.reads(c)
	a.addOrg(c)
	c.Flags().StringVar(&user, "user", "", "only revokes of this user")
	c.Flags().StringVar(&scope, "scope", "", "only revokes at exactly this scope")
	c.Flags().IntVar(&limit, "limit", 0, "at most this many (default: all)")
	a.completes(c, "user", userIDs)
	a.completes(c, "scope", scopes)
	return c
}

func revokeCells(r authz.Revoke) []string {
	return []string{r.ID, r.UserID, r.Pattern, r.Scope, r.Provenance.Actor()}
}
