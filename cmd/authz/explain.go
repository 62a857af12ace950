package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/authzhost/authz/internal/hostedclient"
	"github.com/authzhost/authz/internal/remedies"
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
		Long: `Show how a check is decided: the answer, the grants and revokes that decided it, and the
chain of scopes that was used. For a denial it shows what came near, and the commands that
would change it. With --url the provider API answers; for a secret that may only check it names
no rows. With --org the hosted API answers.

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
				printAnswer(w, e.Text(p, ask.Key, ask.Scope))
				if ask.Empty() {
					(&remedies.Command{Org: q.org, App: q.app, URL: q.url, TokenFile: q.tokenFile}).Write(w, p, ask.Key, e)
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
